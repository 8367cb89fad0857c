//! The tests behind `is`.

use crate::error::Result;

use super::arguments::{fail, Arguments};
use super::ast::{BinaryOp, CompareOp};
use super::budget::Budget;
use super::operators;
use super::repr;
use super::sequences::is_iterable;
use super::strings;
use super::value::{Range, Value};

const NAMES: [&str; 39] = [
    "boolean",
    "callable",
    "defined",
    "divisibleby",
    "escaped",
    "even",
    "false",
    "filter",
    "float",
    "in",
    "integer",
    "iterable",
    "lower",
    "mapping",
    "none",
    "number",
    "odd",
    "sameas",
    "sequence",
    "string",
    "test",
    "true",
    "undefined",
    "upper",
    "eq",
    "equalto",
    "==",
    "ne",
    "!=",
    "lt",
    "lessthan",
    "<",
    "le",
    "<=",
    "gt",
    "greaterthan",
    ">",
    "ge",
    ">=",
];

pub fn exists(name: &str) -> bool {
    NAMES.contains(&name)
}

fn comparison(name: &str) -> Option<CompareOp> {
    Some(match name {
        "eq" | "equalto" | "==" => CompareOp::Equal,
        "ne" | "!=" => CompareOp::NotEqual,
        "lt" | "lessthan" | "<" => CompareOp::Less,
        "le" | "<=" => CompareOp::LessEqual,
        "gt" | "greaterthan" | ">" => CompareOp::Greater,
        "ge" | ">=" => CompareOp::GreaterEqual,
        "in" => CompareOp::In,
        _ => return None,
    })
}

pub fn check(value: &Value, name: &str, args: Arguments, budget: &mut Budget) -> Result<bool> {
    if let Some(op) = comparison(name) {
        let [other] = args.bind(name, ["other"], 1)?;
        return operators::compare(op, value, &other.unwrap_or(Value::None), budget);
    }
    match name {
        "divisibleby" => {
            let [divisor] = args.bind(name, ["num"], 1)?;
            return is_divisible(value, &divisor.unwrap_or(Value::None), budget);
        }
        "sameas" => {
            let [other] = args.bind(name, ["other"], 1)?;
            return Ok(value.is_same(&other.unwrap_or(Value::None)));
        }
        "odd" | "even" => {
            let remainder = operators::binary(BinaryOp::Modulo, value, &Value::Int(2), budget)?;
            let wanted = i128::from(name == "odd");
            return Ok(remainder.equals(&Value::Int(wanted)));
        }
        _ => {}
    }
    if !exists(name) {
        return fail(format!("there is no test '{name}'"));
    }
    let [] = args.bind(name, [], 0)?;
    if matches!(name, "lower" | "upper") {
        let text = repr::text(value, budget)?;
        return Ok(strings::is_all(&text, &format!("is{name}")));
    }
    Ok(is_a(value, name))
}

fn is_divisible(value: &Value, divisor: &Value, budget: &mut Budget) -> Result<bool> {
    let remainder = operators::binary(BinaryOp::Modulo, value, divisor, budget)?;
    Ok(remainder.equals(&Value::Int(0)))
}

fn is_a(value: &Value, name: &str) -> bool {
    match name {
        "defined" => !value.is_undefined(),
        "undefined" => value.is_undefined(),
        "none" => matches!(value, Value::None),
        "boolean" => matches!(value, Value::Bool(_)),
        "true" => matches!(value, Value::Bool(true)),
        "false" => matches!(value, Value::Bool(false)),
        "integer" => matches!(value, Value::Int(_)),
        "float" => matches!(value, Value::Float(_)),
        "number" => value.as_number().is_some(),
        "string" => value.as_str().is_some(),
        "mapping" => matches!(value, Value::Dict(_)),
        "iterable" => is_iterable(value),
        // What has a length and can be indexed; a dict has and can, too.
        "sequence" => matches!(
            value,
            Value::Undefined(_)
                | Value::Str(_)
                | Value::List(_)
                | Value::Tuple(_)
                | Value::Dict(_)
                | Value::Range(Range { .. })
        ),
        "callable" => matches!(
            value,
            Value::Undefined(_) | Value::Macro(_) | Value::Method(_) | Value::Function(_)
        ),
        "filter" => value
            .as_str()
            .is_some_and(|name| super::filters::exists(name)),
        "test" => value.as_str().is_some_and(|name| exists(name)),
        // Nothing here is marked as escaped markup.
        _ => false,
    }
}
