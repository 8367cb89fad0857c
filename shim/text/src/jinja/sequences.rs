//! Iteration, lengths, indices and slices.

use std::rc::Rc;

use crate::error::Result;

use super::arguments::{fail, need_int, to_usize};
use super::budget::Budget;
use super::text;
use super::value::{Range, Value, View};

/// list(value): what a loop over `value` visits. Empties a stream.
pub fn iterate(value: &Value, budget: &mut Budget) -> Result<Vec<Value>> {
    let values = match value {
        Value::Undefined(_) => Vec::new(),
        Value::Str(text) => {
            budget.build_many(text.len(), 32)?;
            text.chars()
                .map(|c| Value::str(c.encode_utf8(&mut [0; 4])))
                .collect()
        }
        Value::List(items) | Value::Tuple(items) => items.values.clone(),
        Value::Dict(dict) => dict.view(View::Keys),
        Value::View(view, dict) => dict.view(*view),
        Value::Range(range) => (0..range.length).map(|i| range.get(i)).collect(),
        Value::Stream(stream) => stream.borrow_mut().drain(..).collect(),
        other => {
            return fail(format!("{} can't be iterated", other.type_name()));
        }
    };
    budget.build_items(values.len())?;
    Ok(values)
}

pub fn is_iterable(value: &Value) -> bool {
    matches!(
        value,
        Value::Undefined(_)
            | Value::Str(_)
            | Value::List(_)
            | Value::Tuple(_)
            | Value::Dict(_)
            | Value::View(..)
            | Value::Range(_)
            | Value::Stream(_)
    )
}

/// len(value), if it has one.
pub fn length(value: &Value) -> Option<usize> {
    Some(match value {
        Value::Undefined(_) => 0,
        Value::Str(text) => text::length(text),
        Value::List(items) | Value::Tuple(items) => items.values.len(),
        Value::Dict(dict) | Value::View(_, dict) => dict.len(),
        Value::Range(range) => to_usize(range.length),
        _ => return None,
    })
}

/// The position that `index` means in a sequence of `length`.
fn position(index: i128, length: usize) -> Option<usize> {
    let length = length as i128;
    let at = if index < 0 { index + length } else { index };
    (0..length).contains(&at).then(|| to_usize(at))
}

/// value[index] for sequences, value[key] for dicts; None where Python raises
/// a LookupError or TypeError.
pub fn item(value: &Value, key: &Value) -> Option<Value> {
    if let Value::Dict(dict) = value {
        return dict.get(&key.key()?).cloned();
    }
    let index = key.as_int()?;
    match value {
        Value::Str(text) => {
            let at = position(index, text::length(text))?;
            let from = text::offset(text, at);
            let c = text[from..].chars().next()?;
            Some(Value::str(c.encode_utf8(&mut [0; 4])))
        }
        Value::List(items) | Value::Tuple(items) => {
            let at = position(index, items.values.len())?;
            Some(items.values[at].clone())
        }
        Value::Range(range) => {
            let at = position(index, to_usize(range.length))?;
            Some(range.get(at as i128))
        }
        _ => None,
    }
}

fn slice_part(value: &Option<Value>) -> Result<Option<i128>> {
    match value {
        None | Some(Value::None) => Ok(None),
        Some(value) => need_int(value, "a slice index").map(Some),
    }
}

/// The positions that a slice of a sequence of `length` takes, in order.
fn slice_range(length: usize, parts: &[Option<Value>; 3]) -> Result<Range> {
    let length = length as i128;
    let step = slice_part(&parts[2])?.unwrap_or(1);
    if step == 0 {
        return fail("a slice's step can't be 0");
    }
    // Positions lie in lower..=upper; -1 is the end of a backward slice.
    let (lower, upper) = if step > 0 {
        (0, length)
    } else {
        (-1, length - 1)
    };
    let clamp = |index: i128| {
        let index = if index < 0 {
            index.saturating_add(length)
        } else {
            index
        };
        index.clamp(lower, upper)
    };
    let (first, last) = if step > 0 {
        (lower, upper)
    } else {
        (upper, lower)
    };
    let start = slice_part(&parts[0])?.map_or(first, clamp);
    let stop = slice_part(&parts[1])?.map_or(last, clamp);
    let distance = if step > 0 { stop - start } else { start - stop };
    // Clamped, so that no arithmetic on positions can overflow.
    let step = step.clamp(-length - 1, length + 1);
    let length = (distance.max(0) + step.abs() - 1) / step.abs();
    Ok(Range {
        start,
        stop,
        step,
        length,
    })
}

pub fn slice(value: &Value, parts: &[Option<Value>; 3], budget: &mut Budget) -> Result<Value> {
    match value {
        Value::Str(text) => {
            budget.build(text.len())?;
            let range = slice_range(text::length(text), parts)?;
            Ok(Value::str(slice_text(text, &range)))
        }
        Value::List(items) | Value::Tuple(items) => {
            let range = slice_range(items.values.len(), parts)?;
            budget.build_items(to_usize(range.length))?;
            let at = |i: i128| items.values[to_usize(range.start + i * range.step)].clone();
            let values = (0..range.length).map(at).collect();
            Ok(if matches!(value, Value::List(_)) {
                Value::list(values)
            } else {
                Value::tuple(values)
            })
        }
        Value::Range(whole) => {
            let range = slice_range(to_usize(whole.length), parts)?;
            Ok(Value::Range(Range {
                start: whole.start + range.start * whole.step,
                stop: whole.start + range.stop * whole.step,
                step: whole.step * range.step,
                length: range.length,
            }))
        }
        Value::Undefined(name) => super::operators::undefined_error(name),
        other => fail(format!("{} can't be sliced", other.type_name())),
    }
}

fn slice_text(text: &str, range: &Range) -> String {
    if range.step == 1 {
        let from = text::offset(text, to_usize(range.start));
        let to = from + text::offset(&text[from..], to_usize(range.length));
        return text[from..to].to_string();
    }
    let chars: Vec<char> = text.chars().collect();
    (0..range.length)
        .map(|i| chars[to_usize(range.start + i * range.step)])
        .collect()
}

/// The elements of `value` from last to first, as the filter "reverse" gives them.
pub fn reversed(value: &Value, budget: &mut Budget) -> Result<Vec<Value>> {
    let mut values = iterate(value, budget)?;
    values.reverse();
    Ok(values)
}

/// A list of `values`, within the limits of size and depth.
pub fn new_list(values: Vec<Value>, budget: &mut Budget) -> Result<Value> {
    budget.build_items(values.len())?;
    checked(Value::list(values))
}

pub fn new_tuple(values: Vec<Value>, budget: &mut Budget) -> Result<Value> {
    budget.build_items(values.len())?;
    checked(Value::tuple(values))
}

pub fn new_stream(values: Vec<Value>, budget: &mut Budget) -> Result<Value> {
    budget.build_items(values.len())?;
    checked(Value::stream(values))
}

/// Refuses a value that nests too deep.
pub fn checked(value: Value) -> Result<Value> {
    if value.depth() > crate::limits::MAX_VALUE_DEPTH {
        return Err(crate::Error::new(
            crate::Code::Limit,
            format!(
                "the template nests values deeper than {}",
                crate::limits::MAX_VALUE_DEPTH
            ),
        ));
    }
    Ok(value)
}

/// A string that `budget` pays for.
pub fn new_str(text: String, budget: &mut Budget) -> Result<Value> {
    budget.build(text.len())?;
    Ok(Value::Str(Rc::from(text)))
}
