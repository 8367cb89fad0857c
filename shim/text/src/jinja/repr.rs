//! How Python prints values: str() and repr().

use std::fmt::Write;

use crate::error::Result;

use super::budget::Budget;
use super::value::{Dict, Value, View};

/// repr() of a float: the shortest digits that read back as the same number,
/// with an exponent below 1e-4 and from 1e16 on.
pub fn float(value: f64) -> String {
    if value.is_nan() {
        return "nan".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.into();
    }
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        let mut text = value.to_string();
        if !text.contains('.') {
            text.push_str(".0");
        }
        return text;
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// Whether Python prints `c` as it is. Rust's escape_debug knows the same
/// categories; behind another character it leaves combining marks alone, too.
pub fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return (' '..='~').contains(&c);
    }
    let mut text = String::from("a");
    text.push(c);
    text.escape_debug().eq(text.chars())
}

fn push_string(text: &str, out: &mut String) {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    out.push(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if c == quote => {
                out.push('\\');
                out.push(c);
            }
            _ if is_printable(c) => out.push(c),
            _ => {
                // Writing to a String can't fail.
                let code = u32::from(c);
                let _ = match code {
                    0..=0xff => write!(out, "\\x{code:02x}"),
                    0x100..=0xffff => write!(out, "\\u{code:04x}"),
                    _ => write!(out, "\\U{code:08x}"),
                };
            }
        }
    }
    out.push(quote);
}

fn push_items<'v>(values: impl Iterator<Item = &'v Value>, ends: [&str; 2], out: &mut String) {
    out.push_str(ends[0]);
    for (i, value) in values.enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        push_repr(value, out);
    }
    out.push_str(ends[1]);
}

fn push_dict(dict: &Dict, out: &mut String) {
    out.push('{');
    for (i, (key, value)) in dict.entries.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        push_repr(key, out);
        out.push_str(": ");
        push_repr(value, out);
    }
    out.push('}');
}

fn push_view(view: View, dict: &Dict, out: &mut String) {
    let name = match view {
        View::Keys => "dict_keys([",
        View::Values => "dict_values([",
        View::Items => "dict_items([",
    };
    push_items(dict.view(view).iter(), [name, "])"], out);
}

fn push_repr(value: &Value, out: &mut String) {
    match value {
        Value::Undefined(_) => out.push_str("Undefined"),
        Value::None => out.push_str("None"),
        Value::Bool(value) => out.push_str(if *value { "True" } else { "False" }),
        Value::Int(value) => out.push_str(&value.to_string()),
        Value::Float(value) => out.push_str(&float(*value)),
        Value::Str(text) => push_string(text, out),
        Value::List(items) => push_items(items.values.iter(), ["[", "]"], out),
        Value::Tuple(items) => {
            let end = if items.values.len() == 1 { ",)" } else { ")" };
            push_items(items.values.iter(), ["(", end], out);
        }
        Value::Dict(dict) => push_dict(dict, out),
        Value::View(view, dict) => push_view(*view, dict, out),
        Value::Range(range) => {
            let step = if range.step == 1 {
                String::new()
            } else {
                format!(", {}", range.step)
            };
            out.push_str(&format!("range({}, {}{step})", range.start, range.stop));
        }
        // What a namespace holds may hold the namespace.
        Value::Namespace(_) => out.push_str("<Namespace>"),
        _ => out.push_str(&format!("<{}>", value.type_name())),
    }
}

/// repr(value).
pub fn repr(value: &Value, budget: &mut Budget) -> Result<String> {
    budget.build(value.weight())?;
    let mut out = String::new();
    push_repr(value, &mut out);
    Ok(out)
}

/// str(value).
pub fn text(value: &Value, budget: &mut Budget) -> Result<String> {
    match value {
        Value::Undefined(_) => Ok(String::new()),
        Value::Str(text) => {
            budget.build(text.len())?;
            Ok(text.to_string())
        }
        _ => repr(value, budget),
    }
}
