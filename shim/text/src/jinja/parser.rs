//! Tokens to the tree: statements here, expressions in `Parser`'s second half.

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
struct Mentions {
    caller: bool,
    varargs: bool,
    kwargs: bool,
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    loops: usize,
    macros: Vec<Mentions>,
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
    fn kind(&self) -> &Kind {
        &self.tokens[self.at].kind
    }

    fn look(&self) -> &Kind {
        let next = (self.at + 1).min(self.tokens.len() - 1);
        &self.tokens[next].kind
    }

    fn line(&self) -> usize {
        self.tokens[self.at].line
    }

    fn next(&mut self) {
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
    }

    fn error(&self, message: impl std::fmt::Display) -> Error {
        syntax_error(self.line(), message)
    }

    fn unexpected(&self, wanted: &str) -> Error {
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

    fn is_op(&self, op: &str) -> bool {
        matches!(self.kind(), Kind::Op(found) if *found == op)
    }

    fn is_name(&self, name: &str) -> bool {
        matches!(self.kind(), Kind::Name(found) if found == name)
    }

    fn skip_op(&mut self, op: &str) -> bool {
        let found = self.is_op(op);
        if found {
            self.next();
        }
        found
    }

    fn skip_name(&mut self, name: &str) -> bool {
        let found = self.is_name(name);
        if found {
            self.next();
        }
        found
    }

    fn expect_op(&mut self, op: &str) -> Result<()> {
        if self.skip_op(op) {
            Ok(())
        } else {
            Err(self.unexpected(&format!("'{op}'")))
        }
    }

    fn expect_name(&mut self) -> Result<Name> {
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
    fn nested<T>(&mut self, body: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
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
    fn check_chain(&self, length: usize) -> Result<()> {
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

    // --- expressions --------------------------------------------------------

    fn is_tuple_end(&self, extra: &[&str]) -> bool {
        match self.kind() {
            Kind::VariableEnd | Kind::BlockEnd | Kind::End => true,
            Kind::Op(op) => *op == ")",
            Kind::Name(name) => extra.contains(&name.as_str()),
            _ => false,
        }
    }

    /// An expression, or several with commas between them.
    fn tuple(&mut self, with_condition: bool, ends: &[&str]) -> Result<Expr> {
        let first = self.tuple_item(with_condition)?;
        if !self.is_op(",") {
            return Ok(first);
        }
        let mut items = vec![first];
        while self.skip_op(",") {
            if self.is_tuple_end(ends) {
                break;
            }
            items.push(self.tuple_item(with_condition)?);
        }
        Ok(Expr::Tuple(items))
    }

    fn tuple_item(&mut self, with_condition: bool) -> Result<Expr> {
        if with_condition {
            self.expression()
        } else {
            self.nested(Self::or)
        }
    }

    fn expression(&mut self) -> Result<Expr> {
        self.nested(|p| {
            let mut value = p.or()?;
            let mut length = 0;
            while p.skip_name("if") {
                length += 1;
                p.check_chain(length)?;
                let condition = p.or()?;
                let other = if p.skip_name("else") {
                    Some(Box::new(p.expression()?))
                } else {
                    None
                };
                value = Expr::Conditional(Box::new(condition), Box::new(value), other);
            }
            Ok(value)
        })
    }

    fn or(&mut self) -> Result<Expr> {
        let mut left = self.and()?;
        let mut length = 0;
        while self.skip_name("or") {
            length += 1;
            self.check_chain(length)?;
            left = Expr::Or(Box::new(left), Box::new(self.and()?));
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<Expr> {
        let mut left = self.not()?;
        let mut length = 0;
        while self.skip_name("and") {
            length += 1;
            self.check_chain(length)?;
            left = Expr::And(Box::new(left), Box::new(self.not()?));
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Expr> {
        if self.skip_name("not") {
            let operand = self.nested(Self::not)?;
            return Ok(Expr::Not(Box::new(operand)));
        }
        self.compare()
    }

    fn compare_op(&mut self) -> Option<CompareOp> {
        let op = match self.kind() {
            Kind::Op("==") => CompareOp::Equal,
            Kind::Op("!=") => CompareOp::NotEqual,
            Kind::Op("<") => CompareOp::Less,
            Kind::Op("<=") => CompareOp::LessEqual,
            Kind::Op(">") => CompareOp::Greater,
            Kind::Op(">=") => CompareOp::GreaterEqual,
            Kind::Name(name) if name == "in" => CompareOp::In,
            Kind::Name(name) if name == "not" => {
                if !matches!(self.look(), Kind::Name(next) if next == "in") {
                    return None;
                }
                self.next();
                CompareOp::NotIn
            }
            _ => return None,
        };
        self.next();
        Some(op)
    }

    fn compare(&mut self) -> Result<Expr> {
        let first = self.sum()?;
        let mut rest = Vec::new();
        while let Some(op) = self.compare_op() {
            rest.push((op, self.sum()?));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        Ok(Expr::Compare(Box::new(first), rest))
    }

    /// A left-associative chain of binary operators.
    fn chain(
        &mut self,
        operand: fn(&mut Self) -> Result<Expr>,
        ops: &[(&str, BinaryOp)],
    ) -> Result<Expr> {
        let mut left = operand(self)?;
        let mut length = 0;
        while let Some((_, op)) = ops.iter().find(|(text, _)| self.is_op(text)) {
            self.next();
            length += 1;
            self.check_chain(length)?;
            left = Expr::Binary(*op, Box::new(left), Box::new(operand(self)?));
        }
        Ok(left)
    }

    fn sum(&mut self) -> Result<Expr> {
        self.chain(
            Self::concat,
            &[("+", BinaryOp::Add), ("-", BinaryOp::Subtract)],
        )
    }

    fn concat(&mut self) -> Result<Expr> {
        let first = self.product()?;
        if !self.is_op("~") {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.skip_op("~") {
            parts.push(self.product()?);
        }
        Ok(Expr::Concat(parts))
    }

    fn product(&mut self) -> Result<Expr> {
        self.chain(
            Self::power,
            &[
                ("*", BinaryOp::Multiply),
                ("/", BinaryOp::Divide),
                ("//", BinaryOp::FloorDivide),
                ("%", BinaryOp::Modulo),
            ],
        )
    }

    fn power(&mut self) -> Result<Expr> {
        self.chain(|p| p.unary(true), &[("**", BinaryOp::Power)])
    }

    fn unary(&mut self, with_filter: bool) -> Result<Expr> {
        let node = if self.skip_op("-") {
            let operand = self.nested(|p| p.unary(false))?;
            Expr::Negative(Box::new(operand))
        } else if self.skip_op("+") {
            let operand = self.nested(|p| p.unary(false))?;
            Expr::Positive(Box::new(operand))
        } else {
            self.primary()?
        };
        let node = self.postfix(node)?;
        if with_filter {
            self.filters_and_tests(node)
        } else {
            Ok(node)
        }
    }

    fn primary(&mut self) -> Result<Expr> {
        match self.kind().clone() {
            Kind::Name(name) => {
                self.next();
                Ok(self.name(&name))
            }
            Kind::Str(mut text) => {
                self.next();
                while let Kind::Str(more) = self.kind() {
                    text.push_str(more);
                    self.next();
                }
                Ok(Expr::Str(text))
            }
            Kind::Int(value) => {
                self.next();
                Ok(Expr::Int(value))
            }
            Kind::Float(value) => {
                self.next();
                Ok(Expr::Float(value))
            }
            Kind::Op("(") => self.parenthesized(),
            Kind::Op("[") => self.list(),
            Kind::Op("{") => self.dict(),
            _ => Err(self.unexpected("an expression")),
        }
    }

    fn name(&mut self, name: &str) -> Expr {
        for mentions in &mut self.macros {
            mentions.caller |= name == "caller";
            mentions.varargs |= name == "varargs";
            mentions.kwargs |= name == "kwargs";
        }
        match name {
            "true" | "True" => Expr::Bool(true),
            "false" | "False" => Expr::Bool(false),
            "none" | "None" => Expr::None,
            _ => Expr::Name(Arc::from(name)),
        }
    }

    fn parenthesized(&mut self) -> Result<Expr> {
        self.next();
        let value = if self.is_op(")") {
            Expr::Tuple(Vec::new())
        } else {
            self.tuple(true, &[])?
        };
        self.expect_op(")")?;
        Ok(value)
    }

    fn list(&mut self) -> Result<Expr> {
        self.next();
        let mut items = Vec::new();
        while !self.is_op("]") {
            if !items.is_empty() {
                self.expect_op(",")?;
                if self.is_op("]") {
                    break;
                }
            }
            items.push(self.expression()?);
        }
        self.expect_op("]")?;
        Ok(Expr::List(items))
    }

    fn dict(&mut self) -> Result<Expr> {
        self.next();
        let mut items = Vec::new();
        while !self.is_op("}") {
            if !items.is_empty() {
                self.expect_op(",")?;
                if self.is_op("}") {
                    break;
                }
            }
            let key = self.expression()?;
            self.expect_op(":")?;
            items.push((key, self.expression()?));
        }
        self.expect_op("}")?;
        Ok(Expr::Dict(items))
    }

    fn postfix(&mut self, mut node: Expr) -> Result<Expr> {
        let mut length = 0;
        loop {
            length += 1;
            self.check_chain(length)?;
            node = if self.skip_op(".") {
                self.attribute(node)?
            } else if self.skip_op("[") {
                self.subscript(node)?
            } else if self.is_op("(") {
                Expr::Call(Box::new(node), Box::new(self.args()?))
            } else {
                return Ok(node);
            };
        }
    }

    fn attribute(&mut self, node: Expr) -> Result<Expr> {
        if let Kind::Int(index) = *self.kind() {
            self.next();
            return Ok(Expr::Item(Box::new(node), Box::new(Expr::Int(index))));
        }
        Ok(Expr::Attribute(Box::new(node), self.expect_name()?))
    }

    fn subscript(&mut self, node: Expr) -> Result<Expr> {
        let start = if self.is_op(":") {
            None
        } else {
            Some(self.tuple_in_brackets()?)
        };
        if !self.is_op(":") {
            self.expect_op("]")?;
            let Some(index) = start else {
                return Err(self.unexpected("an expression"));
            };
            return Ok(Expr::Item(Box::new(node), Box::new(index)));
        }
        self.next();
        let stop = self.slice_part()?;
        let step = if self.skip_op(":") {
            self.slice_part()?
        } else {
            None
        };
        self.expect_op("]")?;
        Ok(Expr::Slice(Box::new(node), Box::new([start, stop, step])))
    }

    fn tuple_in_brackets(&mut self) -> Result<Expr> {
        let first = self.expression()?;
        if !self.is_op(",") {
            return Ok(first);
        }
        let mut items = vec![first];
        while self.skip_op(",") {
            items.push(self.expression()?);
        }
        Ok(Expr::Tuple(items))
    }

    fn slice_part(&mut self) -> Result<Option<Expr>> {
        if self.is_op(":") || self.is_op("]") {
            Ok(None)
        } else {
            self.expression().map(Some)
        }
    }

    fn args(&mut self) -> Result<Args> {
        self.expect_op("(")?;
        let mut args = Args::default();
        let mut is_first = true;
        while !self.is_op(")") {
            if !is_first {
                self.expect_op(",")?;
                if self.is_op(")") {
                    break;
                }
            }
            is_first = false;
            self.arg(&mut args)?;
        }
        self.expect_op(")")?;
        Ok(args)
    }

    fn arg(&mut self, args: &mut Args) -> Result<()> {
        let is_named = matches!(self.kind(), Kind::Name(_)) && *self.look() == Kind::Op("=");
        let is_misplaced = if self.is_op("*") {
            args.rest.is_some() || args.named_rest.is_some()
        } else if self.is_op("**") || is_named {
            args.named_rest.is_some()
        } else {
            args.rest.is_some() || args.named_rest.is_some() || !args.named.is_empty()
        };
        if is_misplaced {
            return Err(self.error("an argument of a call stands in the wrong place"));
        }
        if self.skip_op("*") {
            args.rest = Some(Box::new(self.expression()?));
        } else if self.skip_op("**") {
            args.named_rest = Some(Box::new(self.expression()?));
        } else if is_named {
            let name = self.expect_name()?;
            self.next();
            args.named.push((name, self.expression()?));
        } else {
            args.positional.push(self.expression()?);
        }
        Ok(())
    }

    fn filters_and_tests(&mut self, mut node: Expr) -> Result<Expr> {
        let mut length = 0;
        loop {
            length += 1;
            self.check_chain(length)?;
            node = if self.skip_op("|") {
                Expr::Filter(Box::new(node), Box::new(self.filter_call()?))
            } else if self.skip_name("is") {
                self.test(node)?
            } else if self.is_op("(") {
                Expr::Call(Box::new(node), Box::new(self.args()?))
            } else {
                return Ok(node);
            };
        }
    }

    fn dotted_name(&mut self) -> Result<Name> {
        let mut name = self.expect_name()?.to_string();
        while self.skip_op(".") {
            name.push('.');
            name.push_str(&self.expect_name()?);
        }
        Ok(Arc::from(name))
    }

    fn filter_call(&mut self) -> Result<FilterCall> {
        let name = self.dotted_name()?;
        let args = if self.is_op("(") {
            self.args()?
        } else {
            Args::default()
        };
        Ok(FilterCall { name, args })
    }

    fn test(&mut self, node: Expr) -> Result<Expr> {
        let is_negated = self.skip_name("not");
        let name = self.dotted_name()?;
        let args = if self.is_op("(") {
            self.args()?
        } else if self.starts_test_argument() {
            if self.is_name("is") {
                return Err(self.error("tests with 'is' can't be chained"));
            }
            let argument = self.primary()?;
            Args {
                positional: vec![self.postfix(argument)?],
                ..Args::default()
            }
        } else {
            Args::default()
        };
        let test = Expr::Test(Box::new(node), Box::new(FilterCall { name, args }));
        Ok(if is_negated {
            Expr::Not(Box::new(test))
        } else {
            test
        })
    }

    fn starts_test_argument(&self) -> bool {
        match self.kind() {
            Kind::Name(name) => !matches!(name.as_str(), "else" | "or" | "and"),
            Kind::Str(_) | Kind::Int(_) | Kind::Float(_) => true,
            Kind::Op(op) => matches!(*op, "[" | "{"),
            _ => false,
        }
    }
}
