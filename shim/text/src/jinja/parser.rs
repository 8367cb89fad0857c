//! Tokens to the tree: statements; expressions are in `expressions`.

use std::sync::Arc;

use crate::error::{Code, Error, Result};
use crate::limits::MAX_SYNTAX_DEPTH;

use super::ast::*;
use super::lexer::{lex, syntax_error, Kind, Token};

pub fn parse(source: &str) -> Result<Vec<Stmt>> {
    let mut parser = Parser {
        tokens: lex(source)?,
        at: 0,
        depth: 0,
        loops: 0,
        macros: Vec::new(),
    };
    parser.statements(&[], None)
}

/// Which of the implicit names a macro's body mentions.
#[derive(Default)]
pub(super) struct Mentions {
    pub caller: bool,
    pub varargs: bool,
    pub kwargs: bool,
}

pub(super) struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    loops: usize,
    pub(super) macros: Vec<Mentions>,
}

const CONSTANTS: [&str; 6] = ["true", "false", "none", "True", "False", "None"];

/// Tags of jinja2 that need other templates or that no chat template may use.
const REFUSED_TAGS: [&str; 8] = [
    "extends",
    "include",
    "import",
    "from",
    "block",
    "autoescape",
    "trans",
    "do",
];

impl Parser {
    pub(super) fn kind(&self) -> &Kind {
        &self.tokens[self.at].kind
    }

    pub(super) fn look(&self) -> &Kind {
        let next = (self.at + 1).min(self.tokens.len() - 1);
        &self.tokens[next].kind
    }

    pub(super) fn line(&self) -> usize {
        self.tokens[self.at].line
    }

    pub(super) fn next(&mut self) {
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
    }

    pub(super) fn error(&self, message: impl std::fmt::Display) -> Error {
        syntax_error(self.line(), message)
    }

    pub(super) fn unexpected(&self, wanted: &str) -> Error {
        let found = match self.kind() {
            Kind::Name(name) => format!("'{name}'"),
            Kind::Op(op) => format!("'{op}'"),
            Kind::Str(text) => format!("the string '{text}'"),
            Kind::Int(value) => value.to_string(),
            Kind::Float(value) => value.to_string(),
            Kind::BlockEnd => "the end of the block".into(),
            Kind::VariableEnd => "the end of the expression".into(),
            _ => "the end of the template".into(),
        };
        self.error(format!("found {found} where {wanted} belongs"))
    }

    pub(super) fn is_op(&self, op: &str) -> bool {
        matches!(self.kind(), Kind::Op(found) if *found == op)
    }

    pub(super) fn is_name(&self, name: &str) -> bool {
        matches!(self.kind(), Kind::Name(found) if found == name)
    }

    pub(super) fn skip_op(&mut self, op: &str) -> bool {
        let found = self.is_op(op);
        if found {
            self.next();
        }
        found
    }

    pub(super) fn skip_name(&mut self, name: &str) -> bool {
        let found = self.is_name(name);
        if found {
            self.next();
        }
        found
    }

    pub(super) fn expect_op(&mut self, op: &str) -> Result<()> {
        if self.skip_op(op) {
            Ok(())
        } else {
            Err(self.unexpected(&format!("'{op}'")))
        }
    }

    pub(super) fn expect_name(&mut self) -> Result<Name> {
        let Kind::Name(name) = self.kind() else {
            return Err(self.unexpected("a name"));
        };
        let name: Name = Arc::from(name.as_str());
        self.next();
        Ok(name)
    }

    fn expect_end(&mut self, end: Kind) -> Result<()> {
        if *self.kind() != end {
            return Err(self.unexpected("the end of the tag"));
        }
        self.next();
        Ok(())
    }

    /// Runs `body` one level deeper, within the limit.
    pub(super) fn nested<T>(&mut self, body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth += 1;
        if self.depth > MAX_SYNTAX_DEPTH {
            return Err(self.too_deep());
        }
        let outcome = body(self);
        self.depth -= 1;
        outcome
    }

    fn too_deep(&self) -> Error {
        Error::new(
            Code::Limit,
            format!(
                "line {}: nesting or an operator chain is longer than {MAX_SYNTAX_DEPTH}",
                self.line()
            ),
        )
    }

    /// Refuses a chain that would make the tree deeper than the limit.
    pub(super) fn check_chain(&self, length: usize) -> Result<()> {
        if length > MAX_SYNTAX_DEPTH {
            Err(self.too_deep())
        } else {
            Ok(())
        }
    }

    // --- statements ---------------------------------------------------------

    /// Statements up to the first of the tags `ends`, whose name is left as
    /// the current token; without `ends`, up to the end of the template.
    fn statements(&mut self, ends: &[&str], opener: Option<&str>) -> Result<Vec<Stmt>> {
        self.nested(|p| p.statements_here(ends, opener))
    }

    fn statements_here(&mut self, ends: &[&str], opener: Option<&str>) -> Result<Vec<Stmt>> {
        let mut body = Vec::new();
        loop {
            let line = self.line();
            let kind = match self.kind().clone() {
                Kind::Data(text) => {
                    self.next();
                    StmtKind::Text(text)
                }
                Kind::VariableBegin => {
                    self.next();
                    let expr = self.tuple(true, &[])?;
                    self.expect_end(Kind::VariableEnd)?;
                    StmtKind::Emit(expr)
                }
                Kind::BlockBegin => {
                    self.next();
                    if let Kind::Name(name) = self.kind() {
                        if ends.contains(&name.as_str()) {
                            return Ok(body);
                        }
                    }
                    let kind = self.statement()?;
                    self.expect_end(Kind::BlockEnd)?;
                    kind
                }
                Kind::End if opener.is_none() => return Ok(body),
                _ => {
                    return Err(self.error(format!(
                        "{{% {} %}} has no end; close it with {{% {} %}}",
                        opener.unwrap_or(""),
                        ends.last().unwrap_or(&"")
                    )));
                }
            };
            body.push(Stmt { line, kind });
        }
    }

    /// The rest of an opening tag and the body up to `ends`.
    fn body(&mut self, opener: &str, ends: &[&str]) -> Result<Vec<Stmt>> {
        self.skip_op(":");
        self.expect_end(Kind::BlockEnd)?;
        self.statements(ends, Some(opener))
    }

    /// A body that ends with `end`, which is passed.
    fn whole_body(&mut self, opener: &str, end: &str) -> Result<Vec<Stmt>> {
        let body = self.body(opener, &[end])?;
        self.next();
        Ok(body)
    }

    fn statement(&mut self) -> Result<StmtKind> {
        let Kind::Name(tag) = self.kind().clone() else {
            return Err(self.unexpected("the name of a tag"));
        };
        if REFUSED_TAGS.contains(&tag.as_str()) {
            return Err(Error::new(
                Code::Unsupported,
                format!("line {}: the tag '{tag}' is not supported", self.line()),
            ));
        }
        self.next();
        match tag.as_str() {
            "for" => self.for_loop(),
            "if" => self.if_block(),
            "set" => self.set(),
            "with" => self.with(),
            "macro" => self.macro_block(),
            "call" => self.call_block(),
            "filter" => {
                let filters = self.filter_chain()?;
                Ok(StmtKind::FilterBlock(
                    filters,
                    self.whole_body("filter", "endfilter")?,
                ))
            }
            "generation" => Ok(StmtKind::Scoped(
                self.whole_body("generation", "endgeneration")?,
            )),
            "print" => Ok(StmtKind::Emit(self.tuple(true, &[])?)),
            "break" | "continue" => {
                if self.loops == 0 {
                    return Err(self.error(format!("'{tag}' stands outside of a loop")));
                }
                Ok(if tag == "break" {
                    StmtKind::Break
                } else {
                    StmtKind::Continue
                })
            }
            _ => Err(self.error(format!("unknown tag '{tag}'"))),
        }
    }

    fn for_loop(&mut self) -> Result<StmtKind> {
        let target = self.target_tuple(false)?;
        if !self.skip_name("in") {
            return Err(self.unexpected("'in'"));
        }
        let iterable = self.tuple(false, &["recursive"])?;
        let test = if self.skip_name("if") {
            Some(self.expression()?)
        } else {
            None
        };
        let is_recursive = self.skip_name("recursive");
        self.loops += 1;
        let body = self.body("for", &["else", "endfor"])?;
        self.loops -= 1;
        let otherwise = if self.skip_name("else") {
            self.body("for", &["endfor"])?
        } else {
            Vec::new()
        };
        self.next();
        Ok(StmtKind::For(Arc::new(For {
            target,
            iterable,
            test,
            is_recursive,
            body,
            otherwise,
        })))
    }

    fn if_block(&mut self) -> Result<StmtKind> {
        let mut branches = Vec::new();
        loop {
            let condition = self.tuple(false, &[])?;
            let body = self.body("if", &["elif", "else", "endif"])?;
            branches.push((condition, body));
            if !self.skip_name("elif") {
                break;
            }
        }
        let otherwise = if self.skip_name("else") {
            self.body("if", &["endif"])?
        } else {
            Vec::new()
        };
        self.next();
        Ok(StmtKind::If {
            branches,
            otherwise,
        })
    }

    fn set(&mut self) -> Result<StmtKind> {
        let target = self.target_tuple(true)?;
        if self.skip_op("=") {
            return Ok(StmtKind::Set(target, self.tuple(true, &[])?));
        }
        let filters = if self.skip_op("|") {
            self.filter_chain()?
        } else {
            Vec::new()
        };
        let body = self.whole_body("set", "endset")?;
        Ok(StmtKind::SetBlock(target, filters, body))
    }

    fn with(&mut self) -> Result<StmtKind> {
        let mut values = Vec::new();
        while *self.kind() != Kind::BlockEnd {
            if !values.is_empty() {
                self.expect_op(",")?;
            }
            // A tuple would take the comma that separates assignments.
            let target = self.target(false)?;
            self.expect_op("=")?;
            values.push((target, self.expression()?));
        }
        Ok(StmtKind::With(values, self.whole_body("with", "endwith")?))
    }

    /// A macro's parameters and body; `opener` is "macro" or "call".
    fn definition(
        &mut self,
        name: Name,
        signature: (Vec<Name>, Vec<Expr>),
        opener: &str,
        end: &str,
    ) -> Result<Arc<MacroDef>> {
        let loops = std::mem::replace(&mut self.loops, 0);
        self.macros.push(Mentions::default());
        let body = self.whole_body(opener, end)?;
        let mentions = self.macros.pop().unwrap_or_default();
        self.loops = loops;
        Ok(Arc::new(MacroDef {
            name,
            parameters: signature.0,
            defaults: signature.1,
            body,
            uses_caller: mentions.caller,
            uses_varargs: mentions.varargs,
            uses_kwargs: mentions.kwargs,
        }))
    }

    fn macro_block(&mut self) -> Result<StmtKind> {
        let name = self.expect_name()?;
        let signature = self.signature()?;
        let definition = self.definition(name, signature, "macro", "endmacro")?;
        Ok(StmtKind::Macro(definition))
    }

    fn call_block(&mut self) -> Result<StmtKind> {
        let signature = if self.is_op("(") {
            self.signature()?
        } else {
            (Vec::new(), Vec::new())
        };
        let call = self.expression()?;
        if !matches!(call, Expr::Call(..)) {
            return Err(self.error("{% call %} needs a call, as in {% call name() %}"));
        }
        let definition = self.definition(Arc::from("caller"), signature, "call", "endcall")?;
        Ok(StmtKind::CallBlock(call, definition))
    }

    fn signature(&mut self) -> Result<(Vec<Name>, Vec<Expr>)> {
        let mut parameters = Vec::new();
        let mut defaults = Vec::new();
        self.expect_op("(")?;
        while !self.is_op(")") {
            if !parameters.is_empty() {
                self.expect_op(",")?;
            }
            parameters.push(self.expect_name()?);
            if self.skip_op("=") {
                defaults.push(self.expression()?);
            } else if !defaults.is_empty() {
                return Err(self.error("a parameter without default follows one with a default"));
            }
        }
        self.expect_op(")")?;
        Ok((parameters, defaults))
    }

    fn filter_chain(&mut self) -> Result<Vec<FilterCall>> {
        let mut filters = vec![self.filter_call()?];
        while self.skip_op("|") {
            filters.push(self.filter_call()?);
        }
        Ok(filters)
    }

    // --- targets of assignments ---------------------------------------------

    fn target(&mut self, with_namespace: bool) -> Result<Target> {
        if self.skip_op("(") {
            let target = self.nested(|p| p.target_tuple(with_namespace))?;
            self.expect_op(")")?;
            return Ok(target);
        }
        let name = self.expect_name()?;
        if CONSTANTS.contains(&&*name) {
            return Err(self.error(format!("can't assign to '{name}'")));
        }
        if with_namespace && self.skip_op(".") {
            return Ok(Target::Attribute(name, self.expect_name()?));
        }
        Ok(Target::Name(name))
    }

    fn target_tuple(&mut self, with_namespace: bool) -> Result<Target> {
        let first = self.target(with_namespace)?;
        if !self.is_op(",") {
            return Ok(first);
        }
        let mut targets = vec![first];
        while self.skip_op(",") {
            if self.is_tuple_end(&["in"]) || self.is_op("=") {
                break;
            }
            targets.push(self.target(with_namespace)?);
        }
        Ok(Target::Tuple(targets))
    }
}
