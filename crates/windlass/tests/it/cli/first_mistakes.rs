//! Ten typical first mistakes in one file, as `validate` reports them.

use insta::assert_snapshot;

use crate::support::project_folder::ProjectFolder;

const MISTAKES: &str = "\
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

#[test]
fn each_mistake_is_reported_with_the_corrected_line() {
    let said = ProjectFolder::with(MISTAKES).page("validate");
    let fixes: Vec<&str> = said.split("= write:\n").skip(1).collect();
    let fixes: Vec<&str> = fixes.iter().filter_map(|rest| rest.lines().next()).collect();
    assert_snapshot!(fixes.join("\n"), @r#"
    3 |     run: 'echo a: b'
    5 |     run: '[ -f x ] && y'
    7 |     run: '"a" && b'
    9 |     run: 'x #y'
    10 |   e: { run: 'echo hi, there' }
    12 |     env: { A: "${{ x }}" }
    15 |     if: success()
    18 |     requires: [docker, not spot]
    21 |     timeout: 15m
    24 |     needs: [a, b]
    "#);
    let last = said.lines().last().unwrap();
    assert_snapshot!(last, @r#"windlass.yml: 11 errors; for details, run `windlass explain E021`"#);
    assert!(said.starts_with("exit code 3\n"));
}
