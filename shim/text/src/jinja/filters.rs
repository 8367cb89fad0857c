//! The filters.

use crate::error::{Code, Error, Result};

use super::arguments::{fail, need_int, need_str, optional_int, optional_str, to_usize, Arguments};
use super::ast::BinaryOp;
use super::ast::Name;
use super::attributes;
use super::budget::Budget;
use super::formatting;
use super::json;
use super::machine::Machine;
use super::numbers;
use super::operators;
use super::ordering::{self, flag};
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
        "truncate" => truncate(value, args, &mut machine.budget),
        "map" => map(value, args, machine),
        "select" | "reject" | "selectattr" | "rejectattr" => select(name, value, args, machine),
        "sort" | "min" | "max" | "unique" | "dictsort" => {
            ordering::apply(name, value, args, machine)
        }
        "sum" => sum(value, args, machine),
        "join" => join(value, args, machine),
        "attr" => {
            let [attribute] = args.bind(name, ["name"], 1)?;
            let attribute = need_str(&attribute.unwrap_or(Value::None), "attr")?;
            attributes::attribute(&value, &Name::from(&*attribute), machine)
        }
        "abs" | "float" | "int" | "round" => numbers::apply(name, value, args, &mut machine.budget),
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
pub fn member(
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

/// The elements of `value`; none of what counts as false, iterable or not, as
/// jinja2's mapping and selecting filters have it.
fn iterate_true(value: &Value, budget: &mut Budget) -> Result<Vec<Value>> {
    if value.is_true() {
        iterate(value, budget)
    } else {
        Ok(Vec::new())
    }
}

fn map(value: Value, mut args: Arguments, machine: &mut Machine) -> Result<Value> {
    let mut mapped = Vec::new();
    let values = iterate_true(&value, &mut machine.budget)?;
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
    for value in iterate_true(&value, &mut machine.budget)? {
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

// --- text -----------------------------------------------------------------------

fn textual(name: &str, value: Value, args: Arguments, budget: &mut Budget) -> Result<Value> {
    if !exists(name) {
        return fail(format!("there is no filter '{name}'"));
    }
    if name == "indent" {
        need_str(&value, "indent: the value")?;
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

fn truncate(value: Value, args: Arguments, budget: &mut Budget) -> Result<Value> {
    let names = ["length", "killwords", "end", "leeway"];
    let [length, cuts_words, end, leeway] = args.bind("truncate", names, 0)?;
    let length = to_usize(optional_int(length, "truncate: length")?.unwrap_or(255));
    let leeway = to_usize(optional_int(leeway, "truncate: leeway")?.unwrap_or(5));
    let end = optional_str(end, "truncate: end")?;
    let end = end.as_deref().unwrap_or("...");
    if text::length(end) > length {
        return fail("truncate: the end is longer than the length");
    }
    // Anything short enough is left alone, whatever it is.
    if sequences::length(&value).is_some_and(|size| size <= length.saturating_add(leeway)) {
        return Ok(value);
    }
    let subject = need_str(&value, "truncate: the value")?;
    let mut kept = &subject[..text::offset(&subject, length - text::length(end))];
    if !flag(cuts_words) {
        kept = kept.rsplit_once(' ').map_or(kept, |(before, _)| before);
    }
    new_str(format!("{kept}{end}"), budget)
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
