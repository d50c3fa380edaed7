//! The ten most frequent first mistakes, each with its own message and the corrected line.

use insta::assert_snapshot;

use crate::outline::diagnosis;

fn step(line: &str) -> String {
    format!("steps:\n  a:\n    {line}\n")
}

#[test]
fn colon_in_a_command_is_explained() {
    assert_snapshot!(diagnosis(&step("run: echo a: b")), @r#"
    error[E021]: `: ` in an unquoted string
     --> windlass.yml:3:16
      |
    3 |     run: echo a: b
      |                ^ YAML reads the part before it as another key inside `run`
      |
      = help: quote the string, or put it on the next line after `|`
      |
      = write:
    3 |     run: 'echo a: b'
    "#);
}

#[test]
fn bracket_at_the_beginning_is_explained() {
    assert_snapshot!(diagnosis(&step("run: [ -f x ] && y")), @r#"
    error[E022]: quote a string that begins with `[`
     --> windlass.yml:3:10
      |
    3 |     run: [ -f x ] && y
      |          ^ YAML reads a list from here
      |                   - and does not expect this after the list
      |
      = write:
    3 |     run: '[ -f x ] && y'
    "#);
}

#[test]
fn quote_at_the_beginning_is_explained() {
    assert_snapshot!(diagnosis(&step("run: \"a\" && b")), @r#"
    error[E023]: quote the whole string: it continues after its closing `"`
     --> windlass.yml:3:10
      |
    3 |     run: "a" && b
      |          ^ YAML ends the string at the next quote
      |
      = write:
    3 |     run: '"a" && b'
    "#);
}

#[test]
fn apostrophe_in_single_quotes_is_explained() {
    assert_snapshot!(diagnosis(&step("run: 'echo it's'")), @r#"
    error[E023]: write a single quote inside single quotes twice
     --> windlass.yml:3:10
      |
    3 |     run: 'echo it's'
      |          ^ YAML ends the string at the next quote
      |
      = write:
    3 |     run: 'echo it''s'
    "#);
}

#[test]
fn hash_in_a_command_is_explained() {
    assert_snapshot!(diagnosis(&step("run: x #y")), @r#"
    error[E024]: ` #` begins a comment
     --> windlass.yml:3:12
      |
    3 |     run: x #y
      |            ^^ this is not part of the value
      |
      = help: quote the string; for a comment, write a space after `#`
      |
      = write:
    3 |     run: 'x #y'
    "#);
}

#[test]
fn comment_after_a_command_is_no_mistake() {
    assert_snapshot!(diagnosis(&step("run: x # y")), @"nothing is wrong");
}

#[test]
fn comma_between_braces_is_explained() {
    assert_snapshot!(diagnosis("steps:\n  a: { run: echo hi, there, you, about: x }\n"), @r#"
    error[E025]: a comma between braces ends the value
     --> windlass.yml:2:22
      |
    2 |   a: { run: echo hi, there, you, about: x }
      |                      ^^^^^ YAML reads `there` as another key
      |
      = write:
    2 |   a: { run: 'echo hi, there, you', about: x }
    "#);
}

#[test]
fn braces_without_quotes_are_explained() {
    let text =
        "params: { x: 1 }\nsteps:\n  a:\n    env: { B: 1, A: v${{ params.x }}-1 }\n    run: make\n";
    assert_snapshot!(diagnosis(text), @r#"
    error[E026]: quote `${{ }}` between braces or brackets
     --> windlass.yml:4:21
      |
    4 |     env: { B: 1, A: v${{ params.x }}-1 }
      |                     ^^^^^^^^^^^^^^^^^^ YAML reads these braces as maps
      |
      = write:
    4 |     env: { B: 1, A: "v${{ params.x }}-1" }
    "#);
}

#[test]
fn exclamation_mark_in_a_condition_is_explained() {
    assert_snapshot!(diagnosis(&step("if: !failure()\n    run: make")), @r#"
    error[E027]: write `success()` for `!failure()` in a condition
     --> windlass.yml:3:9
      |
    3 |     if: !failure()
      |         ^^^^^^^^^^ YAML reads this as a tag, not as a string
      |
      = write:
    3 |     if: success()
    "#);
}

#[test]
fn exclamation_mark_in_a_requirement_is_explained() {
    assert_snapshot!(diagnosis(&step("requires: [docker, !spot]\n    run: make")), @r#"
    error[E028]: write `not spot` for `!spot` in a requirement
     --> windlass.yml:3:24
      |
    3 |     requires: [docker, !spot]
      |                        ^^^^^ YAML reads this as a tag, not as a string
      |
      = write:
    3 |     requires: [docker, not spot]
    "#);
}

#[test]
fn bare_number_is_explained() {
    assert_snapshot!(diagnosis(&step("timeout: 15\n    run: make")), @r#"
    error[E029]: `timeout` needs a unit
     --> windlass.yml:3:14
      |
    3 |     timeout: 15
      |              ^^ a number without a unit
      |
      = help: write a duration as `250ms`, `90s`, `15m`, `2h` or `1h30m`
      |
      = write:
    3 |     timeout: 15m
    "#);
}

#[test]
fn list_without_brackets_is_explained() {
    assert_snapshot!(diagnosis("steps:\n  a: { run: make }\n  b: { run: make }\n  c:\n    needs: a, b\n    run: make\n"), @r#"
    error[E030]: `needs` is one string with a comma, not a list
     --> windlass.yml:5:12
      |
    5 |     needs: a, b
      |            ^^^^ YAML reads a list only in brackets
      |
      = write:
    5 |     needs: [a, b]
    "#);
}

#[test]
fn yaml_indicators_at_the_beginning_are_explained() {
    let lines = ["run: *.sh", "run: @x", "run: > out", "run: & x", "run: `date`", "run: ! grep x"];
    let diagnosis: Vec<String> = lines.map(|line| diagnosis(&step(line))).to_vec();
    assert_snapshot!(diagnosis.join("\n"), @r#"
    error[E031]: quote a string that begins with `*`: YAML reads `*.sh` as an alias
     --> windlass.yml:3:10
      |
    3 |     run: *.sh
      |          ^^^^
      |
      = write:
    3 |     run: '*.sh'

    error[E031]: quote a string that begins with `@`
     --> windlass.yml:3:10
      |
    3 |     run: @x
      |          ^ this character is special in YAML
      |
      = write:
    3 |     run: '@x'

    error[E031]: quote a string that begins with `>`
     --> windlass.yml:3:10
      |
    3 |     run: > out
      |          ^ this character is special in YAML
      |
      = write:
    3 |     run: '> out'

    error[E031]: quote a string that begins with `&`
     --> windlass.yml:3:10
      |
    3 |     run: & x
      |          ^ this character is special in YAML
      |
      = write:
    3 |     run: '& x'

    error[E031]: quote a string that begins with ```
     --> windlass.yml:3:10
      |
    3 |     run: `date`
      |          ^ this character is special in YAML
      |
      = write:
    3 |     run: '`date`'

    error[E005]: `!` is a YAML tag, and a pipeline has no tags
     --> windlass.yml:3:10
      |
    3 |     run: ! grep x
      |          ^
      |
      = write:
    3 |     run: '! grep x'
    "#);
}

#[test]
fn all_mistakes_in_one_file_are_reported_at_once() {
    let text = "\
steps:
  a:
    run: echo a: b
  b:
    run: [ -f x ] && y
  c:
    run: \"a\" && b
  d:
    run: x #y
  e: { run: echo hi, there }
  f:
    env: { A: ${{ x }} }
    run: make
  g:
    if: !failure()
    run: make
  h:
    requires: [docker, !spot]
    run: make
  i:
    timeout: 15
    run: make
  j:
    needs: a, b
    run: make
";
    assert_snapshot!(crate::outline::listed(text), @r#"
    windlass.yml:3:16: error[E021]: `: ` in an unquoted string
    windlass.yml:5:10: error[E022]: quote a string that begins with `[`
    windlass.yml:7:10: error[E023]: quote the whole string: it continues after its closing `"`
    windlass.yml:9:12: error[E024]: ` #` begins a comment
    windlass.yml:10:22: error[E025]: a comma between braces ends the value
    windlass.yml:12:15: error[E026]: quote `${{ }}` between braces or brackets
    windlass.yml:12:19: error[E081]: unknown name `x`
    windlass.yml:15:9: error[E027]: write `success()` for `!failure()` in a condition
    windlass.yml:18:24: error[E028]: write `not spot` for `!spot` in a requirement
    windlass.yml:21:14: error[E029]: `timeout` needs a unit
    windlass.yml:24:12: error[E030]: `needs` is one string with a comma, not a list
    "#);
}
