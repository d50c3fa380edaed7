//! The tree of an expression. `and` and `or` hold all their operands, so only brackets make a tree deep.

use std::ops::Range;

use serde_json::Value;

use super::token::Comparison;
use crate::plan;

/// An operation or operand and the bytes that it covers, brackets included.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) kind: NodeKind,
    pub(super) range: Range<usize>,
}

#[derive(Clone, Debug)]
pub(super) enum NodeKind {
    Literal(Value),
    Path(Vec<String>),
    List(Vec<Node>),
    /// `a and b and c`
    All(Vec<Node>),
    /// `a or b or c`
    Any(Vec<Node>),
    Not(Box<Node>),
    Compare(Box<Compare>),
    /// `default(value, fallback)`
    Default(Box<[Node; 2]>),
    /// `success()`, `failure()`, `always()`: only in `if:`, and never evaluated.
    Status(plan::Condition),
}

#[derive(Clone, Debug)]
pub(super) struct Compare {
    pub(super) left: Node,
    pub(super) how: Comparison,
    pub(super) right: Node,
}

impl Node {
    /// Calls `see` with this node and all below it, in the order of the text.
    pub(super) fn walk<'a>(&'a self, see: &mut dyn FnMut(&'a Self)) {
        see(self);
        match &self.kind {
            NodeKind::Literal(_) | NodeKind::Path(_) | NodeKind::Status(_) => {}
            NodeKind::List(nodes) | NodeKind::All(nodes) | NodeKind::Any(nodes) => {
                for node in nodes {
                    node.walk(see);
                }
            }
            NodeKind::Not(node) => node.walk(see),
            NodeKind::Default(nodes) => {
                nodes[0].walk(see);
                nodes[1].walk(see);
            }
            NodeKind::Compare(compare) => {
                compare.left.walk(see);
                compare.right.walk(see);
            }
        }
    }

    /// Every status function in it.
    pub(super) fn statuses(&self) -> Vec<(&Self, plan::Condition)> {
        let mut found = Vec::new();
        self.walk(&mut |node| {
            if let NodeKind::Status(status) = node.kind {
                found.push((node, status));
            }
        });
        found
    }

    /// Whether no values can make it true or false.
    pub(super) fn never_boolean(&self) -> bool {
        match &self.kind {
            NodeKind::Literal(value) => !value.is_boolean(),
            NodeKind::List(_) => true,
            NodeKind::Default(nodes) => nodes.iter().all(Self::never_boolean),
            NodeKind::Path(_)
            | NodeKind::All(_)
            | NodeKind::Any(_)
            | NodeKind::Not(_)
            | NodeKind::Compare(_)
            | NodeKind::Status(_) => false,
        }
    }
}
