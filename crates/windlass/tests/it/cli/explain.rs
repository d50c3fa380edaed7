//! `explain`: a page for every code.

use insta::assert_snapshot;
use windlass::core::problem::ProblemCode;

use crate::support::project_folder::ProjectFolder;

#[test]
fn every_code_has_its_page() {
    let folder = ProjectFolder::empty();
    let list = folder.data("explain");
    assert_eq!(list.lines().count(), ProblemCode::ALL.len());
    for line in list.lines().step_by(7) {
        let (code, title) = line.split_once("  ").unwrap();
        assert_eq!(
            folder.data(&format!("explain {code}")).lines().next().unwrap(),
            format!("# {code}: {title}")
        );
    }
}

#[test]
fn page_of_a_code_is_printed() {
    assert_snapshot!(ProjectFolder::empty().page("explain e029"), @r#"
    # E029: duration without a unit

    `15` could mean seconds, minutes or milliseconds. Write a duration with a unit: `250ms`, `90s`, `15m`, `2h`, `1h30m` or
    `7d`.

    Wrong:

    ```yaml
    steps:
      a:
        timeout: 15
        run: make
    ```

    Right:

    ```yaml
    steps:
      a:
        timeout: 15m
        run: make
    ```
    "#);
}

#[test]
fn unknown_code_is_refused() {
    assert_snapshot!(ProjectFolder::empty().page("explain E29"), @r#"
    exit code 2
    --- said ---
    error: there is no code `E29`
      hint: did you mean `E029`? `windlass explain` lists them all
    "#);
    assert_snapshot!(ProjectFolder::empty().page("explain timeout"), @r#"
    exit code 2
    --- said ---
    error: there is no code `timeout`
      hint: `windlass explain` lists them all
    "#);
}
