//! The settings file: the values that are read from it, and the problems that are reported.

use insta::assert_snapshot;
use windlass_core::config::{
    ConfigAssignment, ConfigSection, ConfigSetting, ConfigValueKind, read_config,
};
use windlass_core::problem::{ProblemStyle, SourceFile, render_problem};

fn sections() -> Vec<ConfigSection> {
    let setting = |name: &str, takes| ConfigSetting { name: name.to_owned(), takes };
    let section = |name: &str, settings| ConfigSection { name: name.to_owned(), settings };
    vec![
        section(
            "serve",
            vec![
                setting("listen", ConfigValueKind::One),
                setting("lease-ttl", ConfigValueKind::One),
                setting("no-exec", ConfigValueKind::Switch),
                setting("label", ConfigValueKind::Many),
            ],
        ),
        section(
            "worker",
            vec![setting("join", ConfigValueKind::Many), setting("label", ConfigValueKind::Many)],
        ),
    ]
}

fn diagnosis(text: &str) -> String {
    let source = SourceFile::new("config.yml", text);
    let (_, problems) = read_config(&source, &sections());
    let pages: Vec<String> = problems
        .iter()
        .map(|problem| render_problem(problem, &source, ProblemStyle::Plain))
        .collect();
    pages.join("\n")
}

#[test]
fn values_are_the_source_text() {
    let text = "serve:\n  listen: 0.0.0.0:7700\n  no-exec: true\n  label: [gpu, 3.10]\n\
                worker:\n  join: http://a:7700\nx-mine: { anything: goes }\n";
    let source = SourceFile::new("config.yml", text);
    let (given, problems) = read_config(&source, &sections());
    assert_eq!(problems, []);
    let line = |given: &ConfigAssignment| {
        let line = source.line_column(given.span.start).line;
        format!("{}.{} = {} ({line})", given.section, given.setting, given.values.join(" "))
    };
    let lines: Vec<String> = given.iter().map(line).collect();
    assert_snapshot!(lines.join("\n"), @r"
    serve.listen = 0.0.0.0:7700 (2)
    serve.no-exec = true (3)
    serve.label = gpu 3.10 (4)
    worker.join = http://a:7700 (6)
    ");
}

#[test]
fn empty_file_sets_no_value() {
    for text in ["", "# later\n", "serve:\n", "{}"] {
        let source = SourceFile::new("config.yml", text);
        assert_eq!(read_config(&source, &sections()), (vec![], vec![]), "{text:?}");
    }
}

#[test]
fn every_wrong_key_is_reported_at_once() {
    let text =
        "serv:\n  listen: a\nserve:\n  lease_ttl: 15s\n  join: http://a\nlisten: b\nother: 1\n";
    assert_snapshot!(diagnosis(text), @r#"
    error[E041]: unknown section `serv`
     --> config.yml:1:1
      |
    1 | serv:
      | ^^^^ did you mean `serve`?
      |
      = write:
    1 | serve:

    error[E041]: unknown setting `lease_ttl` in `serve`
     --> config.yml:4:3
      |
    4 |   lease_ttl: 15s
      |   ^^^^^^^^^ did you mean `lease-ttl`?
      |
      = write:
    4 |   lease-ttl: 15s

    error[E041]: unknown setting `join` in `serve`
     --> config.yml:5:3
      |
    5 |   join: http://a
      |   ^^^^
      |
      = help: it is a setting of `worker`

    error[E041]: unknown section `listen`
     --> config.yml:6:1
      |
    6 | listen: b
      | ^^^^^^
      |
      = help: it is a setting: move it under `serve`

    error[E041]: unknown section `other`
     --> config.yml:7:1
      |
    7 | other: 1
      | ^^^^^
      |
      = help: the sections are `serve`, `worker`
    "#);
}

#[test]
fn every_wrong_value_is_reported_at_once() {
    assert_snapshot!(diagnosis("serve:\n  listen: [a]\n  no-exec: yes\n  label:\n"), @r#"
    error[E042]: `listen` takes one value, but this is a list
     --> config.yml:2:11
      |
    2 |   listen: [a]
      |           ^^^

    error[E042]: `no-exec` takes `true` or `false`, but this is a string
     --> config.yml:3:12
      |
    3 |   no-exec: yes
      |            ^^^

    error[E052]: `label` has no value
     --> config.yml:4:3
      |
    4 |   label:
      |   ^^^^^
      |
      = help: remove it to use the default
    "#);
}

#[test]
fn file_that_is_no_yaml_or_no_map_is_reported() {
    assert_snapshot!(diagnosis("serve: { listen: a\n"), @r#"
    error[E003]: unclosed bracket or brace
     --> config.yml:1:8
      |
    1 | serve: { listen: a
      |        ^
      |
      = help: close each `[` with `]` and each `{` with `}`, and separate items with commas
    "#);
    assert_snapshot!(diagnosis("- serve\n"), @r#"
    error[E042]: the file is a map, but this is a list
     --> config.yml:1:1
      |
    1 | - serve
      | ^^^^^^^
    "#);
    assert_snapshot!(diagnosis("serve: 7700\n"), @r#"
    error[E042]: `serve` is a map, but this is a number
     --> config.yml:1:8
      |
    1 | serve: 7700
      |        ^^^^
    "#);
}
