//! Tokens to a tree: one function per level of the grammar, from the loosest operator down.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "each level names the tokens that it takes and leaves all others to its caller"
)]

use std::ops::Range;

use serde_json::Value;

use super::error::{ExprError, code};
use super::node::{ExprComparison, ExprNode, ExprNodeKind};
use super::token::{ComparisonOperator, ExprToken, ExprTokenKind, tokens};
use crate::plan;

/// Bytes of an expression: a page, far more than anyone reads.
const TEXT_MAX: usize = 4096;
/// Brackets, `not`s and lists inside each other: what a small stack bears easily.
const DEPTH_MAX: usize = 32;

const FUNCTIONS: [&str; 4] = ["success", "failure", "always", "default"];

/// The tree of a text; status functions may be in it.
pub(super) fn parse(text: &str) -> Result<ExprNode, ExprError> {
    if text.len() > TEXT_MAX {
        let what = format!("the expression has {} bytes, at most {TEXT_MAX} are read", text.len());
        return Err(ExprError::new(code::EXPRESSION, 0..text.len(), what)
            .help("decide it in a step and read its output"));
    }
    let mut parser = ExprParser { text, tokens: tokens(text)?, next: 0, depth: 0 };
    let node = parser.any()?;
    match parser.peek() {
        ExprTokenKind::End => Ok(node),
        _ => Err(parser.unexpected("an operator")),
    }
}

struct ExprParser<'a> {
    text: &'a str,
    tokens: Vec<ExprToken<'a>>,
    next: usize,
    depth: usize,
}

impl<'a> ExprParser<'a> {
    fn any(&mut self) -> Result<ExprNode, ExprError> {
        let nodes = self.chain(&ExprTokenKind::Or, Self::all)?;
        Ok(self.joined(nodes, ExprNodeKind::Any))
    }

    fn all(&mut self) -> Result<ExprNode, ExprError> {
        let nodes = self.chain(&ExprTokenKind::And, Self::negation)?;
        Ok(self.joined(nodes, ExprNodeKind::All))
    }

    /// Operands with the same operator between them.
    fn chain(
        &mut self,
        operator: &ExprTokenKind<'_>,
        operand: impl Fn(&mut Self) -> Result<ExprNode, ExprError>,
    ) -> Result<Vec<ExprNode>, ExprError> {
        let mut nodes = vec![operand(self)?];
        while self.peek() == operator {
            self.next += 1;
            nodes.push(operand(self)?);
        }
        match nodes.iter().position(ExprNode::never_boolean) {
            Some(wrong) if nodes.len() > 1 => Err(self.never_boolean(&nodes, wrong)),
            _ => Ok(nodes),
        }
    }

    fn joined(
        &self,
        mut nodes: Vec<ExprNode>,
        kind: impl Fn(Vec<ExprNode>) -> ExprNodeKind,
    ) -> ExprNode {
        if nodes.len() == 1 {
            return nodes.remove(0);
        }
        let range = nodes[0].range.start..self.end();
        ExprNode { kind: kind(nodes), range }
    }

    fn negation(&mut self) -> Result<ExprNode, ExprError> {
        if *self.peek() != ExprTokenKind::Not {
            return self.comparison();
        }
        let start = self.take().range.start;
        let node = self.nested(Self::negation)?;
        if node.never_boolean() {
            return Err(self.never_boolean(&[node], 0));
        }
        Ok(ExprNode { range: start..node.range.end, kind: ExprNodeKind::Not(Box::new(node)) })
    }

    fn comparison(&mut self) -> Result<ExprNode, ExprError> {
        let left = self.operand()?;
        let Some(how) = self.operator() else { return Ok(left) };
        let right = self.operand()?;
        let range = left.range.start..self.end();
        if let Some(again) = self.operator() {
            let third = self.operand()?;
            let [a, b, c] = [&left, &right, &third].map(|node| self.slice(&node.range));
            let (first, second) = (how.sign(), again.sign());
            let range = range.start..self.end();
            return Err(ExprError::new(code::EXPRESSION, range, "comparisons do not chain")
                .help(format!("write {a} {first} {b} and {b} {second} {c}")));
        }
        Ok(ExprNode {
            range,
            kind: ExprNodeKind::Compare(Box::new(ExprComparison { left, operator: how, right })),
        })
    }

    /// The comparison that comes next, taken.
    fn operator(&mut self) -> Option<ComparisonOperator> {
        let after = self.tokens.get(self.next + 1).map(|token| &token.kind);
        let (how, length) = match self.peek() {
            ExprTokenKind::Compare(how) => (*how, 1),
            ExprTokenKind::In => (ComparisonOperator::In, 1),
            ExprTokenKind::Not if after == Some(&ExprTokenKind::In) => {
                (ComparisonOperator::NotIn, 2)
            }
            _ => return None,
        };
        self.next += length;
        Some(how)
    }

    fn operand(&mut self) -> Result<ExprNode, ExprError> {
        match self.peek().clone() {
            ExprTokenKind::Literal(value) => {
                Ok(ExprNode { kind: ExprNodeKind::Literal(value), range: self.take().range })
            }
            ExprTokenKind::Path(path) => self.path_or_call(path),
            ExprTokenKind::Open => self.bracket(),
            ExprTokenKind::OpenList => {
                let start = self.take().range.start;
                let items = self.nested(|parser| parser.items(&ExprTokenKind::CloseList, "]"))?;
                Ok(ExprNode { kind: ExprNodeKind::List(items), range: start..self.end() })
            }
            _ => Err(self.unexpected("a value")),
        }
    }

    fn bracket(&mut self) -> Result<ExprNode, ExprError> {
        let start = self.take().range.start;
        let inner = self.nested(Self::any)?;
        if *self.peek() != ExprTokenKind::Close {
            return Err(self.unexpected("`)`"));
        }
        self.take();
        Ok(ExprNode { kind: inner.kind, range: start..self.end() })
    }

    /// Expressions with commas between them, up to and with the closing token.
    fn items(&mut self, close: &ExprTokenKind<'_>, sign: &str) -> Result<Vec<ExprNode>, ExprError> {
        let mut items = Vec::new();
        while self.peek() != close {
            items.push(self.any()?);
            match self.peek() {
                ExprTokenKind::Comma => drop(self.take()),
                other if other == close => {}
                _ => return Err(self.unexpected(&format!("`,` or `{sign}`"))),
            }
        }
        self.take();
        Ok(items)
    }

    fn path_or_call(&mut self, path: &'a str) -> Result<ExprNode, ExprError> {
        let range = self.take().range;
        if *self.peek() == ExprTokenKind::Open {
            return self.call(path, range);
        }
        if let Some(error) = misspelled_word(path, &range) {
            return Err(error);
        }
        let names = path.split('.').map(str::to_owned).collect();
        Ok(ExprNode { kind: ExprNodeKind::Path(names), range })
    }

    fn call(&mut self, name: &str, range: Range<usize>) -> Result<ExprNode, ExprError> {
        if !FUNCTIONS.contains(&name) {
            return Err(unknown_function(name, range));
        }
        self.take();
        let arguments = self.nested(|parser| parser.items(&ExprTokenKind::Close, ")"))?;
        let count = arguments.len();
        let kind = match (name, <[ExprNode; 2]>::try_from(arguments)) {
            ("default", Ok(arguments)) => ExprNodeKind::Default(Box::new(arguments)),
            ("success", _) if count == 0 => ExprNodeKind::Status(plan::StatusCondition::Success),
            ("failure", _) if count == 0 => ExprNodeKind::Status(plan::StatusCondition::Failure),
            ("always", _) if count == 0 => ExprNodeKind::Status(plan::StatusCondition::Always),
            _ => return Err(wrong_arguments(name, count, range.start..self.end())),
        };
        Ok(ExprNode { kind, range: range.start..self.end() })
    }

    fn nested<T>(
        &mut self,
        inner: impl Fn(&mut Self) -> Result<T, ExprError>,
    ) -> Result<T, ExprError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            let range = self.tokens[self.next].range.clone();
            let what = format!("the expression is nested more than {DEPTH_MAX} deep");
            return Err(ExprError::new(code::EXPRESSION, range, what));
        }
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn peek(&self) -> &ExprTokenKind<'a> {
        &self.tokens[self.next].kind
    }

    /// The next token, which becomes the last one; the end is never passed.
    fn take(&mut self) -> ExprToken<'a> {
        let token = self.tokens[self.next].clone();
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        token
    }

    /// Where the token that was taken last ends.
    fn end(&self) -> usize {
        self.next.checked_sub(1).map_or(0, |last| self.tokens[last].range.end)
    }

    fn slice(&self, range: &Range<usize>) -> &'a str {
        &self.text[range.clone()]
    }

    fn unexpected(&self, wanted: &str) -> ExprError {
        let token = &self.tokens[self.next];
        let text = self.slice(&token.range);
        if let Some(error) = misspelled_word(text, &token.range) {
            return error;
        }
        let what = match token.kind {
            ExprTokenKind::Close | ExprTokenKind::CloseList if wanted == "an operator" => {
                format!("`{text}` closes nothing")
            }
            ExprTokenKind::End if self.next == 0 => "the expression is empty".to_owned(),
            ExprTokenKind::End => format!("{wanted} is missing at the end of the expression"),
            _ => format!("expected {wanted}, found `{text}`"),
        };
        let error = ExprError::new(code::EXPRESSION, token.range.clone(), what);
        let after_operand = self.next > 0 && wanted == "an operator";
        match token.kind {
            ExprTokenKind::OpenList if after_operand => {
                error.help("there are no subscripts: names are joined by dots")
            }
            ExprTokenKind::Literal(Value::Number(_)) if after_operand && text.starts_with('-') => {
                error.help("there is no arithmetic: compute it in a step and read its output")
            }
            ExprTokenKind::Close | ExprTokenKind::CloseList => error,
            _ if after_operand => error.help("operators are: and or not in == != < <= > >="),
            _ => error,
        }
    }

    /// `nodes[wrong]`, an operand of `and`, `or` or `not`, is a text, a number, a list or null.
    fn never_boolean(&self, nodes: &[ExprNode], wrong: usize) -> ExprError {
        let node = &nodes[wrong];
        let text = self.slice(&node.range);
        let what = format!("`{text}` is neither true nor false");
        let error = ExprError::new(code::NOT_A_BOOLEAN, node.range.clone(), what);
        // `x == "a" or "b"`, as one would say it.
        let before = wrong.checked_sub(1).map(|index| &nodes[index].kind);
        match before {
            Some(ExprNodeKind::Compare(compare))
                if compare.operator == ComparisonOperator::Equal =>
            {
                let (left, right) =
                    (self.slice(&compare.left.range), self.slice(&compare.right.range));
                error.help(format!("to ask for one of several: {left} in [{right}, {text}]"))
            }
            _ => error.help("`and`, `or` and `not` join comparisons, such as params.x == \"a\""),
        }
    }
}

/// A name that is almost a word of the language: `True`, `AND`, `always` without `()`.
fn misspelled_word(path: &str, range: &Range<usize>) -> Option<ExprError> {
    const WORDS: [&str; 7] = ["and", "or", "not", "in", "true", "false", "null"];
    let refused = |write: &str| {
        ExprError::new(code::EXPRESSION, range.clone(), format!("`{path}` is not known"))
            .help(format!("write `{write}`"))
    };
    if FUNCTIONS.contains(&path) {
        let call =
            if path == "default" { "default(value, fallback)" } else { &format!("{path}()") };
        return Some(refused(call));
    }
    let word = WORDS.iter().find(|word| word.eq_ignore_ascii_case(path) && **word != path);
    let word = word.copied().or(["None", "nil"].contains(&path).then_some("null"));
    word.map(refused)
}

fn unknown_function(name: &str, range: Range<usize>) -> ExprError {
    let error = ExprError::new(code::EXPRESSION, range, format!("there is no function `{name}()`"));
    let close = |other: &&str| {
        let lower = name.to_ascii_lowercase();
        lower.starts_with(&other[..4]) || edit_distance(&lower, other) <= 2
    };
    match FUNCTIONS.into_iter().find(close) {
        Some(near) => error.help(format!("did you mean `{near}()`?")),
        None => error.help(
            "functions are success(), failure(), always() in `if:`, and default(value, fallback)",
        ),
    }
}

fn wrong_arguments(name: &str, count: usize, range: Range<usize>) -> ExprError {
    let (takes, form) = match name {
        "default" => ("two values", "default(params.x, \"fallback\")".to_owned()),
        _ => ("no values", format!("{name}()")),
    };
    ExprError::new(code::EXPRESSION, range, format!("`{name}` takes {takes}, not {count}"))
        .help(format!("write `{form}`"))
}

/// The edit distance between two short words; beyond 16 letters it is no misspelling and not computed.
fn edit_distance(a: &str, b: &str) -> usize {
    if a.len() > 16 {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let changed = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
