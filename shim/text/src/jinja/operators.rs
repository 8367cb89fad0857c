//! Python's operators.

use std::cmp::Ordering;

use crate::error::Result;

use super::arguments::{fail, to_usize};
use super::ast::{BinaryOp, CompareOp};
use super::budget::Budget;
use super::formatting;
use super::sequences::{iterate, new_list, new_str, new_tuple};
use super::value::{Value, View};

fn symbol(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Add => "+",
        BinaryOp::Subtract => "-",
        BinaryOp::Multiply => "*",
        BinaryOp::Divide => "/",
        BinaryOp::FloorDivide => "//",
        BinaryOp::Modulo => "%",
        BinaryOp::Power => "**",
    }
}

/// The use of an undefined value; `name` is a variable's name or a sentence.
pub fn undefined_error<T>(name: &str) -> Result<T> {
    if name.contains(' ') {
        fail(name)
    } else {
        fail(format!("'{name}' is undefined"))
    }
}

fn check_defined(value: &Value) -> Result<()> {
    match value {
        Value::Undefined(name) => undefined_error(name),
        _ => Ok(()),
    }
}

pub fn binary(op: BinaryOp, a: &Value, b: &Value, budget: &mut Budget) -> Result<Value> {
    check_defined(a)?;
    check_defined(b)?;
    if let (Some(x), Some(y)) = (a.as_int(), b.as_int()) {
        return integers(op, x, y);
    }
    if let (Some(x), Some(y)) = (a.as_number(), b.as_number()) {
        return floats(op, x, y);
    }
    match (op, a, b) {
        (BinaryOp::Add, Value::Str(x), Value::Str(y)) => {
            budget.build(x.len() + y.len())?;
            Ok(Value::Str([&**x, &**y].concat().into()))
        }
        (BinaryOp::Add, Value::List(x), Value::List(y)) => {
            new_list([&x.values[..], &y.values[..]].concat(), budget)
        }
        (BinaryOp::Add, Value::Tuple(x), Value::Tuple(y)) => {
            new_tuple([&x.values[..], &y.values[..]].concat(), budget)
        }
        (BinaryOp::Multiply, sequence, count) | (BinaryOp::Multiply, count, sequence)
            if count.as_int().is_some() =>
        {
            repeat(sequence, to_usize(count.as_int().unwrap_or(0)), budget)
        }
        (BinaryOp::Modulo, Value::Str(format), values) => {
            new_str(formatting::percent(format, values, budget)?, budget)
        }
        _ => fail(format!(
            "'{}' can't be applied to {} and {}",
            symbol(op),
            a.type_name(),
            b.type_name()
        )),
    }
}

fn repeat(sequence: &Value, count: usize, budget: &mut Budget) -> Result<Value> {
    match sequence {
        Value::Str(text) => {
            budget.build_many(count, text.len())?;
            Ok(Value::str(text.repeat(count)))
        }
        Value::List(items) | Value::Tuple(items) => {
            budget.build_items(count.saturating_mul(items.values.len()))?;
            let length = items.values.len() * count;
            let values = items.values.iter().cycle().take(length).cloned().collect();
            Ok(if matches!(sequence, Value::List(_)) {
                Value::list(values)
            } else {
                Value::tuple(values)
            })
        }
        other => fail(format!("'*' can't be applied to {}", other.type_name())),
    }
}

fn integers(op: BinaryOp, a: i128, b: i128) -> Result<Value> {
    let is_division = matches!(
        op,
        BinaryOp::Divide | BinaryOp::FloorDivide | BinaryOp::Modulo
    );
    if b == 0 && is_division {
        return fail("division by zero");
    }
    let value = match op {
        BinaryOp::Add => a.checked_add(b),
        BinaryOp::Subtract => a.checked_sub(b),
        BinaryOp::Multiply => a.checked_mul(b),
        BinaryOp::Divide => return Ok(Value::Float(a as f64 / b as f64)),
        // Python rounds down and gives the remainder the divisor's sign.
        BinaryOp::FloorDivide => a.checked_div(b).map(|quotient| {
            let is_inexact = a.wrapping_rem(b) != 0;
            quotient - i128::from(is_inexact && (a < 0) != (b < 0))
        }),
        BinaryOp::Modulo => a.checked_rem(b).map(|remainder| {
            let is_other_sign = remainder != 0 && (remainder < 0) != (b < 0);
            if is_other_sign {
                remainder + b
            } else {
                remainder
            }
        }),
        BinaryOp::Power if b < 0 => return floats(op, a as f64, b as f64),
        BinaryOp::Power => u32::try_from(b).ok().and_then(|b| a.checked_pow(b)),
    };
    value.map_or_else(
        || fail(format!("'{}': the integer is too large", symbol(op))),
        |value| Ok(Value::Int(value)),
    )
}

fn floats(op: BinaryOp, a: f64, b: f64) -> Result<Value> {
    let is_division = matches!(
        op,
        BinaryOp::Divide | BinaryOp::FloorDivide | BinaryOp::Modulo
    );
    if b == 0.0 && is_division {
        return fail("division by zero");
    }
    Ok(Value::Float(match op {
        BinaryOp::Add => a + b,
        BinaryOp::Subtract => a - b,
        BinaryOp::Multiply => a * b,
        BinaryOp::Divide => a / b,
        BinaryOp::FloorDivide => ((a - float_modulo(a, b)) / b).round(),
        BinaryOp::Modulo => float_modulo(a, b),
        BinaryOp::Power if a == 0.0 && b < 0.0 => {
            return fail("0 can't be raised to a negative power")
        }
        BinaryOp::Power if a < 0.0 && b.fract() != 0.0 => {
            return fail("'**' would give a complex number")
        }
        BinaryOp::Power => a.powf(b),
    }))
}

fn float_modulo(a: f64, b: f64) -> f64 {
    let remainder = a % b;
    if remainder != 0.0 && (remainder < 0.0) != (b < 0.0) {
        remainder + b
    } else {
        remainder
    }
}

pub fn negative(value: &Value) -> Result<Value> {
    check_defined(value)?;
    match value {
        Value::Float(value) => Ok(Value::Float(-value)),
        _ => match value.as_int().and_then(i128::checked_neg) {
            Some(value) => Ok(Value::Int(value)),
            None => fail(format!("'-' can't be applied to {}", value.type_name())),
        },
    }
}

pub fn positive(value: &Value) -> Result<Value> {
    check_defined(value)?;
    match value {
        Value::Float(_) => Ok(value.clone()),
        _ => match value.as_int() {
            Some(value) => Ok(Value::Int(value)),
            None => fail(format!("'+' can't be applied to {}", value.type_name())),
        },
    }
}

/// The order of two values; None for a NaN.
pub fn order(a: &Value, b: &Value) -> Result<Option<Ordering>> {
    check_defined(a)?;
    check_defined(b)?;
    if let (Some(x), Some(y)) = (a.as_int(), b.as_int()) {
        return Ok(Some(x.cmp(&y)));
    }
    if let (Some(x), Some(y)) = (a.as_number(), b.as_number()) {
        return Ok(x.partial_cmp(&y));
    }
    match (a, b) {
        (Value::Str(x), Value::Str(y)) => Ok(Some(x.cmp(y))),
        (Value::List(x), Value::List(y)) | (Value::Tuple(x), Value::Tuple(y)) => {
            for (x, y) in x.values.iter().zip(&y.values) {
                if !x.equals(y) {
                    return order(x, y);
                }
            }
            Ok(Some(x.values.len().cmp(&y.values.len())))
        }
        _ => fail(format!(
            "{} and {} have no order",
            a.type_name(),
            b.type_name()
        )),
    }
}

pub fn compare(op: CompareOp, a: &Value, b: &Value, budget: &mut Budget) -> Result<bool> {
    budget.read(a.weight().min(b.weight()))?;
    let ordered = |accept: fn(Ordering) -> bool| Ok(order(a, b)?.is_some_and(accept));
    match op {
        CompareOp::Equal => Ok(a.equals(b)),
        CompareOp::NotEqual => Ok(!a.equals(b)),
        CompareOp::Less => ordered(Ordering::is_lt),
        CompareOp::LessEqual => ordered(Ordering::is_le),
        CompareOp::Greater => ordered(Ordering::is_gt),
        CompareOp::GreaterEqual => ordered(Ordering::is_ge),
        CompareOp::In => contains(b, a, budget),
        CompareOp::NotIn => Ok(!contains(b, a, budget)?),
    }
}

/// `value in container`.
pub fn contains(container: &Value, value: &Value, budget: &mut Budget) -> Result<bool> {
    budget.read(container.weight())?;
    match container {
        Value::Str(text) => match value {
            Value::Str(part) => Ok(text.contains(&**part)),
            other => fail(format!(
                "'in' a string needs a string, not {}",
                other.type_name()
            )),
        },
        Value::Dict(dict) | Value::View(View::Keys, dict) => match value.key() {
            Some(key) => Ok(dict.get(&key).is_some()),
            None => fail(format!("a {} can't be a key", value.type_name())),
        },
        Value::Range(range) => Ok(value.as_int().is_some_and(|value| range.contains(value))),
        Value::List(items) | Value::Tuple(items) => {
            Ok(items.values.iter().any(|item| item.equals(value)))
        }
        other => {
            let items = iterate(other, budget)?;
            Ok(items.iter().any(|item| item.equals(value)))
        }
    }
}
