//! Parses tokens to a tree: one function per level of the grammar, from the operator with the lowest precedence.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "each level names the tokens that it takes and leaves all others to its caller"
)]

use std::ops::Range;

use serde_json::Value;

use super::error::{ExprError, code};
use super::node::{ExprComparison, ExprNode, ExprNodeKind};
use super::token::{ComparisonOperator, ExprToken, ExprTokenKind, tokens};
use super::vocabulary::{ExprFunction, FUNCTIONS, function};
use crate::plan;

/// Maximum bytes of an expression: one page.
pub(super) const TEXT_MAX: usize = 4096;
/// Maximum nesting of brackets, `not`s and lists, to bound the stack.
pub(super) const DEPTH_MAX: usize = 32;

/// Parses a text to a tree, which may contain status functions.
pub(super) fn parse(text: &str) -> Result<ExprNode, ExprError> {
    if text.len() > TEXT_MAX {
        let what =
            format!("the expression has {} bytes; at most {TEXT_MAX} are allowed", text.len());
        return Err(ExprError::new(code::EXPRESSION, 0..text.len(), what)
            .help("compute the result in a step and read its output"));
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

    /// Parses operands joined by the same operator.
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
            return Err(ExprError::new(code::EXPRESSION, range, "comparisons cannot be chained")
                .help(format!("write {a} {first} {b} and {b} {second} {c}")));
        }
        Ok(ExprNode {
            range,
            kind: ExprNodeKind::Compare(Box::new(ExprComparison { left, operator: how, right })),
        })
    }

    /// Takes the next comparison operator, if any.
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

    /// Parses expressions separated by commas, including the closing token.
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
        let Some(known) = function(name) else { return Err(unknown_function(name, range)) };
        self.take();
        let arguments = self.nested(|parser| parser.items(&ExprTokenKind::Close, ")"))?;
        let count = arguments.len();
        let kind = match (name, <[ExprNode; 2]>::try_from(arguments)) {
            ("default", Ok(arguments)) => ExprNodeKind::Default(Box::new(arguments)),
            ("success", _) if count == 0 => ExprNodeKind::Status(plan::StatusCondition::Success),
            ("failure", _) if count == 0 => ExprNodeKind::Status(plan::StatusCondition::Failure),
            ("always", _) if count == 0 => ExprNodeKind::Status(plan::StatusCondition::Always),
            _ => return Err(wrong_arguments(known, count, range.start..self.end())),
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
            let what = format!("the expression is nested more than {DEPTH_MAX} levels deep");
            return Err(ExprError::new(code::EXPRESSION, range, what));
        }
        let result = inner(self);
        self.depth -= 1;
        result
    }

    fn peek(&self) -> &ExprTokenKind<'a> {
        &self.tokens[self.next].kind
    }

    /// Takes the next token; stays at the end.
    fn take(&mut self) -> ExprToken<'a> {
        let token = self.tokens[self.next].clone();
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        token
    }

    /// The end of the last taken token.
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
                format!("`{text}` has no opening bracket")
            }
            ExprTokenKind::End if self.next == 0 => "the expression is empty".to_owned(),
            ExprTokenKind::End => format!("{wanted} is missing at the end of the expression"),
            _ => format!("expected {wanted}, found `{text}`"),
        };
        let error = ExprError::new(code::EXPRESSION, token.range.clone(), what);
        let after_operand = self.next > 0 && wanted == "an operator";
        match token.kind {
            ExprTokenKind::OpenList if after_operand => {
                error.help("there are no subscripts: join names with dots")
            }
            ExprTokenKind::Literal(Value::Number(_)) if after_operand && text.starts_with('-') => {
                error
                    .help("there is no arithmetic: compute the value in a step and read its output")
            }
            ExprTokenKind::Close | ExprTokenKind::CloseList => error,
            _ if after_operand => error.help("the operators are: and or not in == != < <= > >="),
            _ => error,
        }
    }

    /// Reports `nodes[wrong]`, an operand of `and`, `or` or `not`: it is a string, a number, a list or null.
    fn never_boolean(&self, nodes: &[ExprNode], wrong: usize) -> ExprError {
        let node = &nodes[wrong];
        let text = self.slice(&node.range);
        let what = format!("`{text}` is not a boolean");
        let error = ExprError::new(code::NOT_A_BOOLEAN, node.range.clone(), what);
        // `x == "a" or "b"` follows natural language.
        let before = wrong.checked_sub(1).map(|index| &nodes[index].kind);
        match before {
            Some(ExprNodeKind::Compare(compare))
                if compare.operator == ComparisonOperator::Equal =>
            {
                let (left, right) =
                    (self.slice(&compare.left.range), self.slice(&compare.right.range));
                error.help(format!(
                    "to test for one of several values, write {left} in [{right}, {text}]"
                ))
            }
            _ => error.help("`and`, `or` and `not` take comparisons, such as params.x == \"a\""),
        }
    }
}

/// Reports a name that is almost a keyword or function: `True`, `AND`, `always` without `()`.
fn misspelled_word(path: &str, range: &Range<usize>) -> Option<ExprError> {
    const WORDS: [&str; 7] = ["and", "or", "not", "in", "true", "false", "null"];
    let refused = |write: &str| {
        ExprError::new(code::EXPRESSION, range.clone(), format!("unknown word `{path}`"))
            .help(format!("write `{write}`"))
    };
    if let Some(function) = function(path) {
        return Some(refused(function.form));
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
    match FUNCTIONS.iter().map(|function| function.name).find(close) {
        Some(near) => error.help(format!("did you mean `{near}()`?")),
        None => error.help(
            "the functions are default(value, fallback) and, in `if:`, success(), failure() and always()",
        ),
    }
}

fn wrong_arguments(known: &ExprFunction, count: usize, range: Range<usize>) -> ExprError {
    let (takes, form) = match known.arguments {
        0 => ("no values", known.form),
        _ => ("two values", "default(params.x, \"fallback\")"),
    };
    ExprError::new(code::EXPRESSION, range, format!("`{}` takes {takes}, not {count}", known.name))
        .help(format!("write `{form}`"))
}

/// The edit distance between two short words; not computed beyond 16 characters.
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
