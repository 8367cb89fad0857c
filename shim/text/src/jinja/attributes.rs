//! value.name and value[key], and the methods that are not str's.

use std::rc::Rc;
use std::sync::Arc;

use crate::error::Result;

use super::arguments::{fail, Arguments};
use super::ast::Name;
use super::machine::Machine;
use super::operators::undefined_error;
use super::sequences;
use super::strings;
use super::value::{Macro, Value, View};

const DICT_METHODS: [&str; 5] = ["copy", "get", "items", "keys", "values"];
const LIST_METHODS: [&str; 3] = ["copy", "count", "index"];

/// Methods that change their object: jinja2's immutable sandbox hides them.
const DICT_CHANGERS: [&str; 5] = ["clear", "pop", "popitem", "setdefault", "update"];
const LIST_CHANGERS: [&str; 8] = [
    "append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort",
];

fn has_method(value: &Value, name: &str) -> bool {
    match value {
        Value::Str(_) => strings::METHODS.contains(&name),
        Value::Dict(_) => DICT_METHODS.contains(&name),
        Value::List(_) => LIST_METHODS.contains(&name),
        Value::Tuple(_) => matches!(name, "count" | "index"),
        Value::Loop(_) => matches!(name, "cycle" | "changed"),
        _ => false,
    }
}

fn macro_attribute(value: &Macro, name: &str) -> Option<Value> {
    let definition = &value.definition;
    Some(match name {
        "name" => Value::str(&definition.name),
        "arguments" => Value::tuple(definition.parameters.iter().map(Value::str).collect()),
        "caller" => Value::Bool(definition.uses_caller),
        "catch_kwargs" => Value::Bool(definition.uses_kwargs),
        "catch_varargs" => Value::Bool(definition.uses_varargs),
        _ => return None,
    })
}

/// What Python's getattr finds, names with a leading underscore aside.
fn own_attribute(value: &Value, name: &Name, machine: &mut Machine) -> Result<Option<Value>> {
    if changes(value, name) {
        return Ok(Some(Value::undefined(format!(
            "{}.{name} would change a value, which templates may not",
            value.type_name()
        ))));
    }
    if has_method(value, name) {
        return Ok(Some(Value::Method(Rc::new((value.clone(), name.clone())))));
    }
    match value {
        Value::Namespace(names) => Ok(names.borrow().get_str(name).cloned()),
        Value::Loop(state) => state.attribute(name, machine),
        Value::Macro(value) => Ok(macro_attribute(value, name)),
        _ => Ok(None),
    }
}

fn changes(value: &Value, name: &str) -> bool {
    match value {
        Value::Dict(_) => DICT_CHANGERS.contains(&name),
        Value::List(_) => LIST_CHANGERS.contains(&name),
        _ => false,
    }
}

fn missing(value: &Value, name: &str) -> Value {
    Value::undefined(format!("{} has no member '{name}'", value.type_name()))
}

/// value.name: an attribute, else an item.
pub fn attribute(value: &Value, name: &Name, machine: &mut Machine) -> Result<Value> {
    if let Value::Undefined(what) = value {
        return undefined_error(what);
    }
    if name.starts_with('_') {
        return Ok(missing(value, name));
    }
    if let Some(found) = own_attribute(value, name, machine)? {
        return Ok(found);
    }
    let found = sequences::item(value, &Value::str(name));
    Ok(found.unwrap_or_else(|| missing(value, name)))
}

/// value[key]: an item, else an attribute.
pub fn item(value: &Value, key: &Value, machine: &mut Machine) -> Result<Value> {
    if let Value::Undefined(what) = value {
        return undefined_error(what);
    }
    machine.budget.read(key.weight())?;
    if let Some(found) = sequences::item(value, key) {
        return Ok(found);
    }
    let Value::Str(name) = key else {
        return Ok(missing(value, "of that key"));
    };
    if name.starts_with('_') {
        return Ok(missing(value, name));
    }
    let found = own_attribute(value, &Arc::from(&**name), machine)?;
    Ok(found.unwrap_or_else(|| missing(value, name)))
}

pub fn call_method(
    value: &Value,
    name: &str,
    args: Arguments,
    machine: &mut Machine,
) -> Result<Value> {
    match value {
        Value::Str(text) => strings::call(text, name, args, &mut machine.budget),
        Value::Dict(dict) => match name {
            "get" => {
                let [key, default] = args.bind(name, ["key", "default"], 1)?;
                let key = key.unwrap_or(Value::None);
                let Some(hash) = key.key() else {
                    return fail(format!("a {} can't be a key", key.type_name()));
                };
                let found = dict.get(&hash).cloned();
                Ok(found.or(default).unwrap_or(Value::None))
            }
            _ => {
                let [] = args.bind(name, [], 0)?;
                let view = match name {
                    "copy" => return Ok(value.clone()),
                    "keys" => View::Keys,
                    "values" => View::Values,
                    _ => View::Items,
                };
                Ok(Value::View(view, dict.clone()))
            }
        },
        Value::List(items) | Value::Tuple(items) => {
            if name == "copy" {
                let [] = args.bind(name, [], 0)?;
                return Ok(value.clone());
            }
            let [wanted] = args.bind(name, ["value"], 1)?;
            let wanted = wanted.unwrap_or(Value::None);
            machine.budget.read(value.weight())?;
            if name == "count" {
                let count = items.values.iter().filter(|item| item.equals(&wanted));
                return Ok(Value::Int(count.count() as i128));
            }
            match items.values.iter().position(|item| item.equals(&wanted)) {
                Some(at) => Ok(Value::Int(at as i128)),
                None => fail("index: the value is not in the list"),
            }
        }
        Value::Loop(state) => state.call_method(name, args),
        other => fail(format!("{} has no method {name}", other.type_name())),
    }
}
