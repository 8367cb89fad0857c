//! Python's values, as far as templates see them.
//!
//! All are immutable, except namespaces and the position of streams and loops.
//! `Items` and `Dict` know how deep they nest and how much walking over them
//! costs, so that no recursion over a value can exhaust the stack, and none is
//! started that the budget doesn't allow: a list of twice the same list, a
//! hundred times over, is small in memory and endless to print.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use super::ast::{MacroDef, Name};
use super::functions::Function;
use super::loops::Loop;

#[derive(Clone)]
pub enum Value {
    /// What was looked up in vain, for messages.
    Undefined(Rc<str>),
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Str(Rc<str>),
    List(Rc<Items>),
    Tuple(Rc<Items>),
    Dict(Rc<Dict>),
    View(View, Rc<Dict>),
    Range(Range),
    /// A generator: what is taken from it is gone.
    Stream(Rc<RefCell<VecDeque<Value>>>),
    Namespace(Rc<RefCell<Dict>>),
    Loop(Rc<Loop>),
    Macro(Rc<Macro>),
    Method(Rc<(Value, Name)>),
    Function(Function),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum View {
    Keys,
    Values,
    Items,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Range {
    pub start: i128,
    pub stop: i128,
    pub step: i128,
    pub length: i128,
}

impl Range {
    pub fn get(&self, index: i128) -> Value {
        Value::Int(self.start + index * self.step)
    }

    pub fn contains(&self, value: i128) -> bool {
        let distance = value - self.start;
        distance % self.step == 0 && (0..self.length).contains(&(distance / self.step))
    }
}

pub struct Macro {
    pub definition: std::sync::Arc<MacroDef>,
    /// The scope in which the macro was defined.
    pub scope: usize,
}

/// Brackets, and each value with its separator.
fn weigh<'v>(values: impl Iterator<Item = &'v Value>) -> usize {
    values.fold(2, |sum: usize, value| {
        sum.saturating_add(value.weight()).saturating_add(2)
    })
}

/// The elements of a list or tuple.
pub struct Items {
    pub values: Vec<Value>,
    depth: usize,
    weight: usize,
}

impl Items {
    pub fn new(values: Vec<Value>) -> Self {
        let depth = 1 + values.iter().map(Value::depth).max().unwrap_or(0);
        let weight = weigh(values.iter());
        Items {
            values,
            depth,
            weight,
        }
    }
}

/// What two equal Python keys have in common: 1, 1.0 and True are one key.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Key {
    Undefined,
    None,
    Int(i128),
    /// The bits of a float that is no integer.
    Float(u64),
    Str(Rc<str>),
    Tuple(Vec<Key>),
}

/// A dict in order of insertion.
#[derive(Default, Clone)]
pub struct Dict {
    pub entries: Vec<(Value, Value)>,
    index: HashMap<Key, usize>,
    depth: usize,
    weight: usize,
}

impl Dict {
    /// Adds or replaces; a replaced entry keeps its place and its first key.
    pub fn insert(&mut self, key: Key, key_value: Value, value: Value) {
        self.depth = self.depth.max(value.depth());
        let added = key_value.weight().saturating_add(value.weight());
        self.weight = self.weight.saturating_add(added).saturating_add(4);
        match self.index.get(&key) {
            Some(at) => self.entries[*at].1 = value,
            None => {
                self.index.insert(key, self.entries.len());
                self.entries.push((key_value, value));
            }
        }
    }

    pub fn insert_str(&mut self, key: &str, value: Value) {
        let key: Rc<str> = Rc::from(key);
        self.insert(Key::Str(key.clone()), Value::Str(key), value);
    }

    pub fn get(&self, key: &Key) -> Option<&Value> {
        self.index.get(key).map(|at| &self.entries[*at].1)
    }

    pub fn get_str(&self, key: &str) -> Option<&Value> {
        self.get(&Key::Str(Rc::from(key)))
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn view(&self, view: View) -> Vec<Value> {
        let pick = |(key, value): &(Value, Value)| match view {
            View::Keys => key.clone(),
            View::Values => value.clone(),
            View::Items => Value::tuple(vec![key.clone(), value.clone()]),
        };
        self.entries.iter().map(pick).collect()
    }
}

impl Value {
    pub fn str(text: impl AsRef<str>) -> Value {
        Value::Str(Rc::from(text.as_ref()))
    }

    pub fn list(values: Vec<Value>) -> Value {
        Value::List(Rc::new(Items::new(values)))
    }

    pub fn tuple(values: Vec<Value>) -> Value {
        Value::Tuple(Rc::new(Items::new(values)))
    }

    pub fn stream(values: Vec<Value>) -> Value {
        Value::Stream(Rc::new(RefCell::new(values.into())))
    }

    pub fn undefined(name: impl AsRef<str>) -> Value {
        Value::Undefined(Rc::from(name.as_ref()))
    }

    pub fn from_json(json: serde_json::Value) -> Value {
        use serde_json::Value as Json;
        match json {
            Json::Null => Value::None,
            Json::Bool(value) => Value::Bool(value),
            Json::Number(number) => match (number.as_i64(), number.as_u64()) {
                (Some(value), _) => Value::Int(value.into()),
                (_, Some(value)) => Value::Int(value.into()),
                _ => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(text) => Value::str(text),
            Json::Array(items) => Value::list(items.into_iter().map(Value::from_json).collect()),
            Json::Object(members) => {
                let mut dict = Dict::default();
                for (key, value) in members {
                    dict.insert_str(&key, Value::from_json(value));
                }
                Value::Dict(Rc::new(dict))
            }
        }
    }

    /// How deep lists, tuples and dicts nest in this value. A stream or
    /// namespace counts for what it holds now.
    pub fn depth(&self) -> usize {
        match self {
            Value::List(items) | Value::Tuple(items) => items.depth,
            Value::Dict(dict) | Value::View(_, dict) => 1 + dict.depth,
            Value::Stream(stream) => {
                1 + stream.borrow().iter().map(Value::depth).max().unwrap_or(0)
            }
            Value::Method(method) => 1 + method.0.depth(),
            _ => 0,
        }
    }

    /// About the bytes that printing this value takes, which is also what
    /// comparing or copying it costs.
    pub fn weight(&self) -> usize {
        match self {
            Value::Str(text) => text.len() + 2,
            Value::List(items) | Value::Tuple(items) => items.weight,
            Value::Dict(dict) | Value::View(_, dict) => dict.weight.saturating_add(2),
            Value::Stream(stream) => weigh(stream.borrow().iter()),
            _ => 16,
        }
    }

    pub fn is_undefined(&self) -> bool {
        matches!(self, Value::Undefined(_))
    }

    pub fn as_str(&self) -> Option<&Rc<str>> {
        match self {
            Value::Str(text) => Some(text),
            _ => None,
        }
    }

    /// Integers, and booleans, which Python counts among them.
    pub fn as_int(&self) -> Option<i128> {
        match self {
            Value::Int(value) => Some(*value),
            Value::Bool(value) => Some(i128::from(*value)),
            _ => None,
        }
    }

    pub fn as_number(&self) -> Option<f64> {
        match self {
            Value::Float(value) => Some(*value),
            _ => self.as_int().map(|value| value as f64),
        }
    }

    pub fn is_true(&self) -> bool {
        match self {
            Value::Undefined(_) | Value::None => false,
            Value::Bool(value) => *value,
            Value::Int(value) => *value != 0,
            Value::Float(value) => *value != 0.0,
            Value::Str(text) => !text.is_empty(),
            Value::List(items) | Value::Tuple(items) => !items.values.is_empty(),
            Value::Dict(dict) | Value::View(_, dict) => dict.len() > 0,
            Value::Range(range) => range.length > 0,
            _ => true,
        }
    }

    /// Python's name of the type.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Undefined(_) => "Undefined",
            Value::None => "NoneType",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Float(_) => "float",
            Value::Str(_) => "str",
            Value::List(_) => "list",
            Value::Tuple(_) => "tuple",
            Value::Dict(_) => "dict",
            Value::View(View::Keys, _) => "dict_keys",
            Value::View(View::Values, _) => "dict_values",
            Value::View(View::Items, _) => "dict_items",
            Value::Range(_) => "range",
            Value::Stream(_) => "generator",
            Value::Namespace(_) => "Namespace",
            Value::Loop(_) => "LoopContext",
            Value::Macro(_) => "Macro",
            Value::Method(_) => "method",
            Value::Function(_) => "function",
        }
    }

    /// The key that this value is in a dict; None if Python calls it unhashable.
    pub fn key(&self) -> Option<Key> {
        Some(match self {
            Value::Undefined(_) => Key::Undefined,
            Value::None => Key::None,
            Value::Bool(value) => Key::Int(i128::from(*value)),
            Value::Int(value) => Key::Int(*value),
            Value::Float(value) if value.fract() == 0.0 && value.abs() < 1e30 => {
                Key::Int(*value as i128)
            }
            Value::Float(value) => Key::Float(value.to_bits()),
            Value::Str(text) => Key::Str(text.clone()),
            Value::Tuple(items) => {
                Key::Tuple(items.values.iter().map(Value::key).collect::<Option<_>>()?)
            }
            _ => return None,
        })
    }

    pub fn equals(&self, other: &Value) -> bool {
        if let (Some(a), Some(b)) = (self.as_int(), other.as_int()) {
            return a == b;
        }
        if let (Some(a), Some(b)) = (self.as_number(), other.as_number()) {
            return a == b;
        }
        match (self, other) {
            (Value::Undefined(_), Value::Undefined(_)) | (Value::None, Value::None) => true,
            (Value::Str(a), Value::Str(b)) => a == b,
            (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => {
                a.values.len() == b.values.len()
                    && a.values.iter().zip(&b.values).all(|(a, b)| a.equals(b))
            }
            (Value::Dict(a), Value::Dict(b)) => {
                a.len() == b.len()
                    && a.entries.iter().all(|(key, value)| {
                        let other = key.key().and_then(|key| b.get(&key));
                        other.is_some_and(|other| value.equals(other))
                    })
            }
            (Value::Range(a), Value::Range(b)) => {
                a.length == b.length
                    && (a.length == 0 || a.start == b.start)
                    && (a.length < 2 || a.step == b.step)
            }
            _ => self.is_same(other),
        }
    }

    /// Python's `is`; scalars of one type and value count as one object.
    pub fn is_same(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::None, Value::None) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits(),
            (Value::Str(a), Value::Str(b)) => a == b,
            (Value::List(a), Value::List(b)) | (Value::Tuple(a), Value::Tuple(b)) => {
                Rc::ptr_eq(a, b)
            }
            (Value::Dict(a), Value::Dict(b)) => Rc::ptr_eq(a, b),
            (Value::View(a, x), Value::View(b, y)) => a == b && Rc::ptr_eq(x, y),
            (Value::Stream(a), Value::Stream(b)) => Rc::ptr_eq(a, b),
            (Value::Namespace(a), Value::Namespace(b)) => Rc::ptr_eq(a, b),
            (Value::Loop(a), Value::Loop(b)) => Rc::ptr_eq(a, b),
            (Value::Macro(a), Value::Macro(b)) => Rc::ptr_eq(a, b),
            (Value::Function(a), Value::Function(b)) => a == b,
            _ => false,
        }
    }
}
