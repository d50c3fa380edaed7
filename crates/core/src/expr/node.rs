//! The tree of an expression. `and` and `or` contain all their operands, so only brackets make a tree deep.

use std::ops::Range;

use serde_json::Value;

use super::token::ComparisonOperator;
use crate::plan;

/// An operation or operand and its bytes, including brackets.
#[derive(Clone, Debug)]
pub(super) struct ExprNode {
    pub(super) kind: ExprNodeKind,
    pub(super) range: Range<usize>,
}

#[derive(Clone, Debug)]
pub(super) enum ExprNodeKind {
    Literal(Value),
    Path(Vec<String>),
    List(Vec<ExprNode>),
    /// `a and b and c`
    All(Vec<ExprNode>),
    /// `a or b or c`
    Any(Vec<ExprNode>),
    Not(Box<ExprNode>),
    Compare(Box<ExprComparison>),
    /// `default(value, fallback)`
    Default(Box<[ExprNode; 2]>),
    /// `success()`, `failure()`, `always()`: only in `if:`, and never evaluated.
    Status(plan::StatusCondition),
}

#[derive(Clone, Debug)]
pub(super) struct ExprComparison {
    pub(super) left: ExprNode,
    pub(super) operator: ComparisonOperator,
    pub(super) right: ExprNode,
}

impl ExprNode {
    /// Calls `see` with this node and all nodes below it, in text order.
    pub(super) fn walk<'a>(&'a self, see: &mut dyn FnMut(&'a Self)) {
        see(self);
        match &self.kind {
            ExprNodeKind::Literal(_) | ExprNodeKind::Path(_) | ExprNodeKind::Status(_) => {}
            ExprNodeKind::List(nodes) | ExprNodeKind::All(nodes) | ExprNodeKind::Any(nodes) => {
                for node in nodes {
                    node.walk(see);
                }
            }
            ExprNodeKind::Not(node) => node.walk(see),
            ExprNodeKind::Default(nodes) => {
                nodes[0].walk(see);
                nodes[1].walk(see);
            }
            ExprNodeKind::Compare(compare) => {
                compare.left.walk(see);
                compare.right.walk(see);
            }
        }
    }

    /// Returns every status function in it.
    pub(super) fn statuses(&self) -> Vec<(&Self, plan::StatusCondition)> {
        let mut found = Vec::new();
        self.walk(&mut |node| {
            if let ExprNodeKind::Status(status) = node.kind {
                found.push((node, status));
            }
        });
        found
    }

    /// Whether it can never be a boolean.
    pub(super) fn never_boolean(&self) -> bool {
        match &self.kind {
            ExprNodeKind::Literal(value) => !value.is_boolean(),
            ExprNodeKind::List(_) => true,
            ExprNodeKind::Default(nodes) => nodes.iter().all(Self::never_boolean),
            ExprNodeKind::Path(_)
            | ExprNodeKind::All(_)
            | ExprNodeKind::Any(_)
            | ExprNodeKind::Not(_)
            | ExprNodeKind::Compare(_)
            | ExprNodeKind::Status(_) => false,
        }
    }
}
