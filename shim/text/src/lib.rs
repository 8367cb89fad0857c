//! Hugging Face tokenizers and chat templates behind a plain C ABI
//! (`include/mlxcel_text.h`).

mod error;
mod ffi;
mod jinja;
mod limits;
pub mod stream;
pub mod template;
pub mod tokenizer;

pub use error::{Code, Error};
