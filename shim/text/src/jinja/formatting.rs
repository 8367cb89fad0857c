//! Formatting with "%" and with str.format, in the parts that templates use.

use crate::error::Result;

use super::arguments::{fail, to_usize, Arguments};
use super::budget::Budget;
use super::repr;
use super::sequences;
use super::text;
use super::value::Value;

/// How one value is to be printed; common to both syntaxes.
struct Spec {
    fill: char,
    /// '<', '>', '^', '=' or ' ' for the type's own.
    align: char,
    /// '+', ' ' or '-'.
    sign: char,
    has_prefix: bool,
    groups: bool,
    width: usize,
    precision: Option<usize>,
    kind: char,
}

impl Spec {
    fn new() -> Self {
        Spec {
            fill: ' ',
            align: ' ',
            sign: '-',
            has_prefix: false,
            groups: false,
            width: 0,
            precision: None,
            kind: ' ',
        }
    }
}

/// Precisions above this print nothing but zeros.
const MAX_PRECISION: usize = 1000;

fn number(digits: &str) -> usize {
    digits.parse().unwrap_or(usize::MAX)
}

/// Takes decimal digits from the front of `rest`.
fn take_digits<'t>(rest: &mut &'t str) -> &'t str {
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let (digits, after) = rest.split_at(end);
    *rest = after;
    digits
}

/// Digits of a float for a presentation type.
fn float_digits(value: f64, kind: char, precision: usize) -> String {
    let magnitude = value.abs();
    if !magnitude.is_finite() {
        return repr::float(magnitude);
    }
    match kind {
        'e' | 'E' => {
            let text = format!("{magnitude:.precision$e}");
            let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
            let exponent: i32 = exponent.parse().unwrap_or(0);
            let sign = if exponent < 0 { '-' } else { '+' };
            let text = format!("{mantissa}e{sign}{:02}", exponent.abs());
            if kind == 'E' {
                text.to_uppercase()
            } else {
                text
            }
        }
        'g' | 'G' => general_digits(magnitude, precision.max(1)),
        '%' => format!("{:.precision$}%", magnitude * 100.0),
        _ => format!("{magnitude:.precision$}"),
    }
}

fn general_digits(magnitude: f64, precision: usize) -> String {
    let scientific = float_digits(magnitude, 'e', precision - 1);
    let exponent: i32 = scientific
        .split_once('e')
        .and_then(|(_, exponent)| exponent.parse().ok())
        .unwrap_or(0);
    let trim = |digits: &str| -> String {
        if digits.contains('.') {
            digits
                .trim_end_matches('0')
                .trim_end_matches('.')
                .to_string()
        } else {
            digits.to_string()
        }
    };
    if exponent < -4 || exponent >= i32::try_from(precision).unwrap_or(i32::MAX) {
        let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "+00"));
        return format!("{}e{exponent}", trim(mantissa));
    }
    let decimals = i32::try_from(precision).unwrap_or(0) - 1 - exponent;
    trim(&format!("{magnitude:.*}", to_usize(decimals.into())))
}

fn integer_digits(value: i128, kind: char) -> (String, &'static str) {
    let magnitude = value.unsigned_abs();
    match kind {
        'x' => (format!("{magnitude:x}"), "0x"),
        'X' => (format!("{magnitude:X}"), "0X"),
        'o' => (format!("{magnitude:o}"), "0o"),
        'b' => (format!("{magnitude:b}"), "0b"),
        _ => (magnitude.to_string(), ""),
    }
}

fn grouped(digits: &str) -> String {
    let whole = digits.find(|c: char| !c.is_ascii_digit());
    let (whole, rest) = digits.split_at(whole.unwrap_or(digits.len()));
    let mut out = String::new();
    for (i, c) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(c);
    }
    out + rest
}

/// Sign and digits put into the width.
fn numeric(is_negative: bool, digits: String, prefix: &str, spec: &Spec) -> String {
    let sign = match (is_negative, spec.sign) {
        (true, _) => "-",
        (false, '+') => "+",
        (false, ' ') => " ",
        _ => "",
    };
    let prefix = if spec.has_prefix { prefix } else { "" };
    let digits = if spec.groups {
        grouped(&digits)
    } else {
        digits
    };
    if spec.align == '=' {
        let length = sign.len() + prefix.len() + digits.len();
        let padding = spec
            .fill
            .to_string()
            .repeat(spec.width.saturating_sub(length));
        return format!("{sign}{prefix}{padding}{digits}");
    }
    padded(&format!("{sign}{prefix}{digits}"), spec, '>')
}

fn padded(shown: &str, spec: &Spec, own_align: char) -> String {
    let missing = spec.width.saturating_sub(text::length(shown));
    let align = if spec.align == ' ' {
        own_align
    } else {
        spec.align
    };
    let left = match align {
        '>' | '=' => missing,
        '^' => missing / 2,
        _ => 0,
    };
    let fill = spec.fill.to_string();
    format!(
        "{}{shown}{}",
        fill.repeat(left),
        fill.repeat(missing - left)
    )
}

fn format_number(value: &Value, spec: &Spec) -> Result<String> {
    let precision = spec.precision.unwrap_or(6).min(MAX_PRECISION);
    let is_integer_kind = matches!(spec.kind, 'd' | 'x' | 'X' | 'o' | 'b' | 'i' | 'u');
    match (value, spec.kind) {
        (Value::Float(float), ' ') if spec.precision.is_none() => {
            let digits = repr::float(float.abs());
            Ok(numeric(float.is_sign_negative(), digits, "", spec))
        }
        (Value::Float(float), kind) if !is_integer_kind => {
            let kind = if kind == ' ' { 'g' } else { kind };
            let digits = float_digits(*float, kind, precision);
            Ok(numeric(float.is_sign_negative(), digits, "", spec))
        }
        _ => {
            let Some(integer) = value.as_int() else {
                return fail(format!("a {} can't be formatted so", value.type_name()));
            };
            if matches!(spec.kind, 'f' | 'F' | 'e' | 'E' | 'g' | 'G' | '%') {
                let digits = float_digits(integer as f64, spec.kind, precision);
                return Ok(numeric(integer < 0, digits, "", spec));
            }
            let (digits, prefix) = integer_digits(integer, spec.kind);
            Ok(numeric(integer < 0, digits, prefix, spec))
        }
    }
}

// --- "%" ------------------------------------------------------------------------

/// The values of a "%" formatting, handed out one by one or by name.
struct Values<'v> {
    values: &'v [Value],
    next: usize,
    names: Option<&'v Value>,
}

impl<'v> Values<'v> {
    fn take(&mut self) -> Result<&'v Value> {
        let value = self.values.get(self.next);
        self.next += 1;
        value.map_or_else(|| fail("%: not enough values for the format"), Ok)
    }
}

pub fn percent(format: &str, values: &Value, budget: &mut Budget) -> Result<String> {
    let single = std::slice::from_ref(values);
    let mut values = Values {
        values: match values {
            Value::Tuple(items) => &items.values,
            _ => single,
        },
        next: 0,
        names: matches!(values, Value::Dict(_)).then_some(values),
    };
    let mut out = String::new();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let shown = percent_field(&mut rest, &mut values, budget)?;
        budget.build(shown.len())?;
        out.push_str(&shown);
    }
    out.push_str(rest);
    if values.next < values.values.len() && values.names.is_none() {
        return fail("%: more values than the format takes");
    }
    budget.build(out.len())?;
    Ok(out)
}

fn percent_field(rest: &mut &str, values: &mut Values, budget: &mut Budget) -> Result<String> {
    let mut named = None;
    if let Some(after) = rest.strip_prefix('(') {
        let Some((name, after)) = after.split_once(')') else {
            return fail("%: a name in the format has no end");
        };
        let key = Value::str(name);
        named = Some(values.names.and_then(|names| sequences::item(names, &key)));
        *rest = after;
    }
    let mut spec = percent_spec(rest, values)?;
    let kind = rest.chars().next();
    let Some(kind) = kind else {
        return fail("%: the format ends in the middle of a field");
    };
    *rest = &rest[kind.len_utf8()..];
    if kind == '%' {
        return Ok("%".into());
    }
    let value = match named {
        None => values.take()?.clone(),
        Some(Some(value)) => value,
        Some(None) => return fail("%: the format names a value that isn't there"),
    };
    budget.build(spec.width)?;
    spec.kind = kind;
    percent_value(&value, &spec, budget)
}

/// Flags, width and precision.
fn percent_spec(rest: &mut &str, values: &mut Values) -> Result<Spec> {
    let mut spec = Spec::new();
    loop {
        match rest.chars().next() {
            Some('-') => spec.align = '<',
            Some('0') if spec.align != '<' => {
                spec.align = '=';
                spec.fill = '0';
            }
            Some('0') => {}
            Some('+') => spec.sign = '+',
            Some(' ') if spec.sign != '+' => spec.sign = ' ',
            Some(' ') => {}
            Some('#') => spec.has_prefix = true,
            _ => break,
        }
        *rest = &rest[1..];
    }
    if spec.align == '<' {
        spec.fill = ' ';
    }
    if let Some(after) = rest.strip_prefix('*') {
        *rest = after;
        spec.width = to_usize(values.take()?.as_int().unwrap_or(0));
    } else {
        let digits = take_digits(rest);
        spec.width = if digits.is_empty() { 0 } else { number(digits) };
    }
    if let Some(after) = rest.strip_prefix('.') {
        *rest = after;
        let digits = take_digits(rest);
        spec.precision = Some(if digits.is_empty() { 0 } else { number(digits) });
    }
    Ok(spec)
}

fn percent_value(value: &Value, spec: &Spec, budget: &mut Budget) -> Result<String> {
    match spec.kind {
        's' | 'r' | 'a' => {
            let mut shown = if spec.kind == 's' {
                repr::text(value, budget)?
            } else {
                repr::repr(value, budget)?
            };
            if let Some(precision) = spec.precision {
                shown.truncate(text::offset(&shown, precision));
            }
            let spec = Spec {
                fill: ' ',
                align: if spec.align == '<' { '<' } else { '>' },
                ..Spec {
                    width: spec.width,
                    ..Spec::new()
                }
            };
            Ok(padded(&shown, &spec, '>'))
        }
        'd' | 'i' | 'u' => match value {
            Value::Float(float) if float.is_finite() => {
                format_number(&Value::Int(float.trunc() as i128), spec)
            }
            _ => format_number(value, spec),
        },
        'x' | 'X' | 'o' | 'e' | 'E' | 'f' | 'F' | 'g' | 'G' => format_number(value, spec),
        'c' => match value {
            Value::Str(text) if text::length(text) == 1 => Ok(padded(text, spec, '>')),
            _ => fail("%c needs a string of one character"),
        },
        other => fail(format!("%: unknown conversion '{other}'")),
    }
}

// --- str.format -----------------------------------------------------------------

pub fn braces(format: &str, args: &Arguments, budget: &mut Budget) -> Result<String> {
    let mut out = String::new();
    let mut rest = format;
    let mut automatic = 0;
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        let brace = &rest[at..=at];
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix(brace) {
            out.push_str(brace);
            rest = after;
            continue;
        }
        let Some((field, after)) = rest.split_once('}').filter(|_| brace == "{") else {
            return fail("format: a single brace in the format");
        };
        rest = after;
        let shown = brace_field(field, args, &mut automatic, budget)?;
        budget.build(shown.len())?;
        out.push_str(&shown);
    }
    out.push_str(rest);
    budget.build(out.len())?;
    Ok(out)
}

fn brace_field(
    field: &str,
    args: &Arguments,
    automatic: &mut usize,
    budget: &mut Budget,
) -> Result<String> {
    let (field, spec) = field.split_once(':').unwrap_or((field, ""));
    let (name, conversion) = field.split_once('!').unwrap_or((field, ""));
    let value = if name.is_empty() {
        *automatic += 1;
        args.positional.get(*automatic - 1)
    } else if let Ok(index) = name.parse::<usize>() {
        args.positional.get(index)
    } else {
        let named = args.named.iter().find(|(known, _)| **known == *name);
        named.map(|(_, value)| value)
    };
    let Some(value) = value else {
        return fail(format!(
            "format: there is no value for the field '{{{name}}}'"
        ));
    };
    let value = match conversion {
        "" => value.clone(),
        "s" => Value::str(repr::text(value, budget)?),
        "r" => Value::str(repr::repr(value, budget)?),
        other => return fail(format!("format: unknown conversion '!{other}'")),
    };
    let spec = brace_spec(spec)?;
    budget.build(spec.width)?;
    brace_value(&value, &spec, budget)
}

fn brace_spec(text: &str) -> Result<Spec> {
    let mut spec = Spec::new();
    let mut rest = text;
    let mut chars = rest.chars();
    let first = chars.next();
    let second = chars.next();
    let is_align = |c: Option<char>| matches!(c, Some('<' | '>' | '^' | '='));
    if is_align(second) {
        spec.fill = first.unwrap_or(' ');
        spec.align = second.unwrap_or(' ');
        rest = chars.as_str();
    } else if is_align(first) {
        spec.align = first.unwrap_or(' ');
        rest = &rest[1..];
    }
    for sign in ['+', '-', ' '] {
        if let Some(after) = rest.strip_prefix(sign) {
            spec.sign = sign;
            rest = after;
        }
    }
    if let Some(after) = rest.strip_prefix('#') {
        spec.has_prefix = true;
        rest = after;
    }
    if rest.starts_with('0') && spec.align == ' ' {
        spec.fill = '0';
        spec.align = '=';
    }
    let digits = take_digits(&mut rest);
    spec.width = if digits.is_empty() { 0 } else { number(digits) };
    if let Some(after) = rest.strip_prefix(',') {
        spec.groups = true;
        rest = after;
    }
    if let Some(after) = rest.strip_prefix('.') {
        rest = after;
        spec.precision = Some(number(take_digits(&mut rest)));
    }
    let mut chars = rest.chars();
    spec.kind = chars.next().unwrap_or(' ');
    if chars.next().is_some() {
        return fail(format!("format: bad format '{text}'"));
    }
    Ok(spec)
}

fn brace_value(value: &Value, spec: &Spec, budget: &mut Budget) -> Result<String> {
    let is_number = matches!(value, Value::Int(_) | Value::Float(_))
        || (matches!(value, Value::Bool(_)) && spec.kind != ' ');
    if is_number && spec.kind != 's' {
        return format_number(value, spec);
    }
    if !matches!(spec.kind, 's' | ' ') {
        return fail(format!(
            "format: a {} has no format '{}'",
            value.type_name(),
            spec.kind
        ));
    }
    let mut shown = repr::text(value, budget)?;
    if let Some(precision) = spec.precision {
        shown.truncate(text::offset(&shown, precision));
    }
    Ok(padded(&shown, spec, '<'))
}
