//! YAML that a pipeline does not allow, and YAML that it does.

use insta::assert_snapshot;

use crate::outline::{diagnosis, drawn};

/// The message points at both keys, even if their lines read alike.
#[test]
fn duplicate_key_is_shown_with_its_first_position() {
    let file = "steps:\n  build:\n    run: a\n  lint:\n    run: b\n  build:\n    run: c\n";
    let diagnosis = diagnosis(file);
    assert!(
        diagnosis.contains("windlass.yml:6:3") && diagnosis.contains("windlass.yml:2:3"),
        "{diagnosis}"
    );
}

#[test]
fn duplicate_keys_are_reported_with_both_positions() {
    assert_snapshot!(diagnosis("steps:\n  a:\n    run: x\n    about: y\n    run: z\n"), @r#"
    error[E004]: duplicate key `run`
     --> windlass.yml:5:5
      |
    5 |     run: z
      |     ^^^ second
     ::: windlass.yml:3:5
      |
    3 |     run: x
      |     --- first
      |
      = help: keep one of them
    "#);
}

#[test]
fn tags_are_reported() {
    assert_snapshot!(diagnosis("steps:\n  a:\n    about: !!str 3\n    run: x\n  b: !step { run: x }\n"), @r#"
    error[E005]: `!!str` is a YAML tag, and a pipeline has no tags
     --> windlass.yml:3:12
      |
    3 |     about: !!str 3
      |            ^^^^^
      |
      = write:
    3 |     about: '3'

    error[E005]: `!step` is a YAML tag, and a pipeline has no tags
     --> windlass.yml:5:6
      |
    5 |   b: !step { run: x }
      |      ^^^^^
      |
      = write:
    5 |   b: { run: x }
    "#);
}

#[test]
fn second_document_is_reported() {
    assert_snapshot!(diagnosis("steps: { a: { run: x } }\n---\nsteps: { b: { run: x } }\n"), @r#"
    error[E006]: the file contains more than one YAML document
     --> windlass.yml:2:1
      |
    2 | ---
      | ^^^ the second one begins here
      |
      = help: put each pipeline into its own file
    "#);
}

#[test]
fn document_markers_are_accepted() {
    assert_snapshot!(diagnosis("%YAML 1.2\n---\nsteps: { a: { run: x } }\n...\n"), @"nothing is wrong");
}

#[test]
fn keys_must_be_texts() {
    assert_snapshot!(diagnosis("steps:\n  a:\n    run: x\n    env: { 1: one, [b]: two, ~: three, true: four }\n"), @r#"
    error[E007]: a key must be a string, but this is a number
     --> windlass.yml:4:12
      |
    4 |     env: { 1: one, [b]: two, ~: three, true: four }
      |            ^
      |
      = write:
    4 |     env: { "1": one, [b]: two, ~: three, true: four }

    error[E007]: a key must be a string, but this is a list
     --> windlass.yml:4:20
      |
    4 |     env: { 1: one, [b]: two, ~: three, true: four }
      |                    ^^^
      |
      = help: write `name: value`; quote a key with special characters

    error[E007]: a key must be a string, but this is nothing
     --> windlass.yml:4:30
      |
    4 |     env: { 1: one, [b]: two, ~: three, true: four }
      |                              ^
      |
      = help: write `name: value`; quote a key with special characters

    error[E007]: a key must be a string, but this is a boolean
     --> windlass.yml:4:40
      |
    4 |     env: { 1: one, [b]: two, ~: three, true: four }
      |                                        ^^^^
      |
      = write:
    4 |     env: { 1: one, [b]: two, ~: three, "true": four }
    "#);
}

#[test]
fn anchors_and_merge_keys_are_accepted() {
    let text = "\
x-slow: &slow { timeout: 2h, retry: 2 }
x-env: &env { A: one, B: two }
steps:
  a: { <<: *slow, run: ./a.sh \"$1\", env: *env }
  b: { <<: [*slow], retry: 0, run: ./b.sh \"$1\", env: { <<: *env, B: three } }
";
    assert_snapshot!(drawn(text), @r#"
    a
        {"action":{"script":{"text":"./a.sh \"$1\""}},"env":[["A","one"],["B","two"]]}
    b
        {"action":{"script":{"text":"./b.sh \"$1\""}},"env":[["B","three"],["A","one"]]}
    "#);
}

#[test]
fn merge_key_requires_maps() {
    assert_snapshot!(diagnosis("x-a: &a 3\nsteps:\n  a: { <<: *a, run: x }\n  b: { <<: [1, 2], run: x }\n"), @r#"
    error[E008]: `<<` merges maps, but this is a number
     --> windlass.yml:1:9
      |
    1 | x-a: &a 3
      |         ^

    error[E008]: `<<` merges maps, but this is a number
     --> windlass.yml:4:13
      |
    4 |   b: { <<: [1, 2], run: x }
      |             ^

    error[E008]: `<<` merges maps, but this is a number
     --> windlass.yml:4:16
      |
    4 |   b: { <<: [1, 2], run: x }
      |                ^
    "#);
}

#[test]
fn alias_requires_its_anchor_and_is_not_inside_it() {
    assert_snapshot!(diagnosis("steps:\n  a: { run: x, timeout: *slow }\n  b: &b { run: x, env: *b }\n"), @r#"
    error[E009]: there is no anchor `&slow` above this alias
     --> windlass.yml:2:25
      |
    2 |   a: { run: x, timeout: *slow }
      |                         ^^^^^
      |
      = help: put `&slow` before the value that it stands for, or quote the string

    error[E009]: the alias is inside its own anchor
     --> windlass.yml:3:24
      |
    3 |   b: &b { run: x, env: *b }
      |                        ^^
      |
      = help: it would expand without end: write the inner part without the alias
    "#);
}

#[test]
fn plain_scalars_are_their_source_text() {
    assert_snapshot!(drawn("steps:\n  a:\n    env: { V: 3.10, OCT: 007, YES: yes, NO: false, E: \"\" }\n    run: ./a.sh \"$1\"\n"), @r#"
    a
        {"action":{"script":{"text":"./a.sh \"$1\""}},"env":[["V","3.10"],["OCT","007"],["YES","yes"],["NO","false"],["E",""]]}
    "#);
}

#[test]
fn invalid_yaml_is_reported_with_its_position() {
    let texts = [
        "steps:\n  a:\n    run: x\n   b: y\n",
        "steps:\n  a:\n    run: \"x\n",
        "steps:\n  a: { run: x\n  b: { run: y }\n",
        "steps:\n  a:\n    run: x\n    b\n",
        "steps:\n  a:\n    needs: [b, c\n    run: x\n",
        "steps:\n  a: - x\n",
        "- a\nb: c\n",
        "steps:\n  a:\n\trun: x\n",
        "steps:\n  a:\n    run: x\n      about: y\n",
        "steps: { a: { run: x } }]\n",
    ];
    let diagnosis: Vec<String> = texts.map(diagnosis).to_vec();
    assert_snapshot!(diagnosis.join("\n"), @r#"
    error[E003]: the indentation does not match the lines above
     --> windlass.yml:4:4
      |
    4 |    b: y
      |    ^
      |
      = help: all keys of a map begin in the same column

    error[E003]: unclosed quote
     --> windlass.yml:3:10
      |
    3 |     run: "x
      |          ^ opened here
      |
      = help: write a quote inside a string twice in single quotes, or as `\"` in double quotes

    error[E003]: unclosed bracket or brace
     --> windlass.yml:2:6
      |
    2 |   a: { run: x
      |      ^ opened here
     ::: windlass.yml:3:4
      |
    3 |   b: { run: y }
      |    - and this is not allowed inside
      |
      = help: close each `[` with `]` and each `{` with `}`, and separate items with commas

    error[E003]: missing `:` after a key
     --> windlass.yml:4:5
      |
    4 |     b
      |     ^
      |
      = help: write `key: value`, or indent it as part of the value above

    error[E003]: unclosed bracket or brace
     --> windlass.yml:3:12
      |
    3 |     needs: [b, c
      |            ^ opened here
     ::: windlass.yml:4:8
      |
    4 |     run: x
      |        - and this is not allowed inside
      |
      = help: close each `[` with `]` and each `{` with `}`, and separate items with commas

    error[E003]: a list item is not allowed here
     --> windlass.yml:2:6
      |
    2 |   a: - x
      |      ^
      |
      = help: put each `- item` on its own line below the key, or write `[a, b]`

    error[E003]: a list item is not allowed here
     --> windlass.yml:2:1
      |
    2 | b: c
      | ^
      |
      = help: put each `- item` on its own line below the key, or write `[a, b]`

    error[E011]: YAML is indented with spaces, but this is a tab
     --> windlass.yml:3:1
      |
    3 |     run: x
      | ^^^^
      |
      = write:
    3 |     run: x

    error[E003]: the indentation does not match the lines above
     --> windlass.yml:4:12
      |
    4 |       about: y
      |            ^
      |
      = help: all keys of a map begin in the same column

    error[E003]: invalid YAML: misplaced bracket
     --> windlass.yml:1:25
      |
    1 | steps: { a: { run: x } }]
      |                         ^
    "#);
}
