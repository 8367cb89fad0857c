//! The `loop` variable: a window on what a loop still has to visit.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;

use crate::error::Result;

use super::arguments::{fail, Arguments};
use super::ast::For;
use super::machine::Machine;
use super::sequences::item;
use super::value::Value;

pub struct Loop {
    /// What has not been asked for yet; the loop's own test is applied when it is.
    source: RefCell<VecDeque<Value>>,
    /// Elements that passed the test, but are not visited yet.
    ahead: RefCell<VecDeque<Value>>,
    node: Arc<For>,
    /// The scope around the loop.
    scope: usize,
    index: Cell<usize>,
    previous: RefCell<Value>,
    current: RefCell<Value>,
    depth: usize,
    changed: RefCell<Option<Value>>,
}

impl Loop {
    pub fn new(node: Arc<For>, values: Vec<Value>, scope: usize, depth: usize) -> Self {
        let missing = || RefCell::new(Value::undefined("there is no previous item"));
        Loop {
            source: RefCell::new(values.into()),
            ahead: RefCell::new(VecDeque::new()),
            node,
            scope,
            index: Cell::new(0),
            previous: missing(),
            current: missing(),
            depth,
            changed: RefCell::new(None),
        }
    }

    /// Moves on to the next element, if there is one.
    pub fn advance(&self, machine: &mut Machine) -> Result<Option<Value>> {
        if self.next(machine)?.is_none() {
            return Ok(None);
        }
        let Some(value) = self.ahead.borrow_mut().pop_front() else {
            return Ok(None);
        };
        let before = self.current.replace(value.clone());
        self.previous.replace(before);
        self.index.set(self.index.get() + 1);
        Ok(Some(value))
    }

    /// The element after the current one. Looking ahead runs the loop's test.
    fn next(&self, machine: &mut Machine) -> Result<Option<Value>> {
        let known = self.ahead.borrow().front().cloned();
        if known.is_some() {
            return Ok(known);
        }
        loop {
            let Some(value) = self.source.borrow_mut().pop_front() else {
                return Ok(None);
            };
            if machine.passes_test(&self.node, &value, self.scope)? {
                self.ahead.borrow_mut().push_back(value.clone());
                return Ok(Some(value));
            }
        }
    }

    /// How many elements follow the current one.
    fn remaining(&self, machine: &mut Machine) -> Result<usize> {
        loop {
            let Some(value) = self.source.borrow_mut().pop_front() else {
                return Ok(self.ahead.borrow().len());
            };
            if machine.passes_test(&self.node, &value, self.scope)? {
                self.ahead.borrow_mut().push_back(value);
            }
        }
    }

    pub fn attribute(&self, name: &str, machine: &mut Machine) -> Result<Option<Value>> {
        let index = self.index.get();
        let number = |value: usize| Some(Value::Int(value as i128));
        Ok(match name {
            "index" => number(index),
            "index0" => number(index.saturating_sub(1)),
            "first" => Some(Value::Bool(index == 1)),
            "last" => Some(Value::Bool(self.next(machine)?.is_none())),
            "length" => number(index + self.remaining(machine)?),
            "revindex" => number(self.remaining(machine)? + 1),
            "revindex0" => number(self.remaining(machine)?),
            "depth" => number(self.depth + 1),
            "depth0" => number(self.depth),
            "previtem" => Some(self.previous.borrow().clone()),
            "nextitem" => Some(
                self.next(machine)?
                    .unwrap_or_else(|| Value::undefined("there is no next item")),
            ),
            _ => None,
        })
    }

    pub fn call_method(&self, name: &str, args: Arguments) -> Result<Value> {
        if name == "changed" {
            let values = Value::tuple(args.positional);
            let is_changed = !matches!(&*self.changed.borrow(), Some(last) if last.equals(&values));
            if is_changed {
                self.changed.replace(Some(values));
            }
            return Ok(Value::Bool(is_changed));
        }
        let count = args.positional.len();
        if count == 0 {
            return fail("loop.cycle needs something to choose from");
        }
        let at = self.index.get().saturating_sub(1) % count;
        let values = Value::tuple(args.positional);
        Ok(item(&values, &Value::Int(at as i128)).unwrap_or(Value::None))
    }

    /// loop(values) in a recursive loop: its body over other values, as text.
    pub fn recurse(&self, args: Arguments, machine: &mut Machine) -> Result<Value> {
        if !self.node.is_recursive {
            return fail("loop can only be called in a loop marked 'recursive'");
        }
        let [values] = args.bind("loop", ["iterable"], 1)?;
        let values = values.unwrap_or(Value::None);
        machine.run_loop_to_text(&self.node, &values, self.scope, self.depth + 1)
    }
}
