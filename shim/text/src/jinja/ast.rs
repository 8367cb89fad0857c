//! The tree of a template. Plain data, so that a compiled template can be
//! shared between threads.

use std::sync::Arc;

pub type Name = Arc<str>;

#[derive(Debug)]
pub struct Stmt {
    pub line: usize,
    pub kind: StmtKind,
}

#[derive(Debug)]
pub enum StmtKind {
    Text(String),
    Emit(Expr),
    If {
        branches: Vec<(Expr, Vec<Stmt>)>,
        otherwise: Vec<Stmt>,
    },
    For(Arc<For>),
    Set(Target, Expr),
    SetBlock(Target, Vec<FilterCall>, Vec<Stmt>),
    With(Vec<(Target, Expr)>, Vec<Stmt>),
    Macro(Arc<MacroDef>),
    CallBlock(Expr, Arc<MacroDef>),
    FilterBlock(Vec<FilterCall>, Vec<Stmt>),
    /// A body with its own variables.
    Scoped(Vec<Stmt>),
    Break,
    Continue,
}

#[derive(Debug)]
pub struct For {
    pub target: Target,
    pub iterable: Expr,
    pub test: Option<Expr>,
    pub is_recursive: bool,
    pub body: Vec<Stmt>,
    pub otherwise: Vec<Stmt>,
}

#[derive(Debug)]
pub struct MacroDef {
    pub name: Name,
    pub parameters: Vec<Name>,
    /// Of the last parameters.
    pub defaults: Vec<Expr>,
    pub body: Vec<Stmt>,
    pub uses_caller: bool,
    pub uses_varargs: bool,
    pub uses_kwargs: bool,
}

#[derive(Debug)]
pub enum Target {
    Name(Name),
    /// An attribute of a namespace.
    Attribute(Name, Name),
    Tuple(Vec<Target>),
}

#[derive(Debug)]
pub struct FilterCall {
    pub name: Name,
    pub args: Args,
}

#[derive(Debug, Default)]
pub struct Args {
    pub positional: Vec<Expr>,
    pub named: Vec<(Name, Expr)>,
    pub rest: Option<Box<Expr>>,
    pub named_rest: Option<Box<Expr>>,
}

#[derive(Debug)]
pub enum Expr {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Str(String),
    Name(Name),
    List(Vec<Expr>),
    Tuple(Vec<Expr>),
    Dict(Vec<(Expr, Expr)>),
    Attribute(Box<Expr>, Name),
    Item(Box<Expr>, Box<Expr>),
    /// start, stop, step
    Slice(Box<Expr>, Box<[Option<Expr>; 3]>),
    Call(Box<Expr>, Box<Args>),
    Filter(Box<Expr>, Box<FilterCall>),
    Test(Box<Expr>, Box<FilterCall>),
    Not(Box<Expr>),
    Negative(Box<Expr>),
    Positive(Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    Concat(Vec<Expr>),
    Compare(Box<Expr>, Vec<(CompareOp, Expr)>),
    /// condition, value, other value
    Conditional(Box<Expr>, Box<Expr>, Option<Box<Expr>>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinaryOp {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Modulo,
    Power,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompareOp {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    In,
    NotIn,
}
