//! The global functions of a template.

use std::cell::RefCell;
use std::rc::Rc;

use crate::error::{Code, Error, Result};
use crate::limits;

use super::arguments::{fail, need_int, need_str, Arguments};
use super::budget::Budget;
use super::repr;
use super::sequences::{checked, iterate};
use super::value::{Dict, Range, Value};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Function {
    Dict,
    Namespace,
    RaiseException,
    Range,
    StrftimeNow,
}

pub fn global(name: &str) -> Option<Value> {
    Some(Value::Function(match name {
        "dict" => Function::Dict,
        "namespace" => Function::Namespace,
        "raise_exception" => Function::RaiseException,
        "range" => Function::Range,
        "strftime_now" => Function::StrftimeNow,
        _ => return None,
    }))
}

pub fn call(function: Function, args: Arguments, budget: &mut Budget) -> Result<Value> {
    match function {
        Function::Dict => Ok(Value::Dict(Rc::new(new_dict("dict", args, budget)?))),
        Function::Namespace => {
            let dict = new_dict("namespace", args, budget)?;
            Ok(Value::Namespace(Rc::new(RefCell::new(dict))))
        }
        Function::RaiseException => {
            let [message] = args.bind("raise_exception", ["message"], 1)?;
            let message = message.unwrap_or(Value::None);
            Err(Error::new(Code::Raised, repr::text(&message, budget)?))
        }
        Function::Range => range(args),
        Function::StrftimeNow => {
            let [format] = args.bind("strftime_now", ["format"], 1)?;
            let format = need_str(&format.unwrap_or(Value::None), "strftime_now")?;
            budget.build(format.len())?;
            strftime_now(&format).map(Value::str)
        }
    }
}

/// A dict of what dict() takes: a dict or pairs, and keyword arguments.
fn new_dict(what: &str, mut args: Arguments, budget: &mut Budget) -> Result<Dict> {
    let named = std::mem::take(&mut args.named);
    let [source] = args.bind(what, ["source"], 0)?;
    let mut dict = Dict::default();
    match source {
        None => {}
        Some(Value::Dict(source)) => {
            budget.build_items(2 * source.len())?;
            dict = (*source).clone();
        }
        Some(pairs) => {
            for pair in iterate(&pairs, budget)? {
                let pair = iterate(&pair, budget)?;
                let [key, value] = &pair[..] else {
                    return fail(format!("{what} needs pairs of key and value"));
                };
                insert(&mut dict, key.clone(), value.clone(), budget)?;
            }
        }
    }
    for (name, value) in named {
        insert(&mut dict, Value::str(name), value, budget)?;
    }
    Ok(dict)
}

/// Adds an entry, within the limits; refuses what Python can't hash.
pub fn insert(dict: &mut Dict, key: Value, value: Value, budget: &mut Budget) -> Result<()> {
    let Some(hash) = key.key() else {
        return fail(format!("a {} can't be a key", key.type_name()));
    };
    budget.build_items(4)?;
    dict.insert(hash, key, checked(value)?);
    Ok(())
}

fn range(args: Arguments) -> Result<Value> {
    let [first, second, step] = args.bind("range", ["start", "stop", "step"], 1)?;
    let first = need_int(&first.unwrap_or(Value::None), "range")?;
    let (start, stop) = match second {
        Some(second) => (first, need_int(&second, "range")?),
        None => (0, first),
    };
    let step = step.map_or(Ok(1), |step| need_int(&step, "range"))?;
    if step == 0 {
        return fail("range: the step can't be 0");
    }
    let too_large = || Error::new(Code::Limit, "range: a bound is too large");
    let distance = if step > 0 {
        stop.checked_sub(start)
    } else {
        start.checked_sub(stop)
    };
    let distance = distance.ok_or_else(too_large)?.max(0);
    let steps = step.checked_abs().ok_or_else(too_large)?;
    let length = distance / steps + i128::from(distance % steps != 0);
    if length > limits::MAX_RANGE {
        return Err(Error::new(
            Code::Limit,
            format!(
                "range: {length} elements; the limit is {}",
                limits::MAX_RANGE
            ),
        ));
    }
    Ok(Value::Range(Range {
        start,
        stop,
        step,
        length,
    }))
}

/// Python's datetime.now().strftime(format): the C library's, after the fields
/// that only datetime knows.
fn strftime_now(format: &str) -> Result<String> {
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    let format = datetime_fields(format, now.subsec_micros());
    let Ok(c_format) = std::ffi::CString::new(format) else {
        return fail("strftime_now: the format holds a NUL character");
    };
    let seconds = libc::time_t::try_from(now.as_secs()).unwrap_or(0);
    // SAFETY: `time` is written by localtime_r before it is read, and is plain
    // data that may be zero.
    let mut time: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are valid for the call.
    if unsafe { libc::localtime_r(&seconds, &mut time) }.is_null() {
        return fail("strftime_now: the local time is not available");
    }
    // A field expands to fewer than 64 bytes; a format of n bytes to fewer than 64 n.
    let mut buffer = vec![0u8; c_format.as_bytes().len() * 64 + 1];
    // SAFETY: the buffer is writable for its length, the format ends in NUL.
    let size = unsafe {
        libc::strftime(
            buffer.as_mut_ptr().cast(),
            buffer.len(),
            c_format.as_ptr(),
            &time,
        )
    };
    buffer.truncate(size);
    Ok(String::from_utf8_lossy(&buffer).into_owned())
}

/// Fills in %f, %z and %Z, the last two empty for a time without a zone.
fn datetime_fields(format: &str, microseconds: u32) -> String {
    let mut out = String::with_capacity(format.len());
    let mut chars = format.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('f') => out.push_str(&format!("{microseconds:06}")),
            Some('z' | 'Z') => {}
            Some(other) => {
                out.push('%');
                out.push(other);
            }
            None => out.push('%'),
        }
    }
    out
}
