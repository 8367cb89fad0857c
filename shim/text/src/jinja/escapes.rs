//! String literals: jinja2 decodes them with Python's "unicode-escape".

use crate::error::{Code, Error, Result};

fn bad_escape(text: &str) -> Error {
    Error::new(
        Code::Invalid,
        format!("the string escape \\{text} is no character"),
    )
}

/// The character of `digits` hexadecimal digits at the front of `rest`.
fn hexadecimal(rest: &str, kind: char, digits: usize) -> Result<char> {
    let text = rest.get(..digits);
    text.filter(|t| t.bytes().all(|b| b.is_ascii_hexdigit()))
        .and_then(|t| u32::from_str_radix(t, 16).ok())
        .and_then(char::from_u32)
        .ok_or_else(|| bad_escape(&format!("{kind}{}", text.unwrap_or(rest))))
}

/// The character of up to three octal digits at the front of `rest`, and how
/// many there are.
fn octal(rest: &str) -> (Option<char>, usize) {
    let digits = rest
        .bytes()
        .take(3)
        .take_while(|b| (b'0'..=b'7').contains(b))
        .count();
    let value = u32::from_str_radix(&rest[..digits], 8).ok();
    (value.and_then(char::from_u32), digits)
}

pub fn decode(literal: &str) -> Result<String> {
    let mut out = String::with_capacity(literal.len());
    let mut rest = literal;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let Some(c) = rest.chars().next() else {
            return Err(bad_escape(""));
        };
        let after = &rest[c.len_utf8()..];
        let mut used = c.len_utf8();
        match c {
            '\n' => {}
            '\\' | '\'' | '"' => out.push(c),
            'a' => out.push('\x07'),
            'b' => out.push('\x08'),
            'f' => out.push('\x0c'),
            'n' => out.push('\n'),
            'r' => out.push('\r'),
            't' => out.push('\t'),
            'v' => out.push('\x0b'),
            'x' | 'u' | 'U' => {
                let digits = match c {
                    'x' => 2,
                    'u' => 4,
                    _ => 8,
                };
                out.push(hexadecimal(after, c, digits)?);
                used += digits;
            }
            '0'..='7' => {
                let (character, digits) = octal(rest);
                out.push(character.ok_or_else(|| bad_escape(&rest[..digits]))?);
                used = digits;
            }
            'N' => return Err(bad_escape("N{...} (character names are not known)")),
            _ => {
                out.push('\\');
                out.push(c);
            }
        }
        rest = &rest[used..];
    }
    out.push_str(rest);
    Ok(out)
}
