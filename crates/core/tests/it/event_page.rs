//! The page on events describes every event.

use std::collections::BTreeSet;

use windlass_core::engine::Event;

const PAGE: &str = include_str!("../../../../docs/reference/events.md");

/// Returns the names of all variants, from the error message for an unknown one.
fn variants() -> Vec<String> {
    let refused = serde_json::from_str::<Event>("\"Nothing\"").expect_err("there is no such event");
    let text = refused.to_string();
    let (_, list) = text.split_once("expected one of ").expect("it lists what there is");
    list.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn snake(name: &str) -> String {
    let letter = |(at, letter): (usize, char)| match (at, letter.is_uppercase()) {
        (0, _) | (_, false) => letter.to_lowercase().to_string(),
        (_, true) => format!("_{}", letter.to_lowercase()),
    };
    name.chars().enumerate().map(letter).collect()
}

#[test]
fn every_event_has_a_distinct_name() {
    let variants: Vec<String> = variants().iter().map(|name| snake(name)).collect();
    assert!(variants.len() >= 22, "{variants:?}");
    assert_eq!(variants, Event::KINDS);
}

#[test]
fn page_has_a_line_for_each_event_and_no_other() {
    let (_, types) = PAGE.split_once("## Types").expect("it lists types");
    let (types, _) = types.split_once("## Names that others use").expect("it ends there");
    let rows = types.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
    let lines: Vec<&str> = rows.collect();
    assert_eq!(lines.iter().copied().collect::<BTreeSet<_>>(), BTreeSet::from(Event::KINDS));
    assert_eq!(lines.len(), Event::KINDS.len(), "each once: {lines:?}");
}

#[test]
fn names_in_other_systems_are_mapped_to_events() {
    let (_, names) = PAGE.split_once("## Names that others use").expect("it has them");
    for name in ["WORKER_REGISTERED", "WORKER_HEARTBEAT", "LEASE_GRANTED", "LEASE_EXPIRED"]
        .into_iter()
        .chain(["created", "pending", "assigned", "started", "completed", "failed"])
        .chain(["reassigned", "cancelled"])
    {
        assert!(names.contains(&format!("\n| `{name}` | ")), "{name}");
    }
}
