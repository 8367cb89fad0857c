//! The methods of str.

use std::rc::Rc;

use crate::error::Result;

use super::arguments::{fail, need_int, need_str, optional_int, optional_str, to_usize, Arguments};
use super::budget::Budget;
use super::formatting;
use super::sequences::iterate;
use super::text::{self, is_space};
use super::value::Value;

/// Names that `attributes` turns into bound methods.
pub const METHODS: [&str; 38] = [
    "upper",
    "lower",
    "casefold",
    "title",
    "capitalize",
    "swapcase",
    "strip",
    "lstrip",
    "rstrip",
    "split",
    "rsplit",
    "splitlines",
    "partition",
    "rpartition",
    "startswith",
    "endswith",
    "replace",
    "find",
    "rfind",
    "index",
    "rindex",
    "count",
    "join",
    "isalpha",
    "isalnum",
    "isdigit",
    "isdecimal",
    "isnumeric",
    "isspace",
    "isupper",
    "islower",
    "center",
    "ljust",
    "rjust",
    "zfill",
    "format",
    "removeprefix",
    "removesuffix",
];

pub fn call(text: &Rc<str>, name: &str, args: Arguments, budget: &mut Budget) -> Result<Value> {
    budget.build(text.len())?;
    match name {
        "split" => return split(text, args, false, budget),
        "rsplit" => return split(text, args, true, budget),
        "splitlines" => return split_lines(text, args, budget),
        "partition" | "rpartition" => return partition(text, name, args),
        "startswith" | "endswith" => return affix(text, name, args).map(Value::Bool),
        "find" | "rfind" | "index" | "rindex" => return find(text, name, args),
        "count" => return count(text, args),
        _ => {}
    }
    if name.starts_with("is") {
        let [] = args.bind(name, [], 0)?;
        return Ok(Value::Bool(is_all(text, name)));
    }
    transformed(text, name, args, budget).map(Value::str)
}

/// Methods that give a string.
fn transformed(text: &Rc<str>, name: &str, args: Arguments, budget: &mut Budget) -> Result<String> {
    match name {
        "strip" | "lstrip" | "rstrip" => {
            let [chars] = args.bind(name, ["chars"], 0)?;
            let chars = optional_str(chars, name)?;
            Ok(strip(text, chars.as_deref(), name != "rstrip", name != "lstrip").to_string())
        }
        "replace" => {
            let [old, new, count] = args.bind(name, ["old", "new", "count"], 2)?;
            let old = need_str(&old.unwrap_or(Value::None), "replace: old")?;
            let new = need_str(&new.unwrap_or(Value::None), "replace: new")?;
            replace(
                text,
                &old,
                &new,
                optional_int(count, "replace: count")?,
                budget,
            )
        }
        "join" => {
            let [items] = args.bind(name, ["iterable"], 1)?;
            join(text, &items.unwrap_or(Value::None), budget)
        }
        "center" | "ljust" | "rjust" => {
            let [width, fill] = args.bind(name, ["width", "fillchar"], 1)?;
            let width = need_int(&width.unwrap_or(Value::None), "width")?;
            let fill = optional_str(fill, "fillchar")?;
            justify(
                text,
                name,
                to_usize(width),
                fill.as_deref().unwrap_or(" "),
                budget,
            )
        }
        "zfill" => {
            let [width] = args.bind(name, ["width"], 1)?;
            let width = to_usize(need_int(&width.unwrap_or(Value::None), "width")?);
            let missing = width.saturating_sub(text::length(text));
            budget.build(missing)?;
            let signed = text.strip_prefix(['+', '-']);
            let sign = &text[..text.len() - signed.unwrap_or(text).len()];
            Ok(format!(
                "{sign}{}{}",
                "0".repeat(missing),
                &text[sign.len()..]
            ))
        }
        "format" => formatting::braces(text, &args, budget),
        "removeprefix" | "removesuffix" => {
            let [affix] = args.bind(name, ["affix"], 1)?;
            let affix = need_str(&affix.unwrap_or(Value::None), name)?;
            let cut = if name == "removeprefix" {
                text.strip_prefix(&*affix)
            } else {
                text.strip_suffix(&*affix)
            };
            Ok(cut.unwrap_or(text).to_string())
        }
        _ => {
            let [] = args.bind(name, [], 0)?;
            Ok(cased(text, name))
        }
    }
}

fn cased(text: &str, name: &str) -> String {
    match name {
        "upper" => text.to_uppercase(),
        "title" => text::title(text),
        "capitalize" => text::capitalize(text),
        "swapcase" => text::swap_case(text),
        // Full case folding differs from lower case in the sharp s alone among
        // letters in use.
        "casefold" => text.to_lowercase().replace('ß', "ss"),
        _ => text.to_lowercase(),
    }
}

pub fn strip<'t>(text: &'t str, chars: Option<&str>, left: bool, right: bool) -> &'t str {
    let is_cut = |c: char| chars.map_or_else(|| is_space(c), |chars| chars.contains(c));
    let text = if left {
        text.trim_start_matches(is_cut)
    } else {
        text
    };
    if right {
        text.trim_end_matches(is_cut)
    } else {
        text
    }
}

pub fn replace(
    text: &str,
    old: &str,
    new: &str,
    count: Option<i128>,
    budget: &mut Budget,
) -> Result<String> {
    let found = if old.is_empty() {
        text::length(text) + 1
    } else {
        text.matches(old).count()
    };
    let limit = match count {
        Some(count) if count >= 0 => found.min(to_usize(count)),
        _ => found,
    };
    budget.build_many(limit, new.len())?;
    budget.build(text.len())?;
    Ok(text.replacen(old, new, limit))
}

fn join(separator: &str, items: &Value, budget: &mut Budget) -> Result<String> {
    let items = iterate(items, budget)?;
    let mut parts = Vec::with_capacity(items.len());
    for (i, item) in items.iter().enumerate() {
        let Value::Str(part) = item else {
            return fail(format!(
                "join: element {i} must be a string, not {}",
                item.type_name()
            ));
        };
        budget.build(part.len() + separator.len())?;
        parts.push(&**part);
    }
    Ok(parts.join(separator))
}

pub fn justify(
    text: &str,
    name: &str,
    width: usize,
    fill: &str,
    budget: &mut Budget,
) -> Result<String> {
    if text::length(fill) != 1 {
        return fail(format!("{name}: the fill character must be one character"));
    }
    let missing = width.saturating_sub(text::length(text));
    budget.build_many(missing, fill.len())?;
    let left = match name {
        "ljust" => 0,
        "rjust" => missing,
        // Python puts the odd one to the left when the width is odd, too.
        _ => missing / 2 + (missing & width & 1),
    };
    Ok(format!(
        "{}{text}{}",
        fill.repeat(left),
        fill.repeat(missing - left)
    ))
}

fn strings(parts: Vec<&str>, budget: &mut Budget) -> Result<Value> {
    budget.build_items(parts.len())?;
    Ok(Value::list(parts.into_iter().map(Value::str).collect()))
}

/// Splits at white space; from the right if asked to.
fn split_space(text: &str, limit: usize, from_right: bool) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    loop {
        rest = strip(rest, None, !from_right, from_right);
        if rest.is_empty() {
            break;
        }
        let end = if from_right {
            rest.rfind(is_space)
        } else {
            rest.find(is_space)
        };
        let Some(at) = end.filter(|_| parts.len() < limit) else {
            parts.push(rest);
            break;
        };
        if from_right {
            let after = at + rest[at..].chars().next().map_or(0, char::len_utf8);
            parts.push(&rest[after..]);
            rest = &rest[..at];
        } else {
            parts.push(&rest[..at]);
            rest = &rest[at..];
        }
    }
    if from_right {
        parts.reverse();
    }
    parts
}

fn split(text: &str, args: Arguments, from_right: bool, budget: &mut Budget) -> Result<Value> {
    let [separator, limit] = args.bind("split", ["sep", "maxsplit"], 0)?;
    let separator = optional_str(separator, "split: sep")?;
    let limit = optional_int(limit, "split: maxsplit")?.unwrap_or(-1);
    let limit = if limit < 0 {
        usize::MAX - 1
    } else {
        to_usize(limit)
    };
    let Some(separator) = separator else {
        return strings(split_space(text, limit, from_right), budget);
    };
    if separator.is_empty() {
        return fail("split: the separator is empty");
    }
    let parts = if from_right {
        let mut parts: Vec<&str> = text.rsplitn(limit + 1, &*separator).collect();
        parts.reverse();
        parts
    } else {
        text.splitn(limit + 1, &*separator).collect()
    };
    strings(parts, budget)
}

fn split_lines(text: &str, args: Arguments, budget: &mut Budget) -> Result<Value> {
    let [keeps] = args.bind("splitlines", ["keepends"], 0)?;
    let keeps = keeps.is_some_and(|keeps| keeps.is_true());
    strings(text::lines(text, keeps), budget)
}

fn partition(text: &str, name: &str, args: Arguments) -> Result<Value> {
    let [separator] = args.bind(name, ["sep"], 1)?;
    let separator = need_str(&separator.unwrap_or(Value::None), name)?;
    if separator.is_empty() {
        return fail(format!("{name}: the separator is empty"));
    }
    let (found, otherwise) = if name == "partition" {
        (text.split_once(&*separator), [text, "", ""])
    } else {
        (text.rsplit_once(&*separator), ["", "", text])
    };
    let parts = found.map_or(otherwise, |(before, after)| [before, &separator, after]);
    Ok(Value::tuple(parts.into_iter().map(Value::str).collect()))
}

/// The part of `text` between two character positions, which count from the
/// end when negative; None if they lie crosswise. And its first position.
fn window(text: &str, start: Option<Value>, end: Option<Value>) -> Result<Option<(&str, usize)>> {
    let length = text::length(text) as i128;
    let clamp = |position: i128| {
        let position = if position < 0 {
            position.saturating_add(length)
        } else {
            position
        };
        position.max(0)
    };
    let start = clamp(optional_int(start, "start")?.unwrap_or(0));
    let end = clamp(optional_int(end, "end")?.unwrap_or(length)).min(length);
    if start > end {
        return Ok(None);
    }
    let from = text::offset(text, to_usize(start));
    let to = text::offset(text, to_usize(end));
    Ok(Some((&text[from..to], to_usize(start))))
}

fn affix(text: &str, name: &str, args: Arguments) -> Result<bool> {
    let [affix, start, end] = args.bind(name, ["affix", "start", "end"], 1)?;
    let candidates = match affix.unwrap_or(Value::None) {
        Value::Tuple(items) => items.values.clone(),
        single => vec![single],
    };
    let window = window(text, start, end)?;
    let mut is_found = false;
    for candidate in candidates {
        let candidate = need_str(&candidate, name)?;
        is_found |= window.is_some_and(|(part, _)| {
            if name == "startswith" {
                part.starts_with(&*candidate)
            } else {
                part.ends_with(&*candidate)
            }
        });
    }
    Ok(is_found)
}

fn find(text: &str, name: &str, args: Arguments) -> Result<Value> {
    let [needle, start, end] = args.bind(name, ["sub", "start", "end"], 1)?;
    let needle = need_str(&needle.unwrap_or(Value::None), name)?;
    let found = window(text, start, end)?.and_then(|(part, first)| {
        let at = if name.starts_with('r') {
            part.rfind(&*needle)
        } else {
            part.find(&*needle)
        };
        at.map(|at| (first + text::length(&part[..at])) as i128)
    });
    match found {
        Some(at) => Ok(Value::Int(at)),
        None if name.ends_with("index") => fail(format!("{name}: substring not found")),
        None => Ok(Value::Int(-1)),
    }
}

fn count(text: &str, args: Arguments) -> Result<Value> {
    let [needle, start, end] = args.bind("count", ["sub", "start", "end"], 1)?;
    let needle = need_str(&needle.unwrap_or(Value::None), "count")?;
    let found = window(text, start, end)?.map_or(0, |(part, _)| {
        if needle.is_empty() {
            text::length(part) + 1
        } else {
            part.matches(&*needle).count()
        }
    });
    Ok(Value::Int(found as i128))
}

fn is_superscript_digit(c: char) -> bool {
    matches!(c, '²' | '³' | '¹' | '⁰' | '⁴'..='⁹' | '₀'..='₉')
}

/// Decimal digits of any script: numeric, and one of ten in a row that starts
/// at a multiple of its script's block.
fn is_decimal(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_digit();
    }
    // General category Nd, by the first digit of each script in use.
    const ZEROS: [u32; 24] = [
        0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xe50,
        0xed0, 0xf20, 0x1040, 0x17e0, 0x1810, 0x1946, 0x19d0, 0x1b50, 0xa620, 0xa8d0, 0xff10,
    ];
    let code = u32::from(c);
    ZEROS.iter().any(|zero| (*zero..zero + 10).contains(&code))
}

fn is_letter(c: char) -> bool {
    // Letter numbers (Ⅷ) are alphabetic to Unicode, but no letters to Python.
    c.is_alphabetic() && !c.is_numeric()
}

pub fn is_all(text: &str, name: &str) -> bool {
    let all = |test: fn(char) -> bool| !text.is_empty() && text.chars().all(test);
    match name {
        "isalpha" => all(is_letter),
        "isalnum" => all(|c| is_letter(c) || c.is_numeric()),
        "isdecimal" => all(is_decimal),
        "isdigit" => all(|c| is_decimal(c) || is_superscript_digit(c)),
        "isnumeric" => all(char::is_numeric),
        "isspace" => all(is_space),
        "isupper" => {
            text.chars().any(char::is_uppercase)
                && !text.chars().any(|c| c.is_lowercase() || text::is_title(c))
        }
        _ => {
            text.chars().any(char::is_lowercase)
                && !text.chars().any(|c| c.is_uppercase() || text::is_title(c))
        }
    }
}
