//! Runs a template's tree: variables, statements and expressions.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use crate::error::{Code, Error, Result};
use crate::limits;

use super::arguments::{fail, Arguments};
use super::ast::*;
use super::attributes;
use super::budget::Budget;
use super::filters;
use super::functions;
use super::lexer::syntax_error;
use super::loops::Loop;
use super::operators::{self, undefined_error};
use super::predicates;
use super::repr;
use super::sequences::{self, new_list, new_str, new_tuple};
use super::value::{Dict, Macro, Value};

/// Variables of a block, and the block around it.
struct Scope {
    variables: Vec<(Name, Value)>,
    parent: Option<usize>,
    /// A macro refers to it: it must outlive its block.
    is_kept: bool,
}

#[derive(PartialEq, Eq)]
enum Flow {
    Normal,
    Break,
    Continue,
}

pub struct Machine {
    pub budget: Budget,
    globals: HashMap<String, Value>,
    scopes: Vec<Scope>,
    scope: usize,
    /// The innermost is what statements write to.
    outputs: Vec<String>,
    depth: usize,
    /// Every namespace: they can hold each other in a ring, which only
    /// emptying them undoes.
    namespaces: Vec<Value>,
}

impl Drop for Machine {
    fn drop(&mut self) {
        for namespace in &self.namespaces {
            if let Value::Namespace(names) = namespace {
                let emptied = names.replace(Dict::default());
                drop(emptied);
            }
        }
    }
}

/// Renders `body` with the variables `globals`.
pub fn render(body: &[Stmt], globals: HashMap<String, Value>) -> Result<String> {
    let mut machine = Machine {
        budget: Budget::new(),
        globals,
        scopes: Vec::new(),
        scope: 0,
        outputs: vec![String::new()],
        depth: 0,
        namespaces: Vec::new(),
    };
    machine.enter(None);
    machine.body(body)?;
    Ok(machine.outputs.pop().unwrap_or_default())
}

impl Machine {
    // --- scopes ---------------------------------------------------------------

    /// Opens a scope in `parent` and makes it the current one.
    fn enter(&mut self, parent: Option<usize>) {
        self.scopes.push(Scope {
            variables: Vec::new(),
            parent,
            is_kept: false,
        });
        self.scope = self.scopes.len() - 1;
    }

    /// Closes the current scope and goes back to `scope`.
    fn leave(&mut self, scope: usize) {
        let is_last = self.scope + 1 == self.scopes.len();
        if is_last && !self.scopes[self.scope].is_kept {
            self.scopes.pop();
        }
        self.scope = scope;
    }

    /// Runs `run` in a scope of its own.
    fn scoped<T>(&mut self, parent: usize, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        let scope = self.scope;
        self.budget.build(std::mem::size_of::<Scope>())?;
        self.enter(Some(parent));
        let outcome = run(self)?;
        self.leave(scope);
        Ok(outcome)
    }

    fn define(&mut self, name: &Name, value: Value) {
        let variables = &mut self.scopes[self.scope].variables;
        match variables.iter_mut().find(|(known, _)| known == name) {
            Some((_, slot)) => *slot = value,
            None => variables.push((name.clone(), value)),
        }
    }

    fn find(&self, name: &str) -> Option<Value> {
        let mut at = Some(self.scope);
        while let Some(scope) = at.map(|at| &self.scopes[at]) {
            let found = scope.variables.iter().find(|(known, _)| &**known == name);
            if let Some((_, value)) = found {
                return Some(value.clone());
            }
            at = scope.parent;
        }
        let global = self.globals.get(name).cloned();
        global.or_else(|| functions::global(name))
    }

    fn lookup(&self, name: &str) -> Value {
        self.find(name).unwrap_or_else(|| Value::undefined(name))
    }

    /// Keeps the current scope and those around it, for a macro.
    fn keep_scopes(&mut self) {
        let mut at = Some(self.scope);
        while let Some(scope) = at.map(|at| &mut self.scopes[at]) {
            scope.is_kept = true;
            at = scope.parent;
        }
    }

    fn assign(&mut self, target: &Target, value: Value) -> Result<()> {
        match target {
            Target::Name(name) => {
                self.define(name, value);
                Ok(())
            }
            Target::Attribute(name, attribute) => match self.lookup(name) {
                Value::Namespace(names) => {
                    let key = Value::str(attribute);
                    functions::insert(&mut names.borrow_mut(), key, value, &mut self.budget)
                }
                other => fail(format!(
                    "can't set an attribute of '{name}': it is a {}, not a namespace",
                    other.type_name()
                )),
            },
            Target::Tuple(targets) => {
                let values = sequences::iterate(&value, &mut self.budget)?;
                if values.len() != targets.len() {
                    return fail(format!(
                        "{} values can't be unpacked into {} names",
                        values.len(),
                        targets.len()
                    ));
                }
                for (target, value) in targets.iter().zip(values) {
                    self.assign(target, value)?;
                }
                Ok(())
            }
        }
    }

    // --- statements -----------------------------------------------------------

    fn emit(&mut self, text: &str) -> Result<()> {
        self.budget.build(text.len())?;
        let out = self.outputs.last_mut();
        let out = out.ok_or_else(|| Error::new(Code::Internal, "no output to write to"))?;
        if out.len() + text.len() > limits::MAX_RENDERED_BYTES {
            return Err(Error::new(
                Code::Limit,
                format!(
                    "the template renders more than {} bytes",
                    limits::MAX_RENDERED_BYTES
                ),
            ));
        }
        out.push_str(text);
        Ok(())
    }

    /// Runs `run` and gives what it wrote.
    fn captured<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<Value> {
        self.outputs.push(String::new());
        run(self)?;
        let text = self.outputs.pop().unwrap_or_default();
        new_str(text, &mut self.budget)
    }

    fn deeper<T>(&mut self, run: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.budget.step()?;
        self.depth += 1;
        if self.depth > limits::MAX_EVALUATION_DEPTH {
            return Err(Error::new(
                Code::Limit,
                format!(
                    "the template nests evaluations deeper than {}; does a macro call itself without end?",
                    limits::MAX_EVALUATION_DEPTH
                ),
            ));
        }
        let outcome = run(self);
        self.depth -= 1;
        outcome
    }

    fn body(&mut self, body: &[Stmt]) -> Result<Flow> {
        for statement in body {
            let outcome = self.deeper(|m| m.statement(&statement.kind));
            let flow = outcome.map_err(|error| located(error, statement.line))?;
            if flow != Flow::Normal {
                return Ok(flow);
            }
        }
        Ok(Flow::Normal)
    }

    fn statement(&mut self, statement: &StmtKind) -> Result<Flow> {
        match statement {
            StmtKind::Text(text) => self.emit(text)?,
            StmtKind::Emit(expr) => {
                let value = self.value(expr)?;
                let text = repr::text(&value, &mut self.budget)?;
                self.emit(&text)?;
            }
            StmtKind::If {
                branches,
                otherwise,
            } => return self.if_block(branches, otherwise),
            StmtKind::For(node) => return self.for_block(node),
            StmtKind::Set(target, expr) => {
                let value = self.value(expr)?;
                self.assign(target, value)?;
            }
            StmtKind::SetBlock(target, filters, body) => {
                let text = self.captured(|m| m.scoped(m.scope, |m| m.body(body)))?;
                let value = self.filtered(text, filters)?;
                self.assign(target, value)?;
            }
            StmtKind::With(values, body) => return self.with(values, body),
            StmtKind::Macro(definition) => {
                let value = self.new_macro(definition);
                self.define(&definition.name, value);
            }
            StmtKind::CallBlock(call, definition) => self.call_block(call, definition)?,
            StmtKind::FilterBlock(filters, body) => {
                let text = self.captured(|m| m.scoped(m.scope, |m| m.body(body)))?;
                let value = self.filtered(text, filters)?;
                let text = repr::text(&value, &mut self.budget)?;
                self.emit(&text)?;
            }
            StmtKind::Scoped(body) => return self.scoped(self.scope, |m| m.body(body)),
            StmtKind::Break => return Ok(Flow::Break),
            StmtKind::Continue => return Ok(Flow::Continue),
        }
        Ok(Flow::Normal)
    }

    fn if_block(&mut self, branches: &[(Expr, Vec<Stmt>)], otherwise: &[Stmt]) -> Result<Flow> {
        for (condition, body) in branches {
            if self.value(condition)?.is_true() {
                return self.body(body);
            }
        }
        self.body(otherwise)
    }

    fn with(&mut self, values: &[(Target, Expr)], body: &[Stmt]) -> Result<Flow> {
        let mut evaluated = Vec::with_capacity(values.len());
        for (target, expr) in values {
            evaluated.push((target, self.value(expr)?));
        }
        self.scoped(self.scope, |m| {
            for (target, value) in evaluated {
                m.assign(target, value)?;
            }
            m.body(body)
        })
    }

    // --- loops ----------------------------------------------------------------

    fn for_block(&mut self, node: &Arc<For>) -> Result<Flow> {
        let values = self.value(&node.iterable)?;
        self.run_loop(node, &values, self.scope, 0)
    }

    fn run_loop(
        &mut self,
        node: &Arc<For>,
        values: &Value,
        scope: usize,
        depth: usize,
    ) -> Result<Flow> {
        let values = sequences::iterate(values, &mut self.budget)?;
        let state = Rc::new(Loop::new(node.clone(), values, scope, depth));
        let name: Name = Arc::from("loop");
        let mut is_empty = true;
        while let Some(value) = state.advance(self)? {
            is_empty = false;
            let flow = self.scoped(scope, |m| {
                m.define(&name, Value::Loop(state.clone()));
                m.assign(&node.target, value)?;
                m.body(&node.body)
            })?;
            if flow == Flow::Break {
                break;
            }
        }
        if is_empty {
            return self.scoped(scope, |m| m.body(&node.otherwise));
        }
        Ok(Flow::Normal)
    }

    /// Whether a loop visits `value`.
    pub fn passes_test(&mut self, node: &For, value: &Value, scope: usize) -> Result<bool> {
        let Some(test) = &node.test else {
            return Ok(true);
        };
        self.scoped(scope, |m| {
            m.assign(&node.target, value.clone())?;
            Ok(m.value(test)?.is_true())
        })
    }

    pub fn run_loop_to_text(
        &mut self,
        node: &Arc<For>,
        values: &Value,
        scope: usize,
        depth: usize,
    ) -> Result<Value> {
        self.captured(|m| m.run_loop(node, values, scope, depth))
    }

    // --- macros ---------------------------------------------------------------

    fn new_macro(&mut self, definition: &Arc<MacroDef>) -> Value {
        self.keep_scopes();
        Value::Macro(Rc::new(Macro {
            definition: definition.clone(),
            scope: self.scope,
        }))
    }

    fn call_block(&mut self, call: &Expr, definition: &Arc<MacroDef>) -> Result<()> {
        let Expr::Call(callee, args) = call else {
            return fail("{% call %} needs a call");
        };
        let callee_value = self.value(callee)?;
        let mut args = self.arguments(args)?;
        let caller = self.new_macro(definition);
        args.named.push((Arc::from("caller"), caller));
        let value = self.call(&callee_value, args)?;
        let text = repr::text(&value, &mut self.budget)?;
        self.emit(&text)
    }

    fn call_macro(&mut self, called: &Macro, mut args: Arguments) -> Result<Value> {
        let definition = &called.definition;
        let caller = if definition.uses_caller {
            let caller = args.take_named("caller");
            Some(caller.unwrap_or_else(|| Value::undefined("No caller defined")))
        } else {
            None
        };
        let rest = args
            .positional
            .split_off(definition.parameters.len().min(args.positional.len()));
        let (known, unknown): (Vec<_>, Vec<_>) = std::mem::take(&mut args.named)
            .into_iter()
            .partition(|(name, _)| definition.parameters.contains(name));
        args.named = known;
        self.check_extra(definition, &rest, &unknown)?;
        let scope = called.scope;
        self.captured(|m| {
            m.scoped(scope, |m| {
                m.bind_parameters(definition, args)?;
                if definition.uses_varargs {
                    let rest = new_tuple(rest, &mut m.budget)?;
                    m.define(&Arc::from("varargs"), rest);
                }
                if definition.uses_kwargs {
                    let mut dict = Dict::default();
                    for (name, value) in unknown {
                        functions::insert(&mut dict, Value::str(name), value, &mut m.budget)?;
                    }
                    m.define(&Arc::from("kwargs"), Value::Dict(Rc::new(dict)));
                }
                if let Some(caller) = caller {
                    m.define(&Arc::from("caller"), caller);
                }
                m.body(&definition.body)
            })
        })
    }

    fn check_extra(
        &self,
        definition: &MacroDef,
        rest: &[Value],
        unknown: &[(Name, Value)],
    ) -> Result<()> {
        if !rest.is_empty() && !definition.uses_varargs {
            return fail(format!(
                "macro '{}' takes at most {} arguments",
                definition.name,
                definition.parameters.len()
            ));
        }
        match unknown.first() {
            Some((name, _)) if !definition.uses_kwargs => fail(format!(
                "macro '{}' has no argument '{name}'",
                definition.name
            )),
            _ => Ok(()),
        }
    }

    fn bind_parameters(&mut self, definition: &MacroDef, args: Arguments) -> Result<()> {
        let count = args.positional.len();
        let first_default = definition.parameters.len() - definition.defaults.len();
        let mut positional = args.positional.into_iter();
        for (i, name) in definition.parameters.iter().enumerate() {
            let named = args.named.iter().find(|(known, _)| known == name);
            if i < count && named.is_some() {
                return fail(format!(
                    "macro '{}' got its argument '{name}' twice",
                    definition.name
                ));
            }
            let given = positional
                .next()
                .or_else(|| named.map(|(_, value)| value.clone()));
            let value = match given {
                Some(value) => value,
                None if i >= first_default => {
                    self.value(&definition.defaults[i - first_default])?
                }
                None => Value::undefined(format!("parameter '{name}' was not provided")),
            };
            self.define(name, value);
        }
        Ok(())
    }

    // --- expressions ----------------------------------------------------------

    fn value(&mut self, expr: &Expr) -> Result<Value> {
        self.deeper(|m| m.evaluate(expr))
    }

    fn values(&mut self, exprs: &[Expr]) -> Result<Vec<Value>> {
        exprs.iter().map(|expr| self.value(expr)).collect()
    }

    fn evaluate(&mut self, expr: &Expr) -> Result<Value> {
        match expr {
            Expr::None => Ok(Value::None),
            Expr::Bool(value) => Ok(Value::Bool(*value)),
            Expr::Int(value) => Ok(Value::Int(*value)),
            Expr::Float(value) => Ok(Value::Float(*value)),
            Expr::Str(text) => {
                self.budget.build(text.len())?;
                Ok(Value::str(text))
            }
            Expr::Name(name) => Ok(self.lookup(name)),
            Expr::List(items) => {
                let values = self.values(items)?;
                new_list(values, &mut self.budget)
            }
            Expr::Tuple(items) => {
                let values = self.values(items)?;
                new_tuple(values, &mut self.budget)
            }
            Expr::Dict(items) => self.dict(items),
            Expr::Attribute(object, name) => {
                let object = self.value(object)?;
                attributes::attribute(&object, name, self)
            }
            Expr::Item(object, key) => {
                let object = self.value(object)?;
                let key = self.value(key)?;
                attributes::item(&object, &key, self)
            }
            Expr::Slice(object, parts) => self.slice(object, parts),
            Expr::Call(callee, args) => {
                let callee = self.value(callee)?;
                let args = self.arguments(args)?;
                self.call(&callee, args)
            }
            Expr::Filter(object, filter) => {
                let object = self.value(object)?;
                self.filter(object, filter)
            }
            Expr::Test(object, test) => {
                let object = self.value(object)?;
                let args = self.arguments(&test.args)?;
                predicates::check(&object, &test.name, args, &mut self.budget).map(Value::Bool)
            }
            Expr::Not(operand) => Ok(Value::Bool(!self.value(operand)?.is_true())),
            Expr::Negative(operand) => operators::negative(&self.value(operand)?),
            Expr::Positive(operand) => operators::positive(&self.value(operand)?),
            Expr::And(left, right) => {
                let left = self.value(left)?;
                if left.is_true() {
                    self.value(right)
                } else {
                    Ok(left)
                }
            }
            Expr::Or(left, right) => {
                let left = self.value(left)?;
                if left.is_true() {
                    Ok(left)
                } else {
                    self.value(right)
                }
            }
            Expr::Binary(op, left, right) => {
                let left = self.value(left)?;
                let right = self.value(right)?;
                sequences::checked(operators::binary(*op, &left, &right, &mut self.budget)?)
            }
            Expr::Concat(parts) => self.concat(parts),
            Expr::Compare(first, rest) => self.compare(first, rest),
            Expr::Conditional(condition, value, other) => {
                if self.value(condition)?.is_true() {
                    return self.value(value);
                }
                match other {
                    Some(other) => self.value(other),
                    None => Ok(Value::undefined(
                        "an inline 'if' whose condition is false and that has no 'else'",
                    )),
                }
            }
        }
    }

    fn dict(&mut self, items: &[(Expr, Expr)]) -> Result<Value> {
        let mut dict = Dict::default();
        for (key, value) in items {
            let key = self.value(key)?;
            let value = self.value(value)?;
            functions::insert(&mut dict, key, value, &mut self.budget)?;
        }
        sequences::checked(Value::Dict(Rc::new(dict)))
    }

    fn slice(&mut self, object: &Expr, parts: &[Option<Expr>; 3]) -> Result<Value> {
        let object = self.value(object)?;
        let mut values = [None, None, None];
        for (value, part) in values.iter_mut().zip(parts) {
            if let Some(part) = part {
                *value = Some(self.value(part)?);
            }
        }
        sequences::slice(&object, &values, &mut self.budget)
    }

    fn concat(&mut self, parts: &[Expr]) -> Result<Value> {
        let mut out = String::new();
        for part in parts {
            let value = self.value(part)?;
            out.push_str(&repr::text(&value, &mut self.budget)?);
        }
        new_str(out, &mut self.budget)
    }

    fn compare(&mut self, first: &Expr, rest: &[(CompareOp, Expr)]) -> Result<Value> {
        let mut left = self.value(first)?;
        for (op, right) in rest {
            let right = self.value(right)?;
            if !operators::compare(*op, &left, &right, &mut self.budget)? {
                return Ok(Value::Bool(false));
            }
            left = right;
        }
        Ok(Value::Bool(true))
    }

    fn arguments(&mut self, args: &Args) -> Result<Arguments> {
        let mut evaluated = Arguments {
            positional: self.values(&args.positional)?,
            named: Vec::with_capacity(args.named.len()),
        };
        for (name, expr) in &args.named {
            let value = self.value(expr)?;
            evaluated.named.push((name.clone(), value));
        }
        if let Some(rest) = &args.rest {
            let rest = self.value(rest)?;
            let values = sequences::iterate(&rest, &mut self.budget)?;
            evaluated.positional.extend(values);
        }
        if let Some(rest) = &args.named_rest {
            self.named_rest(rest, &mut evaluated)?;
        }
        Ok(evaluated)
    }

    fn named_rest(&mut self, rest: &Expr, evaluated: &mut Arguments) -> Result<()> {
        let Value::Dict(dict) = self.value(rest)? else {
            return fail("the value after ** must be a dict");
        };
        for (key, value) in &dict.entries {
            let Value::Str(name) = key else {
                return fail("the keys of the dict after ** must be strings");
            };
            self.budget.build_items(2)?;
            evaluated.named.push((Arc::from(&**name), value.clone()));
        }
        Ok(())
    }

    fn call(&mut self, callee: &Value, args: Arguments) -> Result<Value> {
        match callee {
            Value::Function(function) => {
                let value = functions::call(*function, args, &mut self.budget)?;
                if matches!(value, Value::Namespace(_)) {
                    self.namespaces.push(value.clone());
                }
                Ok(value)
            }
            Value::Method(method) => {
                let value = attributes::call_method(&method.0, &method.1, args, self)?;
                sequences::checked(value)
            }
            Value::Macro(called) => self.deeper(|m| m.call_macro(called, args)),
            Value::Loop(state) => state.clone().recurse(args, self),
            Value::Undefined(name) => undefined_error(name),
            other => fail(format!("a {} can't be called", other.type_name())),
        }
    }

    fn filter(&mut self, value: Value, filter: &FilterCall) -> Result<Value> {
        let args = self.arguments(&filter.args)?;
        sequences::checked(filters::apply(&filter.name, value, args, self)?)
    }

    fn filtered(&mut self, mut value: Value, chain: &[FilterCall]) -> Result<Value> {
        for filter in chain {
            value = self.filter(value, filter)?;
        }
        Ok(value)
    }
}

/// Names the innermost line of an error; the template's own words stay as they are.
fn located(error: Error, line: usize) -> Error {
    if error.code != Code::Invalid || error.message.starts_with("line ") {
        return error;
    }
    syntax_error(line, error.message)
}
