//! The filters.

use std::cmp::Ordering;

use crate::error::{Code, Error, Result};

use super::arguments::{fail, need_int, need_str, optional_int, optional_str, to_usize, Arguments};
use super::ast::BinaryOp;
use super::ast::Name;
use super::attributes;
use super::budget::Budget;
use super::formatting;
use super::json;
use super::machine::Machine;
use super::operators::{self, undefined_error};
use super::predicates;
use super::repr;
use super::sequences::{self, iterate, new_list, new_str, new_stream, new_tuple};
use super::strings;
use super::text;
use super::value::{Value, View};

const NAMES: [&str; 42] = [
    "abs",
    "attr",
    "capitalize",
    "center",
    "count",
    "d",
    "default",
    "dictsort",
    "e",
    "escape",
    "first",
    "float",
    "format",
    "indent",
    "int",
    "items",
    "join",
    "last",
    "length",
    "list",
    "lower",
    "map",
    "max",
    "min",
    "reject",
    "rejectattr",
    "replace",
    "reverse",
    "round",
    "safe",
    "select",
    "selectattr",
    "sort",
    "string",
    "sum",
    "title",
    "tojson",
    "trim",
    "truncate",
    "unique",
    "upper",
    "wordcount",
];

/// Filters of jinja2 that no chat template was seen to use.
const REFUSED: [&str; 12] = [
    "batch",
    "filesizeformat",
    "forceescape",
    "groupby",
    "pprint",
    "random",
    "slice",
    "striptags",
    "urlencode",
    "urlize",
    "wordwrap",
    "xmlattr",
];

pub fn exists(name: &str) -> bool {
    NAMES.contains(&name)
}

pub fn apply(name: &Name, value: Value, args: Arguments, machine: &mut Machine) -> Result<Value> {
    if REFUSED.contains(&&**name) {
        return Err(Error::new(
            Code::Unsupported,
            format!("the filter '{name}' is not supported"),
        ));
    }
    match &**name {
        "default" | "d" => default(value, args),
        "tojson" => {
            let text = json::dumps(&value, args, &mut machine.budget)?;
            Ok(Value::str(text))
        }
        "map" => map(value, args, machine),
        "select" | "reject" | "selectattr" | "rejectattr" => select(name, value, args, machine),
        "sort" | "min" | "max" | "unique" | "dictsort" => ordering(name, value, args, machine),
        "sum" => sum(value, args, machine),
        "join" => join(value, args, machine),
        "attr" => {
            let [attribute] = args.bind(name, ["name"], 1)?;
            let attribute = need_str(&attribute.unwrap_or(Value::None), "attr")?;
            attributes::attribute(&value, &Name::from(&*attribute), machine)
        }
        "abs" | "float" | "int" | "round" => numeric(name, value, args, &mut machine.budget),
        "count" | "first" | "items" | "last" | "length" | "list" | "reverse" => {
            sequence(name, value, args, &mut machine.budget)
        }
        _ => textual(name, value, args, &mut machine.budget),
    }
}

fn default(value: Value, args: Arguments) -> Result<Value> {
    let [other, counts_false] = args.bind("default", ["default_value", "boolean"], 0)?;
    let counts_false = counts_false.is_some_and(|flag| flag.is_true());
    if value.is_undefined() || (counts_false && !value.is_true()) {
        return Ok(other.unwrap_or_else(|| Value::str("")));
    }
    Ok(value)
}

// --- sequences ------------------------------------------------------------------

fn sequence(name: &str, value: Value, args: Arguments, budget: &mut Budget) -> Result<Value> {
    let [] = args.bind(name, [], 0)?;
    match name {
        "length" | "count" => match sequences::length(&value) {
            Some(length) => {
                budget.read(length)?;
                Ok(Value::Int(length as i128))
            }
            None => fail(format!("a {} has no length", value.type_name())),
        },
        "list" => {
            let values = iterate(&value, budget)?;
            new_list(values, budget)
        }
        "items" => match &value {
            Value::Undefined(_) => new_stream(Vec::new(), budget),
            Value::Dict(dict) => new_stream(dict.view(View::Items), budget),
            other => fail(format!("items needs a dict, not {}", other.type_name())),
        },
        "reverse" => match &value {
            Value::Str(text) => new_str(text.chars().rev().collect(), budget),
            other => {
                let values = sequences::reversed(other, budget)?;
                new_stream(values, budget)
            }
        },
        _ => {
            if name == "last" && matches!(value, Value::Stream(_)) {
                return fail("last: a generator can't be reversed");
            }
            let values = iterate(&value, budget)?;
            let found = if name == "first" {
                values.first()
            } else {
                values.last()
            };
            let nothing = || Value::undefined(format!("there is no {name} item: it is empty"));
            Ok(found.cloned().unwrap_or_else(nothing))
        }
    }
}

/// The member that the path `attribute` ("a.b", or an index) names.
fn member(
    value: &Value,
    attribute: &Value,
    default: Option<&Value>,
    machine: &mut Machine,
) -> Result<Value> {
    let parts: Vec<Value> = match attribute {
        Value::Str(path) => path
            .split('.')
            .map(|part| {
                let is_index = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
                match part.parse::<i128>() {
                    Ok(index) if is_index => Value::Int(index),
                    _ => Value::str(part),
                }
            })
            .collect(),
        Value::Int(_) => vec![attribute.clone()],
        other => {
            return fail(format!(
                "an attribute must be a string or integer, not {}",
                other.type_name()
            ));
        }
    };
    let mut found = value.clone();
    for part in &parts {
        machine.budget.step()?;
        found = attributes::item(&found, part, machine)?;
        if let (Value::Undefined(_), Some(default)) = (&found, default) {
            found = default.clone();
        }
    }
    Ok(found)
}

fn map(value: Value, mut args: Arguments, machine: &mut Machine) -> Result<Value> {
    let mut mapped = Vec::new();
    let values = iterate(&value, &mut machine.budget)?;
    if args.positional.is_empty() && !args.named.is_empty() {
        let [attribute, default] = args.bind("map", ["attribute", "default"], 1)?;
        let attribute = attribute.unwrap_or(Value::None);
        for value in &values {
            mapped.push(member(value, &attribute, default.as_ref(), machine)?);
        }
        return new_stream(mapped, &mut machine.budget);
    }
    if args.positional.is_empty() {
        return fail("map needs the name of a filter, or attribute=");
    }
    let filter = need_str(&args.positional.remove(0), "map: the filter's name")?;
    let filter = Name::from(&*filter);
    for value in values {
        machine.budget.step()?;
        let args = copy(&args, machine)?;
        mapped.push(apply(&filter, value, args, machine)?);
    }
    new_stream(mapped, &mut machine.budget)
}

fn copy(args: &Arguments, machine: &mut Machine) -> Result<Arguments> {
    machine
        .budget
        .build_items(args.positional.len() + 2 * args.named.len())?;
    Ok(Arguments {
        positional: args.positional.clone(),
        named: args.named.clone(),
    })
}

fn select(name: &str, value: Value, mut args: Arguments, machine: &mut Machine) -> Result<Value> {
    let wants = name.starts_with("select");
    let attribute = if name.ends_with("attr") {
        if args.positional.is_empty() {
            return fail(format!("{name} needs the name of an attribute"));
        }
        Some(args.positional.remove(0))
    } else {
        None
    };
    let test = if args.positional.is_empty() {
        None
    } else {
        Some(need_str(&args.positional.remove(0), name)?)
    };
    let mut selected = Vec::new();
    for value in iterate(&value, &mut machine.budget)? {
        machine.budget.step()?;
        let subject = match &attribute {
            Some(attribute) => member(&value, attribute, None, machine)?,
            None => value.clone(),
        };
        let passes = match &test {
            Some(test) => {
                let args = copy(&args, machine)?;
                predicates::check(&subject, test, args, &mut machine.budget)?
            }
            None => subject.is_true(),
        };
        if passes == wants {
            selected.push(value);
        }
    }
    new_stream(selected, &mut machine.budget)
}

fn sum(value: Value, args: Arguments, machine: &mut Machine) -> Result<Value> {
    let [attribute, start] = args.bind("sum", ["attribute", "start"], 0)?;
    let mut total = start.unwrap_or(Value::Int(0));
    for value in iterate(&value, &mut machine.budget)? {
        let value = match &attribute {
            None | Some(Value::None) => value,
            Some(attribute) => member(&value, attribute, None, machine)?,
        };
        if let (Value::Str(_), Value::Str(_)) = (&total, &value) {
            return fail("sum can't add strings; use join");
        }
        total = operators::binary(BinaryOp::Add, &total, &value, &mut machine.budget)?;
    }
    Ok(total)
}

fn join(value: Value, args: Arguments, machine: &mut Machine) -> Result<Value> {
    let [separator, attribute] = args.bind("join", ["d", "attribute"], 0)?;
    let separator = match separator {
        Some(separator) => repr::text(&separator, &mut machine.budget)?,
        None => String::new(),
    };
    let mut out = String::new();
    for (i, value) in iterate(&value, &mut machine.budget)?
        .into_iter()
        .enumerate()
    {
        if i > 0 {
            machine.budget.build(separator.len())?;
            out.push_str(&separator);
        }
        let value = match &attribute {
            None | Some(Value::None) => value,
            Some(attribute) => member(&value, attribute, None, machine)?,
        };
        out.push_str(&repr::text(&value, &mut machine.budget)?);
    }
    new_str(out, &mut machine.budget)
}

// --- order ----------------------------------------------------------------------

fn flag(value: Option<Value>) -> bool {
    value.is_some_and(|flag| flag.is_true())
}

/// What `value` is sorted by: itself or its members, strings in lower case
/// unless case counts.
fn sort_key(
    value: &Value,
    attribute: Option<&Value>,
    counts_case: bool,
    machine: &mut Machine,
) -> Result<Value> {
    let keys: Vec<Value> = match attribute {
        None | Some(Value::None) => vec![value.clone()],
        Some(Value::Str(names)) => {
            let mut keys = Vec::new();
            for name in names.split(',') {
                keys.push(member(value, &Value::str(name), None, machine)?);
            }
            keys
        }
        Some(attribute) => vec![member(value, attribute, None, machine)?],
    };
    let mut folded = Vec::with_capacity(keys.len());
    for key in keys {
        folded.push(match &key {
            Value::Str(text) if !counts_case => new_str(text.to_lowercase(), &mut machine.budget)?,
            _ => key,
        });
    }
    new_list(folded, &mut machine.budget)
}

fn keyed(
    values: Vec<Value>,
    attribute: Option<&Value>,
    counts_case: bool,
    machine: &mut Machine,
) -> Result<Vec<(Value, Value)>> {
    let mut pairs = Vec::with_capacity(values.len());
    for value in values {
        let key = sort_key(&value, attribute, counts_case, machine)?;
        pairs.push((key, value));
    }
    Ok(pairs)
}

/// Sorts by key and keeps the order of equals; the first failed comparison is
/// the result.
fn sort_pairs(pairs: &mut [(Value, Value)], is_reversed: bool, budget: &mut Budget) -> Result<()> {
    let mut failure = None;
    pairs.sort_by(|a, b| {
        let outcome = budget
            .read(a.0.weight().min(b.0.weight()) + 16)
            .and_then(|()| operators::order(&a.0, &b.0));
        match outcome {
            Ok(order) => {
                let order = order.unwrap_or(Ordering::Equal);
                if is_reversed {
                    order.reverse()
                } else {
                    order
                }
            }
            Err(error) => {
                failure.get_or_insert(error);
                Ordering::Equal
            }
        }
    });
    failure.map_or(Ok(()), Err)
}

fn ordering(name: &str, value: Value, args: Arguments, machine: &mut Machine) -> Result<Value> {
    match name {
        "sort" => {
            let names = ["reverse", "case_sensitive", "attribute"];
            let [reverse, case, attribute] = args.bind(name, names, 0)?;
            let values = iterate(&value, &mut machine.budget)?;
            let mut pairs = keyed(values, attribute.as_ref(), flag(case), machine)?;
            sort_pairs(&mut pairs, flag(reverse), &mut machine.budget)?;
            let values = pairs.into_iter().map(|(_, value)| value).collect();
            new_list(values, &mut machine.budget)
        }
        "dictsort" => dict_sort(value, args, machine),
        _ => {
            let [case, attribute] = args.bind(name, ["case_sensitive", "attribute"], 0)?;
            let values = iterate(&value, &mut machine.budget)?;
            let pairs = keyed(values, attribute.as_ref(), flag(case), machine)?;
            if name == "unique" {
                return unique(pairs, machine);
            }
            extreme(name, pairs, machine)
        }
    }
}

fn extreme(name: &str, pairs: Vec<(Value, Value)>, machine: &mut Machine) -> Result<Value> {
    let mut best: Option<(Value, Value)> = None;
    for pair in pairs {
        let is_better = match &best {
            None => true,
            Some((key, _)) => {
                machine
                    .budget
                    .read(key.weight().min(pair.0.weight()) + 16)?;
                let order = operators::order(&pair.0, key)?;
                order
                    == Some(if name == "max" {
                        Ordering::Greater
                    } else {
                        Ordering::Less
                    })
            }
        };
        if is_better {
            best = Some(pair);
        }
    }
    Ok(best.map_or_else(
        || Value::undefined(format!("there is no {name} item: it is empty")),
        |(_, value)| value,
    ))
}

fn unique(pairs: Vec<(Value, Value)>, machine: &mut Machine) -> Result<Value> {
    let mut seen = std::collections::HashSet::new();
    let mut values = Vec::new();
    for (key, value) in pairs {
        let Value::List(items) = &key else {
            continue;
        };
        let Some(hash) = Value::tuple(items.values.clone()).key() else {
            return fail(format!("unique: a {} can't be a key", value.type_name()));
        };
        if seen.insert(hash) {
            values.push(value);
        }
    }
    new_stream(values, &mut machine.budget)
}

fn dict_sort(value: Value, args: Arguments, machine: &mut Machine) -> Result<Value> {
    let [case, by, reverse] = args.bind("dictsort", ["case_sensitive", "by", "reverse"], 0)?;
    let Value::Dict(dict) = &value else {
        return fail(format!("dictsort needs a dict, not {}", value.type_name()));
    };
    let at = match optional_str(by, "dictsort: by")?.as_deref() {
        None | Some("key") => 0,
        Some("value") => 1,
        Some(_) => return fail("dictsort: by must be 'key' or 'value'"),
    };
    let entries = dict.view(View::Items);
    let mut pairs = keyed(entries, Some(&Value::Int(at)), flag(case), machine)?;
    sort_pairs(&mut pairs, flag(reverse), &mut machine.budget)?;
    let values = pairs.into_iter().map(|(_, value)| value).collect();
    new_list(values, &mut machine.budget)
}

// --- numbers --------------------------------------------------------------------

fn numeric(name: &str, value: Value, args: Arguments, budget: &mut Budget) -> Result<Value> {
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

// --- text -----------------------------------------------------------------------

fn textual(name: &str, value: Value, args: Arguments, budget: &mut Budget) -> Result<Value> {
    if !exists(name) {
        return fail(format!("there is no filter '{name}'"));
    }
    let subject = repr::text(&value, budget)?;
    budget.build(subject.len())?;
    let shown = match name {
        "trim" => {
            let [chars] = args.bind(name, ["chars"], 0)?;
            let chars = optional_str(chars, "trim: chars")?;
            strings::strip(&subject, chars.as_deref(), true, true).to_string()
        }
        "replace" => {
            let [old, new, count] = args.bind(name, ["old", "new", "count"], 2)?;
            let old = repr::text(&old.unwrap_or(Value::None), budget)?;
            let new = repr::text(&new.unwrap_or(Value::None), budget)?;
            let count = optional_int(count, "replace: count")?;
            strings::replace(&subject, &old, &new, count, budget)?
        }
        "indent" => indent(&subject, args, budget)?,
        "center" => {
            let [width] = args.bind(name, ["width"], 0)?;
            let width = optional_int(width, "center: width")?.unwrap_or(80);
            strings::justify(&subject, name, to_usize(width), " ", budget)?
        }
        "truncate" => truncate(&subject, args)?,
        "format" => format(&subject, args, budget)?,
        "wordcount" => {
            let [] = args.bind(name, [], 0)?;
            let is_word = |c: char| c == '_' || c.is_alphanumeric();
            let words = subject
                .split(|c| !is_word(c))
                .filter(|word| !word.is_empty());
            return Ok(Value::Int(words.count() as i128));
        }
        _ => {
            let [] = args.bind(name, [], 0)?;
            plain(name, subject)
        }
    };
    Ok(Value::str(shown))
}

/// Filters without arguments.
fn plain(name: &str, subject: String) -> String {
    match name {
        "upper" => subject.to_uppercase(),
        "lower" => subject.to_lowercase(),
        "title" => text::title_words(&subject),
        "capitalize" => text::capitalize(&subject),
        "e" | "escape" => subject
            .replace('&', "&amp;")
            .replace('>', "&gt;")
            .replace('<', "&lt;")
            .replace('\'', "&#39;")
            .replace('"', "&#34;"),
        // "string", and "safe", which marks for an escaping that is off.
        _ => subject,
    }
}

fn indent(subject: &str, args: Arguments, budget: &mut Budget) -> Result<String> {
    let [width, first, blank] = args.bind("indent", ["width", "first", "blank"], 0)?;
    let indention = match width {
        Some(Value::Str(text)) => text.to_string(),
        other => {
            let width = match other {
                Some(width) => to_usize(need_int(&width, "indent: width")?),
                None => 4,
            };
            budget.build(width)?;
            " ".repeat(width)
        }
    };
    // A line feed is added so that a trailing one makes a line.
    let subject = format!("{subject}\n");
    let lines = text::lines(&subject, false);
    budget.build_many(lines.len() + 1, indention.len())?;
    let indents_blank = flag(blank);
    let mut out = String::new();
    if flag(first) {
        out.push_str(&indention);
    }
    for (i, line) in lines.iter().enumerate() {
        if i > 0 {
            out.push('\n');
            if indents_blank || !line.is_empty() {
                out.push_str(&indention);
            }
        }
        out.push_str(line);
    }
    Ok(out)
}

fn truncate(subject: &str, args: Arguments) -> Result<String> {
    let names = ["length", "killwords", "end", "leeway"];
    let [length, cuts_words, end, leeway] = args.bind("truncate", names, 0)?;
    let length = to_usize(optional_int(length, "truncate: length")?.unwrap_or(255));
    let leeway = to_usize(optional_int(leeway, "truncate: leeway")?.unwrap_or(5));
    let end = optional_str(end, "truncate: end")?;
    let end = end.as_deref().unwrap_or("...");
    if text::length(end) > length {
        return fail("truncate: the end is longer than the length");
    }
    if text::length(subject) <= length.saturating_add(leeway) {
        return Ok(subject.to_string());
    }
    let mut kept = &subject[..text::offset(subject, length - text::length(end))];
    if !flag(cuts_words) {
        kept = kept.rsplit_once(' ').map_or(kept, |(before, _)| before);
    }
    Ok(format!("{kept}{end}"))
}

fn format(subject: &str, args: Arguments, budget: &mut Budget) -> Result<String> {
    if !args.named.is_empty() {
        if !args.positional.is_empty() {
            return fail("format takes either positional or named values");
        }
        let mut dict = super::value::Dict::default();
        for (name, value) in args.named {
            super::functions::insert(&mut dict, Value::str(name), value, budget)?;
        }
        return formatting::percent(subject, &Value::Dict(dict.into()), budget);
    }
    let values = new_tuple(args.positional, budget)?;
    formatting::percent(subject, &values, budget)
}
