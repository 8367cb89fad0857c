//! Decoding token by token so that the joined pieces equal the full decode.
//!
//! A tokenizer.json names a decoder, a chain of steps over the list of all
//! tokens. Those steps that look at one token at a time, or only at raw bytes
//! beside each other, can be streamed; the others are refused by name.

use std::sync::LazyLock;

use serde_json::Value as Json;
use tokenizers::decoders::DecoderWrapper;

use crate::error::{Code, Error, Result};

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Replace {
        from: String,
        to: String,
    },
    Strip {
        content: char,
        start: usize,
        stop: usize,
    },
    Metaspace {
        replacement: char,
        drops_first: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bytes {
    /// A token is its text.
    Text,
    /// A token is its text, but `<0xHH>` is one raw byte.
    Fallback,
    /// Every character of a token stands for one byte.
    Level,
}

#[derive(Debug, Clone)]
pub struct StreamPlan {
    steps: Vec<Step>,
    bytes: Bytes,
    /// Without a decoder Hugging Face joins tokens with spaces.
    joins_with_space: bool,
    /// Leading characters that the decoder removes from the whole text.
    strip: Option<(char, u32)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenBytes {
    pub bytes: Vec<u8>,
    pub is_raw_byte: bool,
    pub is_partial: bool,
}

impl StreamPlan {
    pub fn for_decoder(decoder: Option<&DecoderWrapper>) -> Result<Self> {
        let mut builder = Builder::default();
        match decoder {
            None => builder.plan.joins_with_space = true,
            Some(decoder) => {
                let json = serde_json::to_value(decoder)
                    .map_err(|e| Error::new(Code::Invalid, format!("decoder: {e}")))?;
                builder.add(&json)?;
            }
        }
        Ok(builder.plan)
    }

    pub fn replaces_each_byte(&self) -> bool {
        self.bytes == Bytes::Fallback
    }

    pub fn strip(&self) -> Option<(char, u32)> {
        self.strip
    }

    pub fn token_bytes(&self, token: &str, is_first: bool) -> TokenBytes {
        let mut text = token.to_string();
        for step in &self.steps {
            text = step.apply(&text, is_first);
        }
        if self.joins_with_space && !is_first {
            text.insert(0, ' ');
        }
        match self.bytes {
            Bytes::Text => TokenBytes::text(text),
            Bytes::Fallback => match fallback_byte(&text) {
                Some(byte) => TokenBytes {
                    bytes: vec![byte],
                    is_raw_byte: true,
                    is_partial: true,
                },
                None => TokenBytes::text(text),
            },
            Bytes::Level => TokenBytes {
                bytes: level_bytes(&text),
                is_raw_byte: false,
                is_partial: true,
            },
        }
    }
}

impl TokenBytes {
    fn text(text: String) -> Self {
        TokenBytes {
            bytes: text.into_bytes(),
            is_raw_byte: false,
            is_partial: false,
        }
    }
}

impl Step {
    fn apply(&self, text: &str, is_first: bool) -> String {
        match self {
            Step::Replace { from, to } => text.replace(from.as_str(), to),
            Step::Strip {
                content,
                start,
                stop,
            } => strip(text, *content, *start, *stop),
            Step::Metaspace {
                replacement,
                drops_first,
            } => {
                let to = if is_first && *drops_first { "" } else { " " };
                text.replace(*replacement, to)
            }
        }
    }
}

fn strip(text: &str, content: char, start: usize, stop: usize) -> String {
    let chars: Vec<char> = text.chars().collect();
    let leading = chars
        .iter()
        .take(start)
        .take_while(|c| **c == content)
        .count();
    let trailing = chars[leading..]
        .iter()
        .rev()
        .take(stop)
        .take_while(|c| **c == content)
        .count();
    chars[leading..chars.len() - trailing].iter().collect()
}

fn fallback_byte(text: &str) -> Option<u8> {
    let hex = text.strip_prefix("<0x")?.strip_suffix('>')?;
    if hex.len() != 2 {
        return None;
    }
    u8::from_str_radix(hex, 16).ok()
}

/// The byte of each character below 512 in the byte-level alphabet: printable
/// Latin-1 characters stand for themselves, the other 68 bytes are given the
/// characters from U+0100 on, in order.
static LEVEL_BYTES: LazyLock<[Option<u8>; 512]> = LazyLock::new(|| {
    let mut table = [None; 512];
    let mut next = 256;
    for byte in 0..=255u8 {
        let is_printable = matches!(byte, 0x21..=0x7e | 0xa1..=0xac | 0xae..=0xff);
        if is_printable {
            table[byte as usize] = Some(byte);
        } else {
            table[next] = Some(byte);
            next += 1;
        }
    }
    table
});

fn level_bytes(text: &str) -> Vec<u8> {
    let mapped: Option<Vec<u8>> = text
        .chars()
        .map(|c| LEVEL_BYTES.get(c as usize).copied().flatten())
        .collect();
    // A token with any other character (an added token) is its own text.
    mapped.unwrap_or_else(|| text.as_bytes().to_vec())
}

/// Walks the decoder's JSON; `is_fused` means that the steps so far left one
/// single string instead of one for each token.
struct Builder {
    plan: StreamPlan,
    is_fused: bool,
}

impl Default for Builder {
    fn default() -> Self {
        Builder {
            plan: StreamPlan {
                steps: Vec::new(),
                bytes: Bytes::Text,
                joins_with_space: false,
                strip: None,
            },
            is_fused: false,
        }
    }
}

impl Builder {
    fn add(&mut self, json: &Json) -> Result<()> {
        let kind = json["type"].as_str().unwrap_or("(none)");
        match kind {
            "Sequence" => {
                for decoder in json["decoders"].as_array().into_iter().flatten() {
                    self.add(decoder)?;
                }
                Ok(())
            }
            "Fuse" => {
                self.is_fused = true;
                Ok(())
            }
            "ByteLevel" => {
                self.add_bytes(kind, Bytes::Level)?;
                self.is_fused = true;
                Ok(())
            }
            "ByteFallback" => self.add_bytes(kind, Bytes::Fallback),
            "Strip" => self.add_strip(json),
            "Replace" => self.add_replace(json),
            "Metaspace" => {
                let drops_first = json["prepend_scheme"] != "never";
                let replacement = single_char(json, kind, "replacement")?;
                self.add_step(
                    kind,
                    Step::Metaspace {
                        replacement,
                        drops_first,
                    },
                )
            }
            _ => Err(refusal(kind, "its text depends on tokens still to come")),
        }
    }

    fn add_bytes(&mut self, kind: &str, bytes: Bytes) -> Result<()> {
        if self.is_fused || self.plan.bytes != Bytes::Text {
            return Err(refusal(kind, "it follows Fuse or another byte decoder"));
        }
        self.plan.bytes = bytes;
        Ok(())
    }

    fn add_step(&mut self, kind: &str, step: Step) -> Result<()> {
        if self.is_fused || self.plan.bytes != Bytes::Text {
            return Err(refusal(kind, "it follows Fuse or a byte decoder"));
        }
        self.plan.steps.push(step);
        Ok(())
    }

    fn add_strip(&mut self, json: &Json) -> Result<()> {
        let content = single_char(json, "Strip", "content")?;
        let start = json["start"].as_u64().unwrap_or(0);
        let stop = json["stop"].as_u64().unwrap_or(0);
        if !self.is_fused {
            return self.add_step(
                "Strip",
                Step::Strip {
                    content,
                    start: start as usize,
                    stop: stop as usize,
                },
            );
        }
        if stop != 0 {
            return Err(refusal("Strip", "it cuts the end of the whole text"));
        }
        if self.plan.strip.is_some() {
            return Err(refusal("Strip", "it follows another Strip"));
        }
        let start = u32::try_from(start)
            .map_err(|_| refusal("Strip", "its start count is above 4294967295"))?;
        self.plan.strip = Some((content, start));
        Ok(())
    }

    fn add_replace(&mut self, json: &Json) -> Result<()> {
        let from = json["pattern"]["String"]
            .as_str()
            .ok_or_else(|| refusal("Replace", "its pattern is a regular expression"))?;
        let to = json["content"].as_str().unwrap_or("");
        self.add_step(
            "Replace",
            Step::Replace {
                from: from.to_string(),
                to: to.to_string(),
            },
        )
    }
}

fn single_char(json: &Json, kind: &str, key: &str) -> Result<char> {
    json[key]
        .as_str()
        .and_then(|text| text.chars().next())
        .ok_or_else(|| refusal(kind, "its character is missing"))
}

fn refusal(kind: &str, reason: &str) -> Error {
    Error::new(
        Code::Unsupported,
        format!(
            "decoder {kind} of tokenizer.json can't be streamed byte-exactly: {reason}; \
             supported are ByteLevel, Metaspace, and sequences of Replace, Strip, \
             ByteFallback and Fuse"
        ),
    )
}
