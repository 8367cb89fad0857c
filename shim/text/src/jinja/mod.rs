//! Jinja templates with the semantics that chat templates are written for:
//! jinja2 in Hugging Face's environment, Python values included.
//!
//! The engine is our own because the output has to be the same bytes: how
//! Python prints a list or a float, what `0 and x` is, which comparisons raise,
//! when a generator is exhausted. It is bounded in steps, bytes and depth, and
//! values are immutable (namespaces aside), as in jinja2's immutable sandbox.
//!
//! `lexer` and `parser` make the tree of `ast`; `machine` runs it on `value`s.

mod arguments;
pub mod ast;
mod attributes;
mod budget;
mod escapes;
mod expressions;
mod filters;
mod formatting;
mod functions;
mod json;
mod lexer;
mod loops;
pub mod machine;
mod numbers;
mod operators;
mod ordering;
pub mod parser;
mod predicates;
mod repr;
mod sequences;
mod strings;
mod text;
pub mod value;
