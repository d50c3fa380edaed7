//! The SVG image: boxes from left to right, a matrix as a stack, locks as badges.

use std::fmt::Write as _;

use super::lanes::GraphLanes;
use super::layout::{GraphLayout, SlotPosition};
use super::svg_style::{STYLE, text_width};
use super::{GraphNode, PipelineGraph};

/// Padding to the left and right of a label.
const PADDING: f64 = 14.0;
const BOX_HEIGHT: f64 = 34.0;
const BADGE_HEIGHT: f64 = 17.0;
const BADGE_GAP: f64 = 4.0;
/// The offset of each sheet of a stack.
const SHEET: f64 = 3.5;
/// Between the name and the number of cells.
const COUNT_GAP: f64 = 12.0;
/// Characters of a name that are shown; the whole name is in the title.
const NAME_MAX: usize = 32;
/// Badges that are shown on one step.
const BADGES_MAX: usize = 3;

/// Draws the whole image.
pub(super) fn draw(graph: &PipelineGraph) -> String {
    let lanes = GraphLanes::new(graph);
    let layout = GraphLayout::new(&lanes, &graph.nodes, size);
    let (width, height) = (layout.width.ceil(), layout.height.ceil());
    let mut page = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         role=\"img\">\n<title>{}</title>\n<style>{STYLE}</style>\n",
        escaped(&graph.name)
    );
    for (line, optional) in &lanes.lines {
        page.push_str(&edge(&layout, line, *optional));
    }
    for (node, spot) in graph.nodes.iter().zip(&layout.spots) {
        page.push_str(&step(node, spot));
    }
    page.push_str("</svg>");
    page
}

/// The size of a step's box.
fn size(node: &GraphNode) -> (f64, f64) {
    let count = node.cells.map_or(0.0, |cells| COUNT_GAP + text_width(&format!("×{cells}"), 11.0));
    let label = text_width(&shown(&node.name), 13.0) + count;
    let badges = badges(node);
    let widest = badges.iter().map(|badge| badge_width(badge)).fold(label, f64::max);
    #[expect(clippy::cast_precision_loss, reason = "there are three at most")]
    let rows = badges.len() as f64;
    let below = if badges.is_empty() { 0.0 } else { rows * (BADGE_HEIGHT + BADGE_GAP) + 2.0 };
    (widest + 2.0 * PADDING, BOX_HEIGHT + below)
}

fn step(node: &GraphNode, spot: &SlotPosition) -> String {
    let mut group = format!("<g><title>{}</title>", escaped(&title(node)));
    let sheets = if node.cells.is_some() { 2 } else { 0 };
    let top = spot.y - spot.height / 2.0;
    for sheet in (0..=sheets).rev() {
        let (x, y) = (spot.left + f64::from(sheet) * SHEET, top - f64::from(sheet) * SHEET);
        let class = if node.conditional && sheet == 0 { "n q" } else { "n" };
        let _ = write!(
            group,
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"7\"/>",
            spot.width, spot.height
        );
    }
    let baseline = top + BOX_HEIGHT / 2.0 + 4.5;
    let left = spot.left + PADDING;
    let name = escaped(&shown(&node.name));
    let _ = write!(group, "<text x=\"{left:.1}\" y=\"{baseline:.1}\">{name}</text>");
    if let Some(cells) = node.cells {
        let right = spot.left + spot.width - PADDING;
        let _ = write!(
            group,
            "<text class=\"c\" text-anchor=\"end\" x=\"{right:.1}\" y=\"{baseline:.1}\">×{cells}</text>"
        );
    }
    let mut y = top + BOX_HEIGHT - 2.0;
    for text in badges(node) {
        group.push_str(&badge(&text, left - 4.0, y));
        y += BADGE_HEIGHT + BADGE_GAP;
    }
    group + "</g>\n"
}

/// The names of the locks; with many, the rest as a number.
fn badges(node: &GraphNode) -> Vec<String> {
    let names = || node.locks.iter().map(|lock| shown(lock));
    if node.locks.len() <= BADGES_MAX {
        return names().collect();
    }
    let more = format!("{} more", node.locks.len() - BADGES_MAX + 1);
    names().take(BADGES_MAX - 1).chain([more]).collect()
}

fn badge_width(text: &str) -> f64 {
    text_width(text, 10.5) + 24.0 - 8.0
}

/// A padlock and a name.
fn badge(text: &str, x: f64, y: f64) -> String {
    let (width, middle) = (text_width(text, 10.5) + 24.0, y + BADGE_HEIGHT / 2.0);
    let text = escaped(text);
    let (body, shackle) = (middle - 1.0, middle - 1.0);
    format!(
        "<rect class=\"b\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{BADGE_HEIGHT}\" rx=\"8.5\"/>\
         <rect class=\"kb\" x=\"{:.1}\" y=\"{body:.1}\" width=\"7\" height=\"5.5\" rx=\"1.2\"/>\
         <path class=\"k\" d=\"M{:.1} {shackle:.1}v-1.6a2 2 0 0 1 4 0v1.6\"/>\
         <text class=\"l\" x=\"{:.1}\" y=\"{:.1}\">{text}</text>",
        x + 6.5,
        x + 8.0,
        x + 17.0,
        middle + 3.7,
    )
}

/// A line that is horizontal at every column, with an arrow at its end.
fn edge(layout: &GraphLayout, line: &[usize], optional: bool) -> String {
    const ARROW: f64 = 6.0;
    let spots: Vec<&SlotPosition> = line.iter().map(|at| &layout.spots[*at]).collect();
    let Some((first, last)) = spots.first().zip(spots.last()) else { return String::new() };
    let mut path = format!("M{:.1} {:.1}", first.left + first.width, first.y);
    for pair in spots.windows(2) {
        let (from, to) = (pair[0].left + pair[0].width, pair[1].left);
        let end = if std::ptr::eq(pair[1], *last) { to - ARROW } else { to };
        let middle = f64::midpoint(from, end);
        let (y, goal) = (pair[0].y, pair[1].y);
        let _ = write!(path, "C{middle:.1} {y:.1} {middle:.1} {goal:.1} {end:.1} {goal:.1}");
        if !std::ptr::eq(pair[1], *last) {
            let _ = write!(path, "H{:.1}", to + pair[1].width);
        }
    }
    let class = if optional { "e o" } else { "e" };
    let (x, y) = (last.left, last.y);
    format!(
        "<path class=\"{class}\" d=\"{path}\"/><path class=\"a\" d=\"M{x:.1} {y:.1}l-7 -4v8z\"/>\n"
    )
}

/// The tooltip of a step.
fn title(node: &GraphNode) -> String {
    let about = node.about.iter().map(|about| format!(": {about}"));
    std::iter::once(node.label()).chain(about).collect()
}

/// The name, with the middle of a long one omitted.
fn shown(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= NAME_MAX {
        return name.to_owned();
    }
    let half = NAME_MAX / 2;
    let (head, tail) = (&letters[..half], &letters[letters.len() - half + 1..]);
    head.iter().chain(['…'].iter()).chain(tail).collect()
}

/// Escapes text for XML; characters that XML does not allow are omitted.
fn escaped(text: &str) -> String {
    let mut page = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => page.push_str("&amp;"),
            '<' => page.push_str("&lt;"),
            '>' => page.push_str("&gt;"),
            '"' => page.push_str("&quot;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => page.push(c),
        }
    }
    page
}
