//! A tree for the terminal: each step once, below the last of its needs to start.

use std::cmp::Reverse;

use super::{GraphNode, PipelineGraph};
use crate::cli::output::{ColorRole, GlyphSet, TerminalCaps};
use crate::cli::render::topological::{ranks, topological};

/// Draws the tree. Needs that it cannot show are named: `also after lint`.
pub(super) fn draw(graph: &PipelineGraph, caps: &TerminalCaps) -> String {
    let needs = graph.needs();
    let ranks = ranks(&needs);
    let parent =
        |node: usize| needs[node].iter().copied().max_by_key(|need| (ranks[*need], Reverse(*need)));
    let parents: Vec<Option<usize>> = (0..needs.len()).map(parent).collect();
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); needs.len()];
    let mut roots = Vec::new();
    for node in topological(&needs) {
        match parents[node] {
            Some(parent) => children[parent].push(node),
            None => roots.push(node),
        }
    }
    let tree = TextTree { graph, caps, parents, children };
    let mut lines = vec![caps.paint(ColorRole::Strong, &graph.name)];
    tree.write(&roots, &mut lines);
    lines.join("\n")
}

struct TextTree<'a> {
    graph: &'a PipelineGraph,
    caps: &'a TerminalCaps,
    parents: Vec<Option<usize>>,
    children: Vec<Vec<usize>>,
}

impl TextTree<'_> {
    /// Without recursion: a chain of ten thousand steps is a tree as deep.
    fn write(&self, roots: &[usize], lines: &mut Vec<String>) {
        let signs = match self.caps.glyphs {
            GlyphSet::Unicode => ["├─ ", "└─ ", "│  "],
            GlyphSet::Ascii => ["|- ", "`- ", "|  "],
        };
        let [branch, last, through] = signs;
        let mut open: Vec<(usize, String, bool)> = roots
            .iter()
            .rev()
            .enumerate()
            .map(|(at, node)| (*node, String::new(), at == 0))
            .collect();
        while let Some((node, margin, is_last)) = open.pop() {
            let stem = if is_last { last } else { branch };
            let stem = self.caps.paint(ColorRole::Quiet, &format!("{margin}{stem}"));
            lines.push(format!("{stem}{}", self.step(node)));
            let margin = format!("{margin}{}", if is_last { "   " } else { through });
            let children = self.children[node].iter().rev().enumerate();
            open.extend(children.map(|(at, child)| (*child, margin.clone(), at == 0)));
        }
    }

    fn step(&self, at: usize) -> String {
        let node = &self.graph.nodes[at];
        let mut parts = vec![node.label()];
        if node.conditional {
            parts.push(self.caps.paint(ColorRole::Quiet, "if"));
        }
        parts.extend(
            node.locks.iter().map(|lock| self.caps.paint(ColorRole::Warn, &format!("[{lock}]"))),
        );
        let others = self.other_needs(node, self.parents[at]);
        if !others.is_empty() {
            let also = format!("also after {}", others.join(", "));
            parts.push(self.caps.paint(ColorRole::Quiet, &also));
        }
        parts.join("  ")
    }

    fn other_needs(&self, node: &GraphNode, parent: Option<usize>) -> Vec<&str> {
        let others = node.needs.iter().filter(|need| Some(need.node) != parent);
        others.map(|need| &*self.graph.nodes[need.node].name).collect()
    }
}
