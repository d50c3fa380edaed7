//! A part of a pipeline: the steps that somebody asked for.

use windlass_core::expand::{Selection, SelectionError};
use windlass_core::problem::{Severity, Source};
use windlass_core::spec::{self, Options, Pipeline};

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

fn pipeline() -> Pipeline {
    let source = Source::new("windlass.yml", FILE);
    let (pipeline, problems) = spec::read(&source, Options { not_available: Severity::Error });
    pipeline.unwrap_or_else(|| panic!("{problems:?}"))
}

fn names(selection: &Selection) -> Result<String, String> {
    let pipeline = selection.of(pipeline()).map_err(|error| error.to_string())?;
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
fn a_step_comes_with_everything_that_it_needs() {
    let selection = Selection { steps: words(&["test"]), ..Selection::default() };
    assert_eq!(names(&selection).as_deref(), Ok("lint() build() test(lint build)"));
}

#[test]
fn only_a_step_comes_alone_and_its_needs_count_as_done() {
    let selection = Selection { only: words(&["test", "build"]), ..Selection::default() };
    assert_eq!(names(&selection).as_deref(), Ok("build() test(build)"));
}

#[test]
fn from_a_step_comes_everything_that_needs_it() {
    let from = Selection { from: words(&["build"]), ..Selection::default() };
    assert_eq!(names(&from).as_deref(), Ok("build() test(build) ship(test) tell(ship)"));
}

#[test]
fn a_tag_picks_steps_by_their_own_tags_or_the_default_ones() {
    let quick = Selection { tags: words(&["quick"]), ..Selection::default() };
    assert_eq!(names(&quick).as_deref(), Ok("lint()"));
    let all = Selection { tags: words(&["all"]), ..Selection::default() };
    assert!(names(&all).is_ok_and(|names| names.contains("tell(ship docs)")));
}

#[test]
fn what_is_not_there_is_told_with_what_may_have_been_meant() {
    let tset = Selection { steps: words(&["tset"]), ..Selection::default() };
    insta::assert_snapshot!(names(&tset).unwrap_err(), @"there is no step `tset`: did you mean `test`?");
    let slow = Selection { tags: words(&["quikc"]), ..Selection::default() };
    insta::assert_snapshot!(names(&slow).unwrap_err(), @"no step has the tag `quikc`: did you mean `quick`?");
}

#[test]
fn a_step_that_reads_what_was_left_out_cannot_come_alone() {
    let only = Selection { only: words(&["tell"]), ..Selection::default() };
    let error = only.of(pipeline()).unwrap_err();
    let expected = SelectionError::Reads { step: "tell".to_owned(), needed: "build".to_owned() };
    assert_eq!(error, expected);
}
