//! The parser's expressions, loosest operators first.

use std::sync::Arc;

use crate::error::Result;

use super::ast::*;
use super::lexer::Kind;
use super::parser::Parser;

impl Parser {
    pub(super) fn is_tuple_end(&self, extra: &[&str]) -> bool {
        match self.kind() {
            Kind::VariableEnd | Kind::BlockEnd | Kind::End => true,
            Kind::Op(op) => *op == ")",
            Kind::Name(name) => extra.contains(&name.as_str()),
            _ => false,
        }
    }

    /// An expression, or several with commas between them.
    pub(super) fn tuple(&mut self, with_condition: bool, ends: &[&str]) -> Result<Expr> {
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

    pub(super) fn expression(&mut self) -> Result<Expr> {
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

    pub(super) fn filter_call(&mut self) -> Result<FilterCall> {
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
