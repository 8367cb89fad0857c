//! Limits of the shim, each with its reason.

/// Text given to one encode call: far above any context length, small enough
/// that the working memory of an encode (about 150 bytes per byte) stays bounded.
pub const MAX_ENCODE_BYTES: usize = 64 << 20;

/// A tokenizer.json; the largest published ones are about 35 MB.
pub const MAX_TOKENIZER_BYTES: usize = 256 << 20;

/// Source of a template; published ones are below 32 KiB.
pub const MAX_TEMPLATE_BYTES: usize = 1 << 20;

/// JSON of one variable: a long conversation with documents and tools.
pub const MAX_VARIABLE_BYTES: usize = 64 << 20;

/// Nodes that one rendering may evaluate. A turn of a conversation costs some
/// hundreds, so this is about 100,000 turns; an endless template stops in seconds.
pub const MAX_TEMPLATE_STEPS: u64 = 50_000_000;

/// Bytes of text and values that one rendering may build, all together. A
/// template that appends every turn to one growing text copies about
/// turns x length / 2: 1000 turns of 1 KiB are half of this.
pub const MAX_TEMPLATE_BUILT_BYTES: u64 = 1 << 30;

/// Rendered text, equal to the largest text that can be encoded.
pub const MAX_RENDERED_BYTES: usize = MAX_ENCODE_BYTES;

/// Nesting of blocks and expressions in a template's source, and length of one
/// operator chain. Published templates stay below 30.
pub const MAX_SYNTAX_DEPTH: usize = 200;

/// Nested evaluations (macros calling macros, mostly); Python gives up at
/// about a third of it.
pub const MAX_EVALUATION_DEPTH: usize = 1000;

/// Lists within lists; the JSON parser allows 128.
pub const MAX_VALUE_DEPTH: usize = 200;

/// Elements of range(), as in jinja2's sandbox.
pub const MAX_RANGE: i128 = 100_000;

/// Stack of the thread that parses or renders. The depths above need less than
/// 8 MiB; callers' threads may be smaller. Pages that aren't touched cost nothing.
pub const TEMPLATE_STACK_BYTES: usize = 64 << 20;
