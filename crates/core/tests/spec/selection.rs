//! A part of a pipeline: the steps that the user selected.

use windlass_core::expand::{SelectionError, StepSelection};
use windlass_core::problem::{ProblemSeverity, SourceFile};
use windlass_core::spec::{self, PipelineDecl, PipelineReadOptions};

const FILE: &str = "\
defaults: { tags: [all] }
steps:
  lint: { run: lint, tags: [quick] }
  build: { run: build, outputs: [version] }
  test: { needs: [lint, build], run: check }
  docs: { run: docs }
  ship: { needs: test, run: ship }
  tell: { needs: [ship, { step: docs, optional: true }], run: \"echo ${{ steps.build.outputs.version }}\" }
";

fn pipeline() -> PipelineDecl {
    let source = SourceFile::new("windlass.yml", FILE);
    let (pipeline, problems) = spec::read_pipeline(
        &source,
        PipelineReadOptions { unavailable_key_severity: ProblemSeverity::Error },
    );
    pipeline.unwrap_or_else(|| panic!("{problems:?}"))
}

fn names(selection: &StepSelection) -> Result<String, String> {
    let pipeline = selection.select_from(pipeline()).map_err(|error| error.to_string())?;
    let steps = pipeline.steps.iter().map(|step| {
        let needs: Vec<&str> = step.needs.iter().map(|need| &*need.step.value).collect();
        format!("{}({})", step.name.value, needs.join(" "))
    });
    Ok(steps.collect::<Vec<String>>().join(" "))
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn step_is_selected_with_all_its_needs() {
    let selection = StepSelection { steps: words(&["test"]), ..StepSelection::default() };
    assert_eq!(names(&selection).as_deref(), Ok("lint() build() test(lint build)"));
}

#[test]
fn only_selects_a_single_step_and_its_needs_count_as_done() {
    let selection = StepSelection { only: words(&["test", "build"]), ..StepSelection::default() };
    assert_eq!(names(&selection).as_deref(), Ok("build() test(build)"));
}

#[test]
fn from_selects_all_dependents_of_a_step() {
    let from = StepSelection { from: words(&["build"]), ..StepSelection::default() };
    assert_eq!(names(&from).as_deref(), Ok("build() test(build) ship(test) tell(ship)"));
}

#[test]
fn tag_selects_steps_by_their_own_or_default_tags() {
    let quick = StepSelection { tags: words(&["quick"]), ..StepSelection::default() };
    assert_eq!(names(&quick).as_deref(), Ok("lint()"));
    let all = StepSelection { tags: words(&["all"]), ..StepSelection::default() };
    assert!(names(&all).is_ok_and(|names| names.contains("tell(ship docs)")));
}

#[test]
fn unknown_step_is_reported_with_a_suggestion() {
    let tset = StepSelection { steps: words(&["tset"]), ..StepSelection::default() };
    insta::assert_snapshot!(names(&tset).unwrap_err(), @"there is no step `tset`: did you mean `test`?");
    let slow = StepSelection { tags: words(&["quikc"]), ..StepSelection::default() };
    insta::assert_snapshot!(names(&slow).unwrap_err(), @"no step has the tag `quikc`: did you mean `quick`?");
}

#[test]
fn step_that_reads_an_unselected_need_is_refused() {
    let only = StepSelection { only: words(&["tell"]), ..StepSelection::default() };
    let error = only.select_from(pipeline()).unwrap_err();
    let expected = SelectionError::Reads { step: "tell".to_owned(), needed: "build".to_owned() };
    assert_eq!(error, expected);
}
