//! What one rendering may still spend.

use crate::error::{Code, Error, Result};
use crate::limits;

pub struct Budget {
    steps: u64,
    built: u64,
}

/// Bytes that are read or copied for the price of one step.
const BYTES_PER_STEP: u64 = 64;

fn exhausted(what: &str) -> Error {
    Error::new(Code::Limit, format!("the template {what}; it is refused"))
}

impl Budget {
    pub fn new() -> Self {
        Budget {
            steps: limits::MAX_TEMPLATE_STEPS,
            built: limits::MAX_TEMPLATE_BUILT_BYTES,
        }
    }

    /// One evaluation.
    pub fn step(&mut self) -> Result<()> {
        self.work(1)
    }

    fn work(&mut self, steps: u64) -> Result<()> {
        self.steps = self.steps.checked_sub(steps).ok_or_else(|| {
            exhausted(&format!(
                "needs more than {} steps",
                limits::MAX_TEMPLATE_STEPS
            ))
        })?;
        Ok(())
    }

    /// Reading `bytes` without keeping them.
    pub fn read(&mut self, bytes: usize) -> Result<()> {
        self.work(bytes as u64 / BYTES_PER_STEP)
    }

    /// A text of `bytes`, or a value of about that size, that is about to be made.
    pub fn build(&mut self, bytes: usize) -> Result<()> {
        self.read(bytes)?;
        self.built = self.built.checked_sub(bytes as u64).ok_or_else(|| {
            exhausted(&format!(
                "builds more than {} bytes of values",
                limits::MAX_TEMPLATE_BUILT_BYTES
            ))
        })?;
        Ok(())
    }

    /// `count` texts or values of `bytes` each, checked against overflow.
    pub fn build_many(&mut self, count: usize, bytes: usize) -> Result<()> {
        self.build(count.saturating_mul(bytes))
    }

    /// A list of `count` elements that are there already.
    pub fn build_items(&mut self, count: usize) -> Result<()> {
        self.build_many(count, std::mem::size_of::<super::value::Value>())
    }
}
