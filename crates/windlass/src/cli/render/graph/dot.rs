//! The graph for Graphviz.

use std::fmt::Write as _;

use super::PipelineGraph;

/// Draws it from left to right; a matrix is a box with depth.
pub(super) fn draw(graph: &PipelineGraph) -> String {
    let mut page = format!("digraph {} {{\n", quoted(&graph.name));
    page.push_str("  rankdir=LR;\n  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n");
    for node in &graph.nodes {
        let lines =
            std::iter::once(node.label()).chain(node.locks.iter().map(|l| format!("lock {l}")));
        let label = lines.collect::<Vec<_>>().join("\n");
        let mut attributes = vec![format!("label={}", quoted(&label))];
        if node.cells.is_some() {
            attributes.push("shape=box3d".to_owned());
        }
        if node.conditional {
            attributes.push("style=\"rounded,dashed\"".to_owned());
        }
        attributes.extend(node.about.as_ref().map(|about| format!("tooltip={}", quoted(about))));
        let _ = writeln!(page, "  {} [{}];", quoted(&node.name), attributes.join(", "));
    }
    for node in &graph.nodes {
        for need in &node.needs {
            let style = if need.optional { " [style=dashed]" } else { "" };
            let from = quoted(&graph.nodes[need.node].name);
            let _ = writeln!(page, "  {from} -> {}{style};", quoted(&node.name));
        }
    }
    page.push('}');
    page
}

fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{escaped}\"")
}
