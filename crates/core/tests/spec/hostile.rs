//! Hostile files: clear errors, bounded work, no panic.

use insta::assert_snapshot;
use windlass_core::problem::{PROBLEMS_MAX, ProblemStyle, SOURCE_MAX, SourceFile, render_problem};

use crate::outline::{diagnosis, drawn, listed, problems, source};

fn bytes(bytes: &[u8]) -> String {
    let rejected = SourceFile::from_bytes("windlass.yml", bytes).expect_err("it is no text");
    render_problem(&rejected.problem, &rejected.source, ProblemStyle::Plain)
}

#[test]
fn empty_files_are_reported() {
    assert_snapshot!(diagnosis(""), @r#"
    error[E010]: the file is empty
     --> windlass.yml:1:1
      |
    1 |
      | ^
      |
      = help: write at least `steps: { hello: { run: echo hi } }`, or create a file with `windlass init`
    "#);
    assert_snapshot!(listed("# nothing\n\n"), @"windlass.yml:1:1: error[E010]: the file is empty");
    assert_snapshot!(listed("---\n"), @"windlass.yml:1:1: error[E010]: the file is empty");
    assert_snapshot!(listed("~"), @"windlass.yml:1:1: error[E010]: the file is empty");
    assert_snapshot!(listed("steps:\n"), @"windlass.yml:1:6: error[E052]: `steps` has no value");
    assert_snapshot!(listed("steps: {}\n"), @"windlass.yml:1:8: error[E010]: the pipeline has no steps");
    assert_snapshot!(listed("[]"), @"windlass.yml:1:1: error[E042]: a pipeline is a map, but this is a list");
    assert_snapshot!(listed("hello"), @"windlass.yml:1:1: error[E042]: a pipeline is a map, but this is a string");
}

#[test]
fn bytes_that_are_no_text_are_reported() {
    assert_snapshot!(bytes(b"\x7fELF\x02\x01\x01\x00\x00"), @r#"
    error[E001]: the file is not text
     --> windlass.yml:1:8
      |
    1 | �ELF���
      |        ^ byte 7 is 0x00
      |
      = help: a pipeline is YAML in UTF-8: check that the path names the right file
    "#);
    assert_snapshot!(bytes(b"steps:\n  a: { run: \xff }\n"), @r#"
    error[E001]: the file is not text
     --> windlass.yml:2:13
      |
    2 |   a: { run:
      |             ^ byte 19 is 0xff
      |
      = help: a pipeline is YAML in UTF-8: check that the path names the right file
    "#);
    assert_snapshot!(bytes(b"\xff\xfes\0t\0e\0p\0s\0"), @r#"
    error[E001]: the file is not text
     --> windlass.yml:1:1
      |
    1 |
      | ^ byte 0 is 0xff
      |
      = help: the file looks like UTF-16: save it as UTF-8
    "#);
    assert_snapshot!(bytes(&vec![b'a'; SOURCE_MAX + 1]), @r#"
    error[E002]: the file has 8388609 bytes; at most 8388608 are allowed
     --> windlass.yml:1:1
      |
    1 |
      | ^
      |
      = help: check that the path names a pipeline file
    "#);
}

#[test]
fn file_of_eight_mebibytes_is_read() {
    let comment = format!("# {}\n", "x".repeat(1021));
    let text = format!("steps: {{ a: {{ run: make }} }}\n{}", comment.repeat(8 * 1024 - 1));
    assert!(
        text.len() <= SOURCE_MAX && SourceFile::from_bytes("windlass.yml", text.as_bytes()).is_ok()
    );
    assert_eq!(listed(&text), "nothing is wrong");
    assert_snapshot!(diagnosis(&"[".repeat(100_000)), @r#"
    error[E002]: maps and lists are nested too deeply
     --> windlass.yml:1:65
      |
    1 | [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[…
      |                                                                 ^
      |
      = help: a pipeline needs seven levels; at most 64 are allowed
    "#);
    let one_line = format!("steps: {{ a: {{ run: make, colour: {} }} }}", "y".repeat(1_000_000));
    assert_snapshot!(diagnosis(&one_line), @r#"
    error[E041]: unknown key `colour` in a step
     --> windlass.yml:1:26
      |
    1 | steps: { a: { run: make, colour: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy…
      |                          ^^^^^^
      |
      = help: `windlass schema` lists all keys; keys that begin with `x-` are free for your own use
    "#);
}

#[test]
fn thousands_of_mistakes_are_reported_without_trying_every_correction() {
    let step = |n: usize| format!("  s{n}: {{ run: make, timeout: 15, need: s0 }}\n");
    let text = format!("steps:\n{}", (0..1300).map(step).collect::<String>());
    let found = problems(&text, &[]);
    assert_eq!(found.len(), PROBLEMS_MAX, "of 2,600");
    assert!(found.iter().all(|problem| problem.fix.is_some()));
}

#[test]
fn deep_nesting_is_reported() {
    let flow =
        format!("x-a: {}{}\nsteps: {{ a: {{ run: make }} }}\n", "[".repeat(60), "]".repeat(60));
    assert_snapshot!(listed(&flow), @"nothing is wrong");
    let lines: Vec<String> = (0..200).map(|n| " ".repeat(n) + "a:").collect();
    assert_snapshot!(listed(&lines.join("\n")), @"windlass.yml:65:65: error[E002]: maps and lists are nested too deeply");
}

#[test]
fn alias_bomb_is_reported() {
    let mut lines = vec!["x-a0: &a0 [x, x, x, x, x, x, x, x, x, x]".to_owned()];
    for n in 1..12 {
        let last = n - 1;
        let items = vec![format!("*a{last}"); 10].join(", ");
        lines.push(format!("x-a{n}: &a{n} [{items}]"));
    }
    lines.push("steps: { a: { run: make } }".to_owned());
    assert_snapshot!(listed(&lines.join("\n")), @"windlass.yml:6:42: error[E002]: the file expands to more than 1000000 values");
}

#[test]
fn windows_line_ends_and_byte_order_mark_are_accepted() {
    let text = "\u{feff}steps:\r\n  a:\r\n    run: |\r\n      make\r\n      echo '${{ params.x }}'\r\n    timeout: 15\r\n";
    assert_snapshot!(diagnosis(text), @r#"
    error[E102]: sh does not expand variables between single quotes
     --> windlass.yml:5:13
      |
    5 |       echo '${{ params.x }}'
      |             ^^^^^^^^^^^^^^^
      |
      = help: add a variable to the step, env: { X: "${{ params.x }}" }, and use "$X"

    error[E029]: `timeout` needs a unit
     --> windlass.yml:6:14
      |
    6 |     timeout: 15
      |              ^^ a number without a unit
      |
      = help: write a duration as `250ms`, `90s`, `15m`, `2h` or `1h30m`
      |
      = write:
    6 |     timeout: 15m
    "#);
    assert_snapshot!(drawn("\u{feff}steps:\r\n  a:\r\n    run: |\r\n      make\r\n      make test\r\n"), @r#"
    a
        {"action":{"script":{"text":"make\nmake test\n"}}}
    "#);
}

#[test]
fn unusual_unicode_is_reported_at_its_position() {
    assert_snapshot!(diagnosis("steps:\n  über: { run: echo \"漢字🦀\", colour: \"\u{202e}x\" }\n  a: { run: x, tïmeout: 3 }\n"), @r#"
    error[E048]: `über` is not a valid name
     --> windlass.yml:2:3
      |
    2 |   über: { run: echo "漢字🦀", colour: "�x" }
      |   ^^^^
      |
      = help: names consist of letters, digits, `_` and `-`, and begin with a letter or `_`
      |
      = write:
    2 |   ber: { run: echo "漢字🦀", colour: "�x" }

    error[E041]: unknown key `colour` in a step
     --> windlass.yml:2:28
      |
    2 |   über: { run: echo "漢字🦀", colour: "�x" }
      |                            ^^^^^^
      |
      = help: `windlass schema` lists all keys; keys that begin with `x-` are free for your own use

    error[E041]: unknown key `tïmeout` in a step
     --> windlass.yml:3:16
      |
    3 |   a: { run: x, tïmeout: 3 }
      |                ^^^^^^^ did you mean `timeout`?
    "#);
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let page = diagnosis("steps:\n  a: { run: x, \"\\e[31mred\": 1 }\n");
    assert!(!page.contains('\u{1b}'), "{page}");
    let raw = diagnosis("steps:\n  a: { run: x, ab: \u{1b}[31m }\n");
    assert!(!raw.contains('\u{1b}'), "{raw}");
}

#[test]
fn truncated_and_damaged_files_cause_no_panic() {
    let sample = include_str!("sample.yml");
    for end in (0..sample.len()).filter(|end| sample.is_char_boundary(*end)) {
        diagnosis(&sample[..end]);
    }
    let mut state = 1_u64;
    let mut next = |bound: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).expect("31 bits") % bound
    };
    let noise: Vec<char> = "{}[]:,#&*!|>'\"%@`-?\n \t$é\u{85}<0a".chars().collect();
    for _ in 0..500 {
        let mut chars: Vec<char> = sample.chars().collect();
        for _ in 0..=next(4) {
            let at = next(chars.len());
            chars[at] = noise[next(noise.len())];
        }
        diagnosis(&chars.into_iter().collect::<String>());
    }
}

#[test]
fn colors_are_those_of_the_terminal() {
    let text = "steps:\n  a: { run: x, timeout: 15 }\n";
    let problem = &crate::outline::problems(text, &[])[0];
    let page = render_problem(problem, &source(text), ProblemStyle::Colour).replace('\u{1b}', "␛");
    assert_snapshot!(page, @r#"
    ␛[1;31merror[E029]␛[0m␛[1m: `timeout` needs a unit␛[0m
    ␛[1;34m -->␛[0m windlass.yml:2:25
    ␛[1;34m  |␛[0m
    ␛[1;34m2 |␛[0m   a: { run: x, timeout: 15 }
    ␛[1;34m  |␛[0m                         ␛[1;31m^^ a number without a unit␛[0m
    ␛[1;34m  |␛[0m
    ␛[1;34m  =␛[0m ␛[1mhelp:␛[0m write a duration as `250ms`, `90s`, `15m`, `2h` or `1h30m`
    ␛[1;34m  |␛[0m
    ␛[1;34m  =␛[0m ␛[1mwrite:␛[0m
    ␛[1;34m2 |␛[0m ␛[32m  a: { run: x, timeout: 15m }␛[0m
    "#);
}
