//! A tokenizer.json and the questions that the C side asks about it.

use std::borrow::Cow;
use std::sync::OnceLock;

use tokenizers::models::ModelWrapper;
use tokenizers::Tokenizer as HfTokenizer;

use crate::error::{Code, Error, Result};
use crate::limits;
use crate::stream::{StreamPlan, TokenBytes};

pub struct Tokenizer {
    inner: HfTokenizer,
    /// The same vocabulary with "special tokens are ordinary text" switched on,
    /// made at its first use: the switch is a field of the tokenizer, and
    /// flipping it in place would race with other threads.
    literal: OnceLock<HfTokenizer>,
    id_limit: OnceLock<u64>,
    /// The error is kept: a tokenizer without a plan can still encode.
    plan: Result<StreamPlan>,
}

/// Ids of a text, and how many of them the post-processor put in front of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoded {
    pub ids: Vec<u32>,
    pub leading_count: usize,
}

impl Tokenizer {
    pub fn from_json(json: &[u8]) -> Result<Self> {
        if json.len() > limits::MAX_TOKENIZER_BYTES {
            return Err(Error::new(
                Code::Limit,
                format!(
                    "tokenizer.json has {} bytes; the limit is {}",
                    json.len(),
                    limits::MAX_TOKENIZER_BYTES
                ),
            ));
        }
        let mut inner =
            HfTokenizer::from_bytes(json).map_err(|e| Error::new(Code::Invalid, e.to_string()))?;
        if let ModelWrapper::BPE(bpe) = inner.get_model() {
            if bpe.dropout.is_some_and(|p| p > 0.0) {
                return Err(Error::new(
                    Code::Unsupported,
                    "model.dropout is set: its ids would be random; set it to null",
                ));
            }
        }
        inner
            .with_truncation(None)
            .map_err(|e| Error::new(Code::Invalid, e.to_string()))?;
        inner.with_padding(None);
        let plan = StreamPlan::for_decoder(inner.get_decoder());
        Ok(Tokenizer {
            inner,
            literal: OnceLock::new(),
            id_limit: OnceLock::new(),
            plan,
        })
    }

    fn literal(&self) -> &HfTokenizer {
        self.literal.get_or_init(|| {
            let mut copy = self.inner.clone();
            copy.set_encode_special_tokens(true);
            copy
        })
    }

    pub fn encode(&self, text: &[u8], add_special: bool, parse_special: bool) -> Result<Encoded> {
        if text.len() > limits::MAX_ENCODE_BYTES {
            return Err(Error::new(
                Code::Limit,
                format!(
                    "text has {} bytes; the limit of one encode call is {}",
                    text.len(),
                    limits::MAX_ENCODE_BYTES
                ),
            ));
        }
        let text: Cow<str> = String::from_utf8_lossy(text);
        let tokenizer = if parse_special {
            &self.inner
        } else {
            self.literal()
        };
        let encoding = tokenizer
            .encode_fast(text.as_ref(), add_special)
            .map_err(|e| Error::new(Code::Invalid, e.to_string()))?;
        let mask = encoding.get_special_tokens_mask();
        Ok(Encoded {
            ids: encoding.get_ids().to_vec(),
            leading_count: mask.iter().take_while(|is_added| **is_added != 0).count(),
        })
    }

    pub fn decode(&self, ids: &[u32], skip_special: bool) -> Result<String> {
        // Hugging Face's Strip and BPE decoders index into the token list, and
        // an empty one has nothing to decode.
        if ids.is_empty() {
            return Ok(String::new());
        }
        self.inner
            .decode(ids, skip_special)
            .map_err(|e| Error::new(Code::Invalid, e.to_string()))
    }

    pub fn plan(&self) -> Result<&StreamPlan> {
        self.plan.as_ref().map_err(Clone::clone)
    }

    pub fn token_bytes(&self, id: u32, is_first: bool) -> Result<TokenBytes> {
        let plan = self.plan()?;
        let token = self.id_to_token(id)?;
        Ok(plan.token_bytes(&token, is_first))
    }

    pub fn vocab_size(&self) -> usize {
        self.inner.get_vocab_size(true)
    }

    pub fn id_limit(&self) -> u64 {
        *self.id_limit.get_or_init(|| {
            let vocab = self.inner.get_vocab(true);
            vocab.values().max().map_or(0, |id| u64::from(*id) + 1)
        })
    }

    pub fn is_special(&self, id: u32) -> bool {
        let added = self.inner.get_added_vocabulary();
        // Asked by text, as `decode(skip_special_tokens)` asks it.
        self.inner
            .id_to_token(id)
            .is_some_and(|token| added.is_special_token(&token))
    }

    pub fn id_to_token(&self, id: u32) -> Result<String> {
        self.inner.id_to_token(id).ok_or_else(|| {
            Error::new(
                Code::NotFound,
                format!("token id {id} is not in the vocabulary"),
            )
        })
    }

    pub fn token_to_id(&self, token: &str) -> Result<u32> {
        self.inner.token_to_id(token).ok_or_else(|| {
            Error::new(
                Code::NotFound,
                format!("token {token:?} is not in the vocabulary"),
            )
        })
    }
}
