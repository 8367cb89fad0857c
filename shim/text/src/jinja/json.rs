//! The filter "tojson": Python's json.dumps as Hugging Face calls it.

use std::fmt::Write;

use crate::error::Result;

use super::arguments::{fail, optional_int, Arguments};
use super::budget::Budget;
use super::repr;
use super::text;
use super::value::{Dict, Value};

struct Style {
    escapes_non_ascii: bool,
    indent: Option<String>,
    item_separator: String,
    key_separator: String,
    sorts_keys: bool,
}

pub fn dumps(value: &Value, args: Arguments, budget: &mut Budget) -> Result<String> {
    let style = style(args, budget)?;
    let mut out = String::new();
    push(value, &style, 0, budget, &mut out)?;
    Ok(out)
}

fn style(args: Arguments, budget: &mut Budget) -> Result<Style> {
    let names = ["ensure_ascii", "indent", "separators", "sort_keys"];
    let [ascii, indent, separators, sorts] = args.bind("tojson", names, 0)?;
    let indent = match indent {
        Some(Value::Str(text)) => Some(text.to_string()),
        other => match optional_int(other, "tojson: indent")? {
            Some(width) => {
                let width = super::arguments::to_usize(width);
                budget.build(width)?;
                Some(" ".repeat(width))
            }
            None => None,
        },
    };
    let item_separator = if indent.is_some() { "," } else { ", " };
    let mut style = Style {
        escapes_non_ascii: ascii.is_some_and(|flag| flag.is_true()),
        indent,
        item_separator: item_separator.into(),
        key_separator: ": ".into(),
        sorts_keys: sorts.is_some_and(|flag| flag.is_true()),
    };
    if let Some(Value::Tuple(pair) | Value::List(pair)) = separators {
        let [Value::Str(item), Value::Str(key)] = &pair.values[..] else {
            return fail("tojson: separators must be two strings");
        };
        style.item_separator = item.to_string();
        style.key_separator = key.to_string();
    }
    Ok(style)
}

fn push(
    value: &Value,
    style: &Style,
    level: usize,
    budget: &mut Budget,
    out: &mut String,
) -> Result<()> {
    budget.step()?;
    match value {
        Value::None => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Int(value) => out.push_str(&value.to_string()),
        Value::Float(value) => out.push_str(&float(*value)),
        Value::Str(text) => push_string(text, style, budget, out)?,
        Value::List(items) | Value::Tuple(items) => {
            let mut list = Container::open('[', ']', style, level, out);
            for item in &items.values {
                list.next(budget, out)?;
                push(item, style, level + 1, budget, out)?;
            }
            list.close(budget, out)?;
        }
        Value::Dict(dict) => push_dict(dict, style, level, budget, out)?,
        other => {
            return fail(format!(
                "tojson: {} is not JSON serializable",
                other.type_name()
            ));
        }
    }
    Ok(())
}

fn push_dict(
    dict: &Dict,
    style: &Style,
    level: usize,
    budget: &mut Budget,
    out: &mut String,
) -> Result<()> {
    let mut entries: Vec<&(Value, Value)> = dict.entries.iter().collect();
    if style.sorts_keys {
        let is_text = entries.iter().all(|(key, _)| key.as_str().is_some());
        if !is_text {
            return fail("tojson: only string keys can be sorted");
        }
        entries.sort_by(|a, b| a.0.as_str().cmp(&b.0.as_str()));
    }
    let mut list = Container::open('{', '}', style, level, out);
    for (key, value) in entries {
        list.next(budget, out)?;
        push_string(&key_text(key)?, style, budget, out)?;
        out.push_str(&style.key_separator);
        push(value, style, level + 1, budget, out)?;
    }
    list.close(budget, out)
}

fn key_text(key: &Value) -> Result<String> {
    Ok(match key {
        Value::Str(text) => text.to_string(),
        Value::None => "null".into(),
        Value::Bool(value) => if *value { "true" } else { "false" }.into(),
        Value::Int(value) => value.to_string(),
        Value::Float(value) => float(*value),
        other => return fail(format!("tojson: a key can't be a {}", other.type_name())),
    })
}

fn float(value: f64) -> String {
    match repr::float(value).as_str() {
        "nan" => "NaN".into(),
        "inf" => "Infinity".into(),
        "-inf" => "-Infinity".into(),
        text => text.into(),
    }
}

/// The brackets, separators and indents of a list or dict.
struct Container<'s> {
    style: &'s Style,
    level: usize,
    end: char,
    is_empty: bool,
}

impl<'s> Container<'s> {
    fn open(begin: char, end: char, style: &'s Style, level: usize, out: &mut String) -> Self {
        out.push(begin);
        Container {
            style,
            level,
            end,
            is_empty: true,
        }
    }

    fn line(&self, level: usize, budget: &mut Budget, out: &mut String) -> Result<()> {
        if let Some(indent) = &self.style.indent {
            budget.build_many(level, indent.len())?;
            out.push('\n');
            out.push_str(&indent.repeat(level));
        }
        Ok(())
    }

    fn next(&mut self, budget: &mut Budget, out: &mut String) -> Result<()> {
        if !self.is_empty {
            budget.build(self.style.item_separator.len())?;
            out.push_str(&self.style.item_separator);
        }
        self.is_empty = false;
        self.line(self.level + 1, budget, out)
    }

    fn close(&self, budget: &mut Budget, out: &mut String) -> Result<()> {
        if !self.is_empty {
            self.line(self.level, budget, out)?;
        }
        out.push(self.end);
        Ok(())
    }
}

fn push_string(string: &str, style: &Style, budget: &mut Budget, out: &mut String) -> Result<()> {
    budget.build(string.len() + text::length(string))?;
    out.push('"');
    for c in string.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            '\0'..='\x1f' => push_escape(u16::try_from(u32::from(c)).unwrap_or(0), out),
            '\x7f'.. if style.escapes_non_ascii && !c.is_ascii() => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    push_escape(*unit, out);
                }
            }
            _ => out.push(c),
        }
    }
    out.push('"');
    Ok(())
}

fn push_escape(unit: u16, out: &mut String) {
    // Writing to a String can't fail.
    let _ = write!(out, "\\u{unit:04x}");
}
