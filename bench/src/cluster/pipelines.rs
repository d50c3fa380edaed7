//! Pipelines of no-op steps.

use std::fmt::Write as _;

/// Parallel steps between two steps of the observer.
pub(crate) fn fan(steps: u32) -> String {
    let axis = |count: u32| (0..count).map(|at| at.to_string()).collect::<Vec<_>>().join(", ");
    let matrix = format!("matrix: {{ a: [{}], b: [{}] }}", axis(100), axis(steps / 100));
    between(&step("many", "first", &format!("requires: [crew], {matrix}")), "many")
}

/// Consecutive steps between two steps of the observer.
pub(crate) fn chain(steps: u32) -> String {
    between(&in_a_row(steps, "crew"), &format!("s{}", steps - 1))
}

/// Consecutive steps, all of them for the observer.
pub(crate) fn one_after_the_other(steps: u32) -> String {
    let first = step("first", "", "requires: [observer]");
    format!("steps:\n{first}{}", in_a_row(steps - 1, "observer"))
}

fn in_a_row(steps: u32, label: &str) -> String {
    let mut text = step("s0", "first", &format!("requires: [{label}]"));
    for at in 1..steps {
        let needs = format!("s{}", at - 1);
        text += &step(&format!("s{at}"), &needs, &format!("requires: [{label}]"));
    }
    text
}

/// Steps after a first step of the observer, and the observer's last step after the one named.
pub(super) fn between(steps: &str, last: &str) -> String {
    let first = step("first", "", "requires: [observer]");
    let last = step("last", last, "requires: [observer]");
    format!("steps:\n{first}{steps}{last}")
}

pub(super) fn step(name: &str, needs: &str, more: &str) -> String {
    let mut text = String::new();
    let needs = if needs.is_empty() { String::new() } else { format!(", needs: [{needs}]") };
    writeln!(text, "  {name}: {{ call: noop, {more}{needs} }}").expect("a string takes all");
    text
}
