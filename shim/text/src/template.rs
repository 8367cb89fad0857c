//! A chat template: compiled once, rendered with JSON variables.

use std::collections::HashMap;
use std::thread;

use crate::error::{Code, Error, Result};
use crate::jinja::ast::Stmt;
use crate::jinja::value::Value;
use crate::jinja::{machine, parser};
use crate::limits;

pub struct Template {
    body: Vec<Stmt>,
}

/// Runs `run` on a thread with a stack of known size: parsing and rendering
/// are recursive within limits, but the caller's stack may be small.
fn on_large_stack<T: Send>(run: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    thread::scope(|scope| {
        let handle = thread::Builder::new()
            .name("mlxcel-template".into())
            .stack_size(limits::TEMPLATE_STACK_BYTES)
            .spawn_scoped(scope, || crate::ffi::caught(run))
            .map_err(|e| Error::new(Code::Limit, format!("no thread for a template: {e}")))?;
        handle
            .join()
            .unwrap_or_else(|_| Err(Error::new(Code::Internal, "the template's thread died")))
    })
}

fn check_size(what: &str, size: usize, limit: usize) -> Result<()> {
    if size > limit {
        return Err(Error::new(
            Code::Limit,
            format!("{what} has {size} bytes; the limit is {limit}"),
        ));
    }
    Ok(())
}

impl Template {
    pub fn new(source: &str) -> Result<Self> {
        check_size("the template", source.len(), limits::MAX_TEMPLATE_BYTES)?;
        let body = on_large_stack(|| parser::parse(source))?;
        Ok(Template { body })
    }

    /// Renders with `variables`, pairs of name and JSON value. An empty name
    /// stands for the members of an object; later ones win.
    pub fn render(&self, variables: &[(&str, &[u8])]) -> Result<String> {
        on_large_stack(|| machine::render(&self.body, globals(variables)?))
    }
}

fn globals(variables: &[(&str, &[u8])]) -> Result<HashMap<String, Value>> {
    let mut globals = HashMap::new();
    for (name, json) in variables {
        let shown = if name.is_empty() { "variables" } else { name };
        check_size(shown, json.len(), limits::MAX_VARIABLE_BYTES)?;
        let value: serde_json::Value = serde_json::from_slice(json)
            .map_err(|e| Error::new(Code::Invalid, format!("{shown}: not valid JSON: {e}")))?;
        if !name.is_empty() {
            globals.insert(name.to_string(), Value::from_json(value));
            continue;
        }
        let serde_json::Value::Object(members) = value else {
            return Err(Error::new(
                Code::Invalid,
                format!("{shown}: must be a JSON object"),
            ));
        };
        for (name, value) in members {
            globals.insert(name, Value::from_json(value));
        }
    }
    Ok(globals)
}
