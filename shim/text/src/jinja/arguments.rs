//! The arguments of a call, a filter or a test.

use std::rc::Rc;

use crate::error::{Code, Error, Result};

use super::ast::Name;
use super::value::Value;

#[derive(Default)]
pub struct Arguments {
    pub positional: Vec<Value>,
    pub named: Vec<(Name, Value)>,
}

pub fn fail<T>(message: impl Into<String>) -> Result<T> {
    Err(Error::new(Code::Invalid, message))
}

impl Arguments {
    /// Sorts the arguments of `what` to `names`; the first `required` must be there.
    pub fn bind<const N: usize>(
        self,
        what: &str,
        names: [&str; N],
        required: usize,
    ) -> Result<[Option<Value>; N]> {
        if self.positional.len() > N {
            return fail(format!("{what} takes at most {N} arguments"));
        }
        let mut bound: [Option<Value>; N] = std::array::from_fn(|_| None);
        for (slot, value) in bound.iter_mut().zip(self.positional) {
            *slot = Some(value);
        }
        for (name, value) in self.named {
            let Some(at) = names.iter().position(|known| **known == *name) else {
                return fail(format!("{what} has no argument '{name}'"));
            };
            if bound[at].replace(value).is_some() {
                return fail(format!("{what} got its argument '{name}' twice"));
            }
        }
        if let Some(at) = bound[..required].iter().position(Option::is_none) {
            return fail(format!("{what} misses its argument '{}'", names[at]));
        }
        Ok(bound)
    }

    /// Takes the keyword argument `name` out.
    pub fn take_named(&mut self, name: &str) -> Option<Value> {
        let at = self.named.iter().position(|(known, _)| **known == *name)?;
        Some(self.named.remove(at).1)
    }
}

pub fn need_str(value: &Value, what: &str) -> Result<Rc<str>> {
    match value {
        Value::Str(text) => Ok(text.clone()),
        other => fail(format!(
            "{what} must be a string, not {}",
            other.type_name()
        )),
    }
}

pub fn need_int(value: &Value, what: &str) -> Result<i128> {
    value.as_int().map_or_else(
        || {
            fail(format!(
                "{what} must be an integer, not {}",
                value.type_name()
            ))
        },
        Ok,
    )
}

/// An integer that counts something, or None if it is absent or None.
pub fn optional_int(value: Option<Value>, what: &str) -> Result<Option<i128>> {
    match value {
        None | Some(Value::None) => Ok(None),
        Some(value) => need_int(&value, what).map(Some),
    }
}

pub fn optional_str(value: Option<Value>, what: &str) -> Result<Option<Rc<str>>> {
    match value {
        None | Some(Value::None) => Ok(None),
        Some(value) => need_str(&value, what).map(Some),
    }
}

/// Clamps a count or index to what memory can hold.
pub fn to_usize(value: i128) -> usize {
    usize::try_from(value.max(0)).unwrap_or(usize::MAX)
}
