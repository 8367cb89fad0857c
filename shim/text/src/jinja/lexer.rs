//! Source to tokens, with jinja2's rules for whitespace (trim_blocks and
//! lstrip_blocks on, one trailing line feed dropped).

use crate::error::{Code, Error, Result};

use super::escapes;
use super::text::is_space;

#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    Data(String),
    BlockBegin,
    BlockEnd,
    VariableBegin,
    VariableEnd,
    Name(String),
    Str(String),
    Int(i128),
    Float(f64),
    Op(&'static str),
    End,
}

#[derive(Debug, Clone)]
pub struct Token {
    pub kind: Kind,
    pub line: usize,
}

/// Longest first, so that the first match is the longest.
const OPERATORS: [&str; 26] = [
    "**", "//", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}",
    ">", "<", "=", ".", ":", "|", ",", ";",
];

pub fn syntax_error(line: usize, message: impl std::fmt::Display) -> Error {
    Error::new(Code::Invalid, format!("line {line}: {message}"))
}

pub fn lex(source: &str) -> Result<Vec<Token>> {
    let source = normalize(source);
    let mut lexer = Lexer {
        source: &source,
        at: 0,
        line: 1,
        starts_line: true,
        tokens: Vec::new(),
    };
    while lexer.at < source.len() {
        lexer.root()?;
    }
    lexer.push(Kind::End);
    Ok(lexer.tokens)
}

fn normalize(source: &str) -> String {
    let mut text = source.replace("\r\n", "\n").replace('\r', "\n");
    if text.ends_with('\n') {
        text.pop();
    }
    text
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Marker {
    Variable,
    Block,
    Comment,
    Raw,
}

struct Lexer<'s> {
    source: &'s str,
    at: usize,
    line: usize,
    /// What came before ended a line.
    starts_line: bool,
    tokens: Vec<Token>,
}

/// Bytes of leading white space.
fn space_length(text: &str) -> usize {
    text.len() - text.trim_start_matches(is_space).len()
}

/// After `begin` ("{%" and its sign): the length of `name` and the end of the
/// block, without what follows; and the sign before the end.
fn simple_tag(text: &str, name: &str) -> Option<(usize, char)> {
    let rest = text.trim_start_matches(is_space).strip_prefix(name)?;
    let rest = rest.trim_start_matches(is_space);
    for (end, sign) in [("-%}", '-'), ("+%}", '+'), ("%}", ' ')] {
        if let Some(after) = rest.strip_prefix(end) {
            return Some((text.len() - after.len(), sign));
        }
    }
    None
}

/// The sign ('-' or '+') at the front, or ' '.
fn sign_at(text: &str) -> char {
    match text.as_bytes().first() {
        Some(b'-') => '-',
        Some(b'+') => '+',
        _ => ' ',
    }
}

/// Cuts from `text`, which stands before a tag, what the tag's sign or
/// lstrip_blocks removes.
fn strip_before(text: &str, sign: char, starts_line: bool) -> &str {
    if sign == '-' {
        return text.trim_end_matches(is_space);
    }
    if sign == '+' {
        return text;
    }
    let line_start = text.rfind('\n').map_or(0, |i| i + 1);
    let is_indent = text[line_start..].chars().all(is_space);
    if (line_start > 0 || starts_line) && is_indent {
        &text[..line_start]
    } else {
        text
    }
}

impl<'s> Lexer<'s> {
    fn rest(&self) -> &'s str {
        &self.source[self.at..]
    }

    fn push(&mut self, kind: Kind) {
        self.tokens.push(Token {
            kind,
            line: self.line,
        });
    }

    fn push_data(&mut self, text: &str) {
        if !text.is_empty() {
            self.push(Kind::Data(text.to_string()));
        }
    }

    fn advance(&mut self, bytes: usize) {
        let passed = &self.source[self.at..self.at + bytes];
        self.line += passed.matches('\n').count();
        self.at += bytes;
        if let Some(last) = passed.as_bytes().last() {
            self.starts_line = *last == b'\n';
        }
    }

    /// Passes an end tag of `length` bytes and the white space that belongs to it.
    fn advance_end(&mut self, length: usize, sign: char) {
        let after = &self.rest()[length..];
        let extra = match sign {
            '-' => space_length(after),
            '+' => 0,
            _ => usize::from(after.starts_with('\n')),
        };
        self.advance(length + extra);
    }

    fn error(&self, message: impl std::fmt::Display) -> Error {
        syntax_error(self.line, message)
    }

    /// Data up to the next tag, and that tag.
    fn root(&mut self) -> Result<()> {
        let Some((start, marker)) = self.find_tag() else {
            let rest = self.rest();
            self.push_data(rest);
            self.advance(rest.len());
            return Ok(());
        };
        let text = &self.rest()[..start];
        let sign = sign_at(&self.rest()[start + 2..]);
        let kept = match marker {
            Marker::Variable if sign == '-' => text.trim_end_matches(is_space),
            Marker::Variable => text,
            _ => strip_before(text, sign, self.starts_line),
        };
        self.push_data(kept);
        self.advance(start + 2 + usize::from(sign != ' '));
        match marker {
            Marker::Variable => self.expression(Kind::VariableBegin, "}}"),
            Marker::Block => self.expression(Kind::BlockBegin, "%}"),
            Marker::Comment => self.comment(),
            Marker::Raw => self.raw(),
        }
    }

    fn find_tag(&self) -> Option<(usize, Marker)> {
        let rest = self.rest();
        let mut from = 0;
        loop {
            let at = from + rest[from..].find('{')?;
            match rest.as_bytes().get(at + 1) {
                Some(b'{') => return Some((at, Marker::Variable)),
                Some(b'#') => return Some((at, Marker::Comment)),
                Some(b'%') => {
                    let after = &rest[at + 2..];
                    let after = after.strip_prefix(['-', '+']).unwrap_or(after);
                    let is_raw = simple_tag(after, "raw").is_some_and(|(_, sign)| sign != '+');
                    let marker = if is_raw { Marker::Raw } else { Marker::Block };
                    return Some((at, marker));
                }
                _ => from = at + 1,
            }
        }
    }

    fn comment(&mut self) -> Result<()> {
        let rest = self.rest();
        let Some(end) = rest.find("#}") else {
            return Err(self.error("a comment has no end; close it with #}"));
        };
        let sign = match rest.as_bytes()[..end].last() {
            Some(b'-') => '-',
            Some(b'+') => '+',
            _ => ' ',
        };
        self.advance_end(end + 2, sign);
        Ok(())
    }

    fn raw(&mut self) -> Result<()> {
        let (length, sign) = simple_tag(self.rest(), "raw").unwrap_or((0, ' '));
        // No line feed is trimmed after the beginning of a raw block.
        self.advance_end(length, if sign == '-' { '-' } else { '+' });
        let rest = self.rest();
        let mut from = 0;
        while let Some(found) = rest[from..].find("{%") {
            let at = from + found;
            let sign = sign_at(&rest[at + 2..]);
            let begin = 2 + usize::from(sign != ' ');
            if let Some((length, end_sign)) = simple_tag(&rest[at + begin..], "endraw") {
                self.push_data(strip_before(&rest[..at], sign, self.starts_line));
                self.advance(at + begin);
                self.advance_end(length, end_sign);
                return Ok(());
            }
            from = at + 2;
        }
        Err(self.error("a raw block has no end; close it with {% endraw %}"))
    }

    /// Tokens of a variable or block, its end included.
    fn expression(&mut self, begin: Kind, end: &str) -> Result<()> {
        let is_block = begin == Kind::BlockBegin;
        self.push(begin);
        let mut open: Vec<&'static str> = Vec::new();
        loop {
            self.advance(space_length(self.rest()));
            if self.rest().is_empty() {
                return Err(self.error(format!(
                    "the template ends inside a tag; close it with {end}"
                )));
            }
            if open.is_empty() && self.end_of_expression(is_block, end) {
                return Ok(());
            }
            self.token(&mut open)?;
        }
    }

    fn end_of_expression(&mut self, is_block: bool, end: &str) -> bool {
        let rest = self.rest();
        let sign = sign_at(rest);
        let has_sign = sign == '-' || (sign == '+' && is_block);
        let length = usize::from(has_sign);
        if !rest[length..].starts_with(end) {
            return false;
        }
        self.push(if is_block {
            Kind::BlockEnd
        } else {
            Kind::VariableEnd
        });
        // Only blocks take the line feed behind them.
        let sign = if has_sign {
            sign
        } else if is_block {
            ' '
        } else {
            '+'
        };
        self.advance_end(length + end.len(), sign);
        true
    }

    fn token(&mut self, open: &mut Vec<&'static str>) -> Result<()> {
        let rest = self.rest();
        let first = rest.chars().next().unwrap_or('\0');
        if first.is_ascii_digit() {
            return self.number();
        }
        if first == '_' || first.is_alphabetic() {
            let is_word = |c: char| c == '_' || c.is_alphanumeric();
            let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            self.push(Kind::Name(rest[..length].to_string()));
            self.advance(length);
            return Ok(());
        }
        if first == '\'' || first == '"' {
            return self.string(first);
        }
        let Some(op) = OPERATORS.iter().find(|op| rest.starts_with(**op)) else {
            return Err(self.error(format!("unexpected character {first:?}")));
        };
        self.balance(op, open)?;
        self.push(Kind::Op(op));
        self.advance(op.len());
        Ok(())
    }

    fn balance(&self, op: &'static str, open: &mut Vec<&'static str>) -> Result<()> {
        let closed = match op {
            "(" => ")",
            "[" => "]",
            "{" => "}",
            ")" | "]" | "}" => {
                return match open.pop() {
                    Some(expected) if expected == op => Ok(()),
                    Some(expected) => {
                        Err(self.error(format!("unexpected '{op}', expected '{expected}'")))
                    }
                    None => Err(self.error(format!("unexpected '{op}'"))),
                };
            }
            _ => return Ok(()),
        };
        open.push(closed);
        Ok(())
    }

    fn string(&mut self, quote: char) -> Result<()> {
        let rest = self.rest();
        let mut is_escaped = false;
        for (i, c) in rest.char_indices().skip(1) {
            if is_escaped {
                is_escaped = false;
            } else if c == '\\' {
                is_escaped = true;
            } else if c == quote {
                let text =
                    escapes::decode(&rest[1..i]).map_err(|e| syntax_error(self.line, e.message))?;
                self.push(Kind::Str(text));
                self.advance(i + 1);
                return Ok(());
            }
        }
        Err(self.error(format!("a string has no end; close it with {quote}")))
    }

    fn number(&mut self) -> Result<()> {
        let rest = self.rest();
        let after_dot = self.source[..self.at].ends_with('.');
        if let Some(length) = float_length(rest).filter(|_| !after_dot) {
            let text = rest[..length].replace('_', "");
            let value = text
                .parse()
                .map_err(|_| self.error(format!("{text} is no number")))?;
            self.push(Kind::Float(value));
            self.advance(length);
            return Ok(());
        }
        let (digits, radix, length) = integer_parts(rest);
        let value = i128::from_str_radix(&digits.replace('_', ""), radix)
            .map_err(|_| self.error(format!("the integer {} is too large", &rest[..length])))?;
        self.push(Kind::Int(value));
        self.advance(length);
        Ok(())
    }
}

/// Length of digits with single underscores between them.
fn digits_length(text: &str, is_digit: fn(&u8) -> bool) -> usize {
    let bytes = text.as_bytes();
    let mut length = 0;
    while let Some(byte) = bytes.get(length) {
        let joins = *byte == b'_' && length > 0 && bytes.get(length + 1).is_some_and(is_digit);
        if !is_digit(byte) && !joins {
            break;
        }
        length += 1;
    }
    length
}

fn float_length(text: &str) -> Option<usize> {
    let decimal = u8::is_ascii_digit;
    let mut length = digits_length(text, decimal);
    let whole = length;
    if text[length..].starts_with('.') {
        let fraction = digits_length(&text[length + 1..], decimal);
        if fraction > 0 {
            length += 1 + fraction;
        }
    }
    if let Some(exponent) = text[length..].strip_prefix(['e', 'E']) {
        let sign = usize::from(exponent.starts_with(['+', '-']));
        let digits = digits_length(&exponent[sign..], decimal);
        if digits > 0 {
            length += 1 + sign + digits;
        }
    }
    (length > whole).then_some(length)
}

/// Digits, radix and whole length of an integer literal.
fn integer_parts(text: &str) -> (&str, u32, usize) {
    type Digit = fn(&u8) -> bool;
    let prefixed: [(&str, u32, Digit); 3] = [
        ("0b", 2, |b| matches!(b, b'0' | b'1')),
        ("0o", 8, |b| (b'0'..=b'7').contains(b)),
        ("0x", 16, u8::is_ascii_hexdigit),
    ];
    for (prefix, radix, is_digit) in prefixed {
        let head = text.get(..2).unwrap_or("").to_ascii_lowercase();
        if head == prefix {
            let length = digits_length(&text[2..], is_digit);
            if length > 0 {
                return (&text[2..2 + length], radix, 2 + length);
            }
        }
    }
    let length = if text.starts_with('0') {
        digits_length(text, |b| *b == b'0')
    } else {
        digits_length(text, u8::is_ascii_digit)
    };
    (&text[..length], 10, length)
}
