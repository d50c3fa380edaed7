//! Reports of a run for machines that show it to people.

use crate::support::project_folder::ProjectFolder;

const STEPS: &str = r###"
name: reports
steps:
  build: { run: 'echo compiling; printf "## Sizes\n\n| a | 1 |\n" >> "$WINDLASS_SUMMARY"' }
  test: { needs: build, run: 'echo "expected 3, found 4"; exit 7' }
  ship: { needs: test, run: 'true' }
  moon: { requires: [moon], run: 'true' }
"###;

#[test]
fn github_gets_groups_annotations_and_a_page() {
    let project = ProjectFolder::with(STEPS).set("GITHUB_ACTIONS", "true");
    let page = project.path().join("page.md");
    let project = project.set("GITHUB_STEP_SUMMARY", &page.display().to_string());
    project.file("page.md", "what was there\n");
    let ended = project.run("run");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let group = "::group::test\nexpected 3, found 4\n::endgroup::\n";
    assert!(ended.out.contains(group), "{}", ended.out);
    let error = "::error title=test failed::exit 7 after ";
    let text = format!("{}{}", ended.out, ended.err);
    assert!(text.contains(error) && text.contains("%0Aexpected 3, found 4"), "{text}");
    let page = project.read("page.md");
    assert!(page.starts_with("what was there\n### ❌ reports failed\n"), "{page}");
    for part in
        ["**test** exit 7", "| build | succeeded | 1 |", "needs moon", "#### build\n\n## Sizes"]
    {
        assert!(page.contains(part), "{part} in {page}");
    }
}

#[test]
fn step_summary_is_shown() {
    let project = ProjectFolder::with(STEPS);
    assert_eq!(project.run("run").code, Some(1));
    let shown = project.data("show");
    assert!(shown.contains("build\n## Sizes\n\n| a | 1 |\n"), "{shown}");
    assert_eq!(project.step("build")["summary"], "## Sizes\n\n| a | 1 |\n");
    assert!(project.step("test").get("summary").is_none());
}

#[test]
fn junit_and_every_mode_of_output() {
    let project = ProjectFolder::with(STEPS);
    let shown = |mode: &str| {
        let ended = project.run(&format!("run --output {mode} --junit report.xml"));
        assert_eq!(ended.code, Some(1), "{mode}: {ended:?}");
        ended.out
    };
    assert_eq!(shown("stream"), "build │ compiling\ntest  │ expected 3, found 4\n");
    assert_eq!(shown("group"), "    compiling\n    expected 3, found 4\n");
    assert_eq!(shown("none"), "");
    assert_eq!(shown("failures"), "", "they are told at the end");
    let report = project.read("report.xml");
    assert!(report.contains(r#"<testsuites name="reports" tests="4" failures="1""#), "{report}");
    assert!(report.contains("expected 3, found 4</failure>"), "{report}");
    let unwritten = project.run("run --junit no/such/folder/report.xml");
    assert_eq!(unwritten.code, Some(1), "{unwritten:?}");
    assert!(unwritten.err.contains("no/such/folder/report.xml cannot be written"));
}

#[test]
fn log_is_plain_unless_colour_is_requested() {
    let project = ProjectFolder::with(STEPS);
    assert!(!project.run("run").err.contains('\u{1b}'));
    let forced = ProjectFolder::with(STEPS).set("CLICOLOR_FORCE", "1");
    assert!(forced.run("run").err.contains("\u{1b}[31m"));
    let refused = forced.set("NO_COLOR", "1");
    assert!(!refused.run("run").err.contains('\u{1b}'));
}
