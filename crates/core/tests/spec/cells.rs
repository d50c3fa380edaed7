//! The name of a cell contains its exact values.

use insta::assert_snapshot;
use windlass_core::expand::{cell_name, cell_values};
use windlass_core::plan::{PlanBuilder, StepSpec};

#[test]
fn values_are_written_bare_or_quoted() {
    let name = |value: &str| cell_name([value], []);
    let names = [
        "linux",
        "3.10",
        "a b",
        " a",
        "",
        "a,b",
        "a=b",
        "\"",
        "\\",
        "[x]",
        "ünï",
        "\n\u{7f}\u{9f}",
    ]
    .map(name);
    assert_snapshot!(names.join("\n"), @r#"
    linux
    3.10
    a b
    " a"
    ""
    "a,b"
    "a=b"
    "\""
    "\\"
    "[x]"
    "ünï"
    "\u000a\u007f\u009f"
    "#);
    assert_snapshot!(cell_name(["linux", "x,y"], [("fast", "true"), ("note", "a=b")]), @r#"linux,"x,y",fast=true,note="a=b""#);
}

#[test]
fn values_survive_the_name_of_a_cell() {
    let mut state = 7_u64;
    let mut next = |bound: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).expect("31 bits") % bound
    };
    let alphabet: Vec<char> =
        "ab1_.:/@+ -,=\"\\[]{}'\n\t\u{0}\u{7f}\u{85}\u{a0}é漢🦀\u{202e}".chars().collect();
    for _ in 0..20_000 {
        let mut word = |longest: usize| -> String {
            let length = next(longest);
            (0..length).map(|_| alphabet[next(alphabet.len())]).collect()
        };
        let values: Vec<String> = (0..3).map(|_| word(6)).collect();
        let added: Vec<(String, String)> = (0..2).map(|n| (format!("k-{n}_x"), word(6))).collect();
        let axes: Vec<String> = ["os", "db", "v"].map(str::to_owned).to_vec();
        let inside =
            cell_name(values.iter().map(|v| &**v), added.iter().map(|(k, v)| (&**k, &**v)));
        let name = format!("test[{inside}]");
        let expected: Vec<(String, String)> =
            axes.iter().cloned().zip(values).chain(added).collect();
        assert_eq!(cell_values(&name, &axes), expected, "{name}");
        let mut plan = PlanBuilder::new("ship");
        plan.matrix("test", [(inside, StepSpec::default())]);
        plan.build().expect("the name can be used in a plan");
    }
}

#[test]
fn names_that_are_no_cells_contain_no_values() {
    let axes = ["os".to_owned()];
    for name in ["test", "test[", "test[]x", "test[a,b]", "test[\"a]", "test[a,=]"] {
        let values = cell_values(name, &axes);
        assert!(values.is_empty() || name == "test[a,=]", "{name}: {values:?}");
    }
}
