//! Code around steps and runs, and the effects of a step on its run.

use std::sync::{Arc, Mutex};

use windlass::core::outcome::{RunStatus, StepStatus};
use windlass::core::step_failure::{StepFailure, StepFailureKind};
use windlass::{Context, Ended, Error, Hooks, Out, Pipeline, Report, Result, step};

#[derive(Clone, Default)]
struct HookNotes(Arc<Mutex<Vec<String>>>);

impl HookNotes {
    fn note(&self, line: impl Into<String>) {
        self.0.lock().expect("nobody panicked").push(line.into());
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().expect("nobody panicked").clone()
    }
}

/// Records its calls under a name.
struct NotingHooks(&'static str, HookNotes);

impl Hooks for NotingHooks {
    async fn before_step(&self, ctx: &Context) -> Result<()> {
        self.1.note(format!("{} before {} {}", self.0, ctx.step(), ctx.attempt()));
        Ok(())
    }

    async fn after_step(&self, ctx: &Context, ended: Result<(), &StepFailure>) {
        let ended = ended.map_or_else(|failure| format!("{:?}", failure.kind), |()| "well".into());
        self.1.note(format!("{} after {} {ended}", self.0, ctx.step()));
    }

    async fn before_run(&self, pipeline: &str) -> Result<()> {
        self.1.note(format!("{} before the run of {pipeline}", self.0));
        Ok(())
    }

    async fn after_run(&self, report: &Report) {
        self.1.note(format!("{} after a run that {}", self.0, report.status()));
    }
}

#[step]
async fn build() -> Result<u8> {
    Ok(7)
}

#[step(retry(times = 1, wait = "1ms"))]
async fn test(ctx: &Context, build: Out<Build>) -> Result<()> {
    assert!(ctx.attempt() > 1, "{build:?} is not enough");
    Ok(())
}

#[tokio::test]
async fn hooks_wrap_every_attempt_and_the_run() {
    let notes = HookNotes::default();
    let pipeline = Pipeline::new("ship").add(build).add(test);
    let pipeline = pipeline
        .hooks(NotingHooks("outer", notes.clone()))
        .hooks(NotingHooks("inner", notes.clone()));
    assert!(pipeline.run().await.unwrap().succeeded());
    let story = "outer before the run of ship
inner before the run of ship
outer before build 1
inner before build 1
inner after build well
outer after build well
outer before test 1
inner before test 1
inner after test Panic
outer after test Panic
outer before test 2
inner before test 2
inner after test well
outer after test well
inner after a run that succeeded
outer after a run that succeeded";
    assert_eq!(notes.all().join("\n"), story);
}

/// Refuses every step.
struct RefusingStepHooks;

impl Hooks for RefusingStepHooks {
    async fn before_step(&self, ctx: &Context) -> Result<()> {
        Err(Error::msg("no route").context(format!("{} is closed today", ctx.step())))
    }
}

/// Refuses every run.
struct RefusingRunHooks;

impl Hooks for RefusingRunHooks {
    async fn before_run(&self, _: &str) -> Result<()> {
        Err(Error::msg("the doors are shut"))
    }
}

#[tokio::test]
async fn attempt_that_a_hook_refuses_does_not_begin() {
    let report = Pipeline::new("ship").add(build).hooks(RefusingStepHooks).run().await.unwrap();
    let failure = report.get(build).unwrap_err().failure.unwrap();
    assert_eq!(failure.kind, StepFailureKind::Error);
    assert_eq!((failure.message.as_str(), failure.causes.len()), ("build is closed today", 1));
    let refused = Pipeline::new("ship").add(build).hooks(RefusingRunHooks).run().await.unwrap_err();
    assert_eq!(refused.to_string(), "the run was not started: the doors are shut");
}

#[step]
async fn look(ctx: &Context, _build: Out<Build>) -> Result<()> {
    ctx.cancel_run("nothing has changed").await?;
    ctx.cancelled().await;
    Ok(())
}

#[step]
async fn ship(_look: Out<Look>) -> Result<()> {
    Ok(())
}

#[step(always)]
async fn tell(ship: Ended<Ship>) -> Result<String> {
    Ok(ship.status.to_string())
}

#[tokio::test]
async fn step_can_end_its_run_with_a_reason() {
    let pipeline = Pipeline::new("ship").add(build).add(look).add(ship).add(tell);
    let report = pipeline.run().await.unwrap();
    assert_eq!(report.status(), RunStatus::Cancelled);
    assert_eq!(report.status_of("ship"), Some(StepStatus::Cancelled));
    assert_eq!(report.get(tell).unwrap(), "cancelled", "what always runs does");
    assert_eq!(report.log("look").await, "windlass: the run is cancelled: nothing has changed\n");
}
