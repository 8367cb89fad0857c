//! The filters on numbers: abs, float, int, round.

use crate::error::Result;

use super::arguments::{fail, optional_int, optional_str, to_usize, Arguments};
use super::budget::Budget;
use super::operators::undefined_error;
use super::strings;
use super::value::Value;

pub fn apply(name: &str, value: Value, args: Arguments, budget: &mut Budget) -> Result<Value> {
    match name {
        "abs" => {
            let [] = args.bind(name, [], 0)?;
            match &value {
                Value::Float(number) => Ok(Value::Float(number.abs())),
                other => match other.as_int().and_then(i128::checked_abs) {
                    Some(number) => Ok(Value::Int(number)),
                    None => fail(format!("abs needs a number, not {}", other.type_name())),
                },
            }
        }
        "float" => {
            let [default] = args.bind(name, ["default"], 0)?;
            if let Value::Undefined(what) = &value {
                return undefined_error(what);
            }
            let default = default.unwrap_or(Value::Float(0.0));
            Ok(parse_float(&value).map_or(default, Value::Float))
        }
        "int" => {
            let [default, base] = args.bind(name, ["default", "base"], 0)?;
            let base = optional_int(base, "int: base")?.unwrap_or(10);
            if let Value::Undefined(what) = &value {
                return undefined_error(what);
            }
            let default = default.unwrap_or(Value::Int(0));
            Ok(parse_int(&value, base).map_or(default, Value::Int))
        }
        _ => round(value, args, budget),
    }
}

/// float(value) as Python reads it.
fn parse_float(value: &Value) -> Option<f64> {
    let Value::Str(text) = value else {
        return value.as_number();
    };
    let text = strings::strip(text, None, true, true);
    let has_digit = text.bytes().any(|b| b.is_ascii_digit());
    let word = text.trim_start_matches(['+', '-']).to_ascii_lowercase();
    let is_word = matches!(word.as_str(), "inf" | "infinity" | "nan");
    if !has_digit && !is_word {
        return None;
    }
    without_underscores(text)?.parse().ok()
}

/// Underscores may stand between digits.
fn without_underscores(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    for (i, byte) in bytes.iter().enumerate() {
        let is_digit = |at: Option<usize>| {
            at.and_then(|at| bytes.get(at))
                .is_some_and(u8::is_ascii_alphanumeric)
        };
        if *byte == b'_' && !(is_digit(i.checked_sub(1)) && is_digit(Some(i + 1))) {
            return None;
        }
    }
    Some(text.replace('_', ""))
}

/// int(value, base), else int(float(value)).
fn parse_int(value: &Value, base: i128) -> Option<i128> {
    if let Value::Str(text) = value {
        if let Some(number) = parse_int_text(text, base) {
            return Some(number);
        }
    }
    if let Some(number) = value.as_int() {
        return Some(number);
    }
    let number = parse_float(value)?;
    (number.is_finite() && number.abs() < 1e38).then_some(number as i128)
}

fn parse_int_text(text: &str, base: i128) -> Option<i128> {
    let text = strings::strip(text, None, true, true);
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let sign = if text.starts_with('-') { "-" } else { "" };
    let head = unsigned.get(..2).unwrap_or("").to_ascii_lowercase();
    let prefixed = match head.as_str() {
        "0x" => Some(16),
        "0o" => Some(8),
        "0b" => Some(2),
        _ => None,
    };
    let (digits, radix) = match prefixed {
        Some(radix) if base == radix || base == 0 => (&unsigned[2..], radix),
        _ => (unsigned, if base == 0 { 10 } else { base }),
    };
    let digits = without_underscores(digits)?;
    let radix = u32::try_from(radix)
        .ok()
        .filter(|radix| (2..=36).contains(radix))?;
    if digits.starts_with(['+', '-']) {
        return None;
    }
    i128::from_str_radix(&format!("{sign}{digits}"), radix).ok()
}

fn round(value: Value, args: Arguments, budget: &mut Budget) -> Result<Value> {
    let [precision, method] = args.bind("round", ["precision", "method"], 0)?;
    let precision = optional_int(precision, "round: precision")?.unwrap_or(0);
    let method = optional_str(method, "round: method")?;
    let method = method.as_deref().unwrap_or("common");
    let Some(number) = value.as_number() else {
        return fail(format!("round needs a number, not {}", value.type_name()));
    };
    let places = i32::try_from(precision.clamp(-400, 400)).unwrap_or(0);
    if method == "common" {
        if let Some(integer) = value.as_int().filter(|_| places >= 0) {
            return Ok(Value::Int(integer));
        }
        budget.build(to_usize(places.into()) + 400)?;
        return Ok(Value::Float(round_half_even(number, places)));
    }
    let scale = 10f64.powi(places);
    let scaled = match method {
        "ceil" => (number * scale).ceil(),
        "floor" => (number * scale).floor(),
        _ => return fail("round: the method must be common, ceil or floor"),
    };
    Ok(Value::Float(scaled / scale))
}

/// Rounds the number's exact decimal value, as Python does.
fn round_half_even(number: f64, places: i32) -> f64 {
    if !number.is_finite() {
        return number;
    }
    if places >= 0 {
        let places = to_usize(places.into());
        return format!("{number:.places$}").parse().unwrap_or(number);
    }
    let scale = 10f64.powi(-places);
    (number / scale).round_ties_even() * scale
}
