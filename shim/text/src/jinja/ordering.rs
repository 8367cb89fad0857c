//! The filters that compare: sort, min, max, unique, dictsort.

use std::cmp::Ordering;
use std::collections::HashSet;

use crate::error::Result;

use super::arguments::{fail, optional_str, Arguments};
use super::budget::Budget;
use super::filters::member;
use super::machine::Machine;
use super::operators;
use super::sequences::{iterate, new_list, new_str, new_stream};
use super::value::{Value, View};

pub fn flag(value: Option<Value>) -> bool {
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

pub fn apply(name: &str, value: Value, args: Arguments, machine: &mut Machine) -> Result<Value> {
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
    let mut seen = HashSet::new();
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
