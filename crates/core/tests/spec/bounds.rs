//! Lists and sizes have bounds. The message names the bound, and excess input costs little.

use std::fmt::Write;
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use windlass_core::problem::PROBLEMS_MAX;

use crate::outline::{listed, problems};

/// The maximum time for a file of some megabytes in a test build on a busy machine.
const READ_MAX: Duration = Duration::from_secs(15);

/// Returns the problems of the file, found in time.
#[expect(clippy::disallowed_methods, reason = "the time that it takes is what is measured")]
fn in_time(text: &str) -> String {
    let begun = Instant::now();
    let found = listed(text);
    let took = begun.elapsed();
    assert!(took < READ_MAX, "it took {took:?}");
    found.lines().next().unwrap_or_default().to_owned()
}

fn each(count: usize, text: impl Fn(usize) -> String) -> String {
    (0..count).map(text).collect()
}

fn names(prefix: &str, count: usize) -> String {
    (0..count).map(|at| format!("{prefix}{at}")).collect::<Vec<_>>().join(", ")
}

fn step(keys: &str) -> String {
    format!("steps: {{ a: {{ run: make, {keys} }} }}")
}

#[test]
fn too_long_list_of_a_step_is_reported_with_its_bound() {
    let list = |key: &str, count: usize| in_time(&step(&format!("{key}: [{}]", names("x", count))));
    assert_snapshot!(list("lock", 60_000), @"windlass.yml:1:32: error[E068]: `lock` can have at most 32 entries; this one has 60000");
    assert_snapshot!(list("tags", 200_000), @"windlass.yml:1:32: error[E068]: `tags` can have at most 64 entries; this one has 200000");
    assert_snapshot!(list("requires", 65), @"windlass.yml:1:36: error[E068]: `requires` can have at most 64 entries; this one has 65");
    assert_snapshot!(list("prefers", 65), @"windlass.yml:1:35: error[E068]: `prefers` can have at most 64 entries; this one has 65");
    assert_snapshot!(list("secrets", 257), @"windlass.yml:1:35: error[E068]: `secrets` can have at most 256 entries; this one has 257");
    assert_snapshot!(list("outputs", 257), @"windlass.yml:1:35: error[E068]: `outputs` can have at most 256 entries; this one has 257");
    let on: Vec<String> = (0..65).map(|code| format!("exit-{code}")).collect();
    assert_snapshot!(in_time(&step(&format!("retry: {{ times: 1, on: [{}] }}", on.join(", ")))), @"windlass.yml:1:49: error[E068]: `on` can have at most 64 entries; this one has 65");
    assert_snapshot!(in_time(&step(&format!("nodes: {{ allow: [{}] }}", names("n", 1_001)))), @"windlass.yml:1:42: error[E068]: `allow` can have at most 1000 entries; this one has 1001");
    let env: String = each(100_000, |at| format!("V{at}: x, "));
    assert_snapshot!(in_time(&step(&format!("env: {{ {env} }}"))), @"windlass.yml:1:31: error[E068]: `env` can have at most 1000 entries; this one has 100000");
    let axes: String = each(17, |at| format!("x{at}: [a], "));
    assert_snapshot!(in_time(&step(&format!("matrix: {{ {axes} }}"))), @"windlass.yml:1:34: error[E068]: a matrix can have at most 16 axes; this one has 17");
    assert_eq!(list("lock", 32), "nothing is wrong");
}

#[test]
fn large_value_is_not_multiplied() {
    let value = |bytes: usize| format!("params: {{ big: {} }}\n", "x".repeat(bytes));
    let env: String = each(1_000, |at| format!("V{at}: \"${{{{ params.big }}}}\", "));
    let all = step(&format!("env: {{ {env} }}"));
    assert_snapshot!(in_time(&format!("{}{all}", value(1_000_000))), @"windlass.yml:1:16: error[E068]: the value of a param can have at most 131072 bytes; this one has 1000000");
    assert_snapshot!(in_time(&format!("{}{all}", value(100_000))), @"windlass.yml:2:87: error[E068]: the step has more than 262144 bytes with its values in place");
    let cells =
        "matrix: { x: [".to_owned() + &names("x", 1_000) + "] }, if: \"params.big == matrix.x\"";
    assert_snapshot!(in_time(&format!("{}{}", value(100_000), step(&cells))), @"windlass.yml:2:10: error[E068]: the plan takes more than 67108864 bytes with all values in place");
    let steps: String = (0..1_000).fold(String::new(), |mut text, at| {
        let _ =
            writeln!(text, "  s{at}: {{ run: make, env: {{ V: \"${{{{ params.big }}}}{at}\" }} }}");
        text
    });
    assert_snapshot!(in_time(&format!("{}steps:\n{steps}", value(100_000))), @"windlass.yml:337:3: error[E068]: the plan takes more than 67108864 bytes with all values in place");
}

#[test]
fn bytes_that_anchors_aliases_and_merges_copy_are_counted_before_the_copy() {
    let script = format!("x: &b |\n  {}\n", "echo a; ".repeat(31_250));
    let aliases: String = each(10_000, |at| format!("  s{at}: {{ run: *b }}\n"));
    assert_snapshot!(in_time(&format!("{script}steps:\n{aliases}")), @"windlass.yml:70:15: error[E002]: the anchors, aliases and merges of the file copy more than 16777216 bytes of text");
    let merges: String = each(10_000, |at| format!("  s{at}: {{ <<: *b, if: x }}\n"));
    let step = format!("x: &b {{ run: '{}' }}\n", "x".repeat(250_000));
    assert_snapshot!(in_time(&format!("{step}steps:\n{merges}")), @"windlass.yml:36:14: error[E002]: the anchors, aliases and merges of the file copy more than 16777216 bytes of text");
    let list: String = each(60, |at| format!("&a{at} ["));
    let nested = format!("x: {list}{}{}\n", "x".repeat(400_000), "]".repeat(60));
    assert_snapshot!(in_time(&nested), @"windlass.yml:1:107: error[E002]: the anchors, aliases and merges of the file copy more than 16777216 bytes of text");
    let keys = format!("x: &b {{ {}: 1 }}\ny: [{}]\n", "k".repeat(1_000), "*b, ".repeat(20_000));
    assert_snapshot!(in_time(&keys), @"windlass.yml:2:67041: error[E002]: the anchors, aliases and merges of the file copy more than 16777216 bytes of text");
    let few: String = each(60, |at| format!("  s{at}: {{ run: *b }}\n"));
    let allowed = in_time(&format!("{script}steps:\n{few}"));
    assert!(!allowed.contains("bytes of text"), "{allowed}");
}

#[test]
fn needs_of_matrix_cells_are_counted_before_they_are_built() {
    let steps: String = each(100, |at| format!("  s{at}: {{ run: make }}\n"));
    let (needs, axis) = (names("s", 100), names("c", 300));
    let wide =
        format!("  w: {{ run: make, needs: [{needs}], matrix: {{ x: [{axis}], y: [{axis}] }} }}\n");
    assert_snapshot!(in_time(&format!("steps:\n{steps}{wide}")), @"windlass.yml:2:3: error[E068]: the plan has 9000000 needs; at most 4000000 are allowed");
    let part = "{ x: c0 }, ".repeat(900);
    let parts = format!(
        "  w: {{ run: make, matrix: {{ x: [{axis}], y: [{axis}], exclude: [{part}] }} }}\n"
    );
    assert_snapshot!(in_time(&format!("steps:\n{parts}")), @"windlass.yml:2:27: error[E068]: `include` and `exclude` have 900 entries, too many to compare with every cell of the matrix");
}

#[test]
fn labels_and_nodes_that_all_steps_require_are_counted_once() {
    let steps = |count: usize, keys: &dyn Fn(usize) -> String| {
        let steps = each(count, |at| format!("  s{at}: {{ run: make, {} }}\n", keys(at)));
        in_time(&format!("steps:\n{steps}"))
    };
    let own = |at: usize| format!("requires: [r{at}, linux]");
    assert_snapshot!(steps(6_000, &own), @"windlass.yml:2:3: error[E068]: the steps of the plan require 12000 labels and workers in total, counting steps with equal requirements once; at most 10000 are allowed");
    let wished = |at: usize| format!("nodes: {{ deny: [n{at}, other] }}, prefers: p{at}");
    assert_snapshot!(steps(4_000, &wished), @"windlass.yml:2:3: error[E068]: the steps of the plan require 12000 labels and workers in total, counting steps with equal requirements once; at most 10000 are allowed");
    assert_eq!(steps(5_000, &own), "nothing is wrong");
    let shared = |at: usize| format!("requires: [r{}, linux]", at % 100);
    assert_eq!(steps(20_000, &shared), "nothing is wrong");
    let axis = names("c", 100);
    let routed = format!(
        "steps:\n  m: {{ run: make, matrix: {{ x: [{axis}], y: [{axis}], route: [x, y] }} }}\n"
    );
    assert_snapshot!(in_time(&routed), @"windlass.yml:2:3: error[E068]: the steps of the plan require 20000 labels and workers in total, counting steps with equal requirements once; at most 10000 are allowed");
}

#[test]
fn thousands_of_misspelt_needs_are_reported_in_time() {
    let step = |at: usize| format!("  a-rather-long-name-of-a-step-{at}: {{ run: make }}\n");
    let bad =
        |at: usize| format!("  b{at}: {{ run: make, needs: a-rather-long-nmae-of-a-step-{at} }}\n");
    let steps: String = (0..20_000).map(step).collect();
    let bads: String = (0..2_000).map(bad).collect();
    assert_snapshot!(in_time(&format!("steps:\n{steps}{bads}")), @"windlass.yml:20002:27: error[E061]: there is no step `a-rather-long-nmae-of-a-step-0`");
    let found = problems(&format!("steps:\n{bads}"), &[]);
    assert_eq!(found.len(), PROBLEMS_MAX);
}

#[test]
fn file_full_of_mistakes_is_read_in_time() {
    let twice = "x: 1\n".repeat(100_000);
    assert_snapshot!(in_time(&twice), @"windlass.yml:2:1: error[E004]: duplicate key `x`");
    let broken = "a: [b\n".repeat(100_000);
    assert_snapshot!(in_time(&broken), @"windlass.yml:1:4: error[E003]: unclosed bracket or brace");
    let tags = step(&format!("tags: [{}]", "x, ".repeat(60)));
    assert_snapshot!(in_time(&tags), @"windlass.yml:1:36: error[E055]: the tag `x` is listed twice");
    let script = "echo ${{ params.x }}; ".repeat(2_000);
    assert_snapshot!(in_time(&step(&format!("dir: \"{script}\""))), @"windlass.yml:1:31: error[E068]: a string can have at most 1000 `${{ }}`; this one has 2000");
}
