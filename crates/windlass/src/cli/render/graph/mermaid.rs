//! The graph for Markdown that renders Mermaid.

use std::fmt::Write as _;

use super::{GraphNode, PipelineGraph};

/// Draws it from left to right. Names are only labels: a step named `end` would break Mermaid as an identifier.
pub(super) fn draw(graph: &PipelineGraph) -> String {
    let mut page = "flowchart LR\n".to_owned();
    for (at, node) in graph.nodes.iter().enumerate() {
        let _ = writeln!(page, "  s{at}{}", shape(node));
    }
    for (at, node) in graph.nodes.iter().enumerate() {
        for need in &node.needs {
            let arrow = if need.optional { "-.->" } else { "-->" };
            let _ = writeln!(page, "  s{} {arrow} s{at}", need.node);
        }
    }
    let conditional = (0..graph.nodes.len()).filter(|at| graph.nodes[*at].conditional);
    let conditional: Vec<String> = conditional.map(|at| format!("s{at}")).collect();
    if !conditional.is_empty() {
        page.push_str("  classDef maybe stroke-dasharray: 4 3\n");
        let _ = writeln!(page, "  class {} maybe", conditional.join(","));
    }
    page
}

fn shape(node: &GraphNode) -> String {
    let locks = node.locks.iter().map(|lock| format!("<br/>🔒 {}", escaped(lock)));
    let label: String = std::iter::once(escaped(&node.label())).chain(locks).collect();
    if node.cells.is_some() { format!("[[\"{label}\"]]") } else { format!("(\"{label}\")") }
}

/// Mermaid's own form of entities.
fn escaped(text: &str) -> String {
    let special = |c: char| !c.is_alphanumeric() && !" _-./×,:()[]".contains(c);
    let each = text
        .chars()
        .map(|c| if special(c) { format!("#{};", u32::from(c)) } else { c.to_string() });
    each.collect()
}
