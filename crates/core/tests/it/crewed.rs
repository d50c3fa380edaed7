//! What nobody can run, once everybody who was expected has come.

use windlass_core::engine::{Answer, Denial, Request, Unplaceable};
use windlass_core::id::RunId;
use windlass_core::outcome::{RunStatus, StepStatus};
use windlass_core::plan::StepSpec;
use windlass_core::time::Span;

use crate::crew::Crew;

/// More than a step waits when nobody is expected any more.
const SOON: Span = Span::secs(2);

/// A run with a step for whom nobody has come yet.
fn begun() -> Crew {
    let mut crew = Crew::new().worker("alpha", 1, ["linux"]);
    crew.submit("ship", |plan| {
        plan.step("sign", StepSpec::requiring(["windows"]), []);
        plan.plain("upload", ["sign"]);
        plan.plain("notes", []);
    });
    crew
}

fn crewed(crew: &mut Crew, unplaceable: Unplaceable) {
    let run = crew.run_id("ship");
    assert_eq!(crew.ask(Request::Crewed { run, unplaceable }), Answer::Done);
}

#[test]
fn what_nobody_can_run_is_skipped_when_nobody_is_expected() {
    let mut crew = begun();
    crew.pass(SOON);
    assert_eq!(crew.status("sign"), StepStatus::Ready, "somebody may come");
    crewed(&mut crew, Unplaceable::Skip);
    crew.pass(SOON);
    assert_eq!(crew.status("sign"), StepStatus::Skipped);
    assert_eq!(crew.status("upload"), StepStatus::Blocked, "it needs what could not run");
    crew.succeed(["notes"]);
    assert_eq!(crew.run_status("ship"), RunStatus::Failed);
}

#[test]
fn it_fails_where_it_is_not_to_be_skipped() {
    let mut crew = begun();
    crewed(&mut crew, Unplaceable::Fail);
    crew.pass(SOON);
    assert_eq!(crew.status("sign"), StepStatus::Failed);
    assert_eq!(crew.status("upload"), StepStatus::Blocked);
}

#[test]
fn what_becomes_ready_later_is_no_different() {
    let mut crew = Crew::new().worker("alpha", 1, ["linux"]);
    crew.submit("ship", |plan| {
        plan.plain("build", []);
        plan.step("sign", StepSpec::requiring(["windows"]), ["build"]);
    });
    crewed(&mut crew, Unplaceable::Skip);
    crew.pass(SOON);
    crew.succeed(["build"]);
    crew.pass(SOON);
    assert_eq!(crew.status("sign"), StepStatus::Skipped);
}

#[test]
fn who_is_there_in_time_gets_it() {
    let mut crew = begun();
    crewed(&mut crew, Unplaceable::Skip);
    crew.join("beta", 1, ["windows"]);
    crew.pass(SOON);
    crew.succeed(["sign"]);
    assert_eq!(crew.status("sign"), StepStatus::Succeeded);
}

/// Otherwise a run would succeed without what a runner that died should have done.
#[test]
fn whose_only_workers_have_died_is_not_skipped() {
    let mut crew = begun();
    crew.join("beta", 1, ["windows"]);
    crewed(&mut crew, Unplaceable::Skip);
    crew.pass(SOON);
    crew.kill("beta");
    crew.guard_ended("beta");
    crew.pass(SOON);
    assert_eq!(crew.status("sign"), StepStatus::Ready, "it waits for another");
    crew.pass(Span::mins(6));
    assert_eq!(crew.status("sign"), StepStatus::Failed);
}

#[test]
fn a_new_leader_gathers_anew() {
    let mut crew = begun();
    crewed(&mut crew, Unplaceable::Skip);
    crew.take_over();
    crew.pass(SOON);
    assert_eq!(crew.status("sign"), StepStatus::Ready);
    crewed(&mut crew, Unplaceable::Skip);
    crew.pass(SOON);
    assert_eq!(crew.status("sign"), StepStatus::Skipped);
}

#[test]
fn a_run_that_is_not_there_cannot_be_crewed() {
    let mut crew = begun();
    let run = RunId(7);
    let asked = crew.ask(Request::Crewed { run, unplaceable: Unplaceable::Skip });
    assert_eq!(asked, Answer::Denied(Denial::NoSuchRun(run)));
}
