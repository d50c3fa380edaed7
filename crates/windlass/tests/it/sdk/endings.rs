//! How steps end: errors, panics, retries, timeouts, secrets.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use windlass::core::outcome::StepStatus;
use windlass::core::step_failure::StepFailureKind;
use windlass::{Context, Error, Pipeline, Result, step};

#[derive(Debug, thiserror::Error)]
#[error("the farm is away")]
struct FarmUnreachable(#[source] io::Error);

#[step]
async fn farm() -> Result<u8> {
    let refused = io::Error::new(io::ErrorKind::ConnectionRefused, "no route to farm");
    Err(FarmUnreachable(refused))?
}

#[tokio::test]
async fn an_error_keeps_its_type_and_its_causes() {
    let report = Pipeline::new("ship").add(farm).run().await.unwrap();
    let error = report.get(farm).unwrap_err();
    assert_eq!(error.status, Some(StepStatus::Failed));
    let failure = error.failure.unwrap();
    assert_eq!(failure.kind, StepFailureKind::Error);
    assert!(failure.type_name.ends_with("endings::FarmUnreachable"), "{}", failure.type_name);
    assert_eq!(failure.message, "the farm is away");
    assert_eq!(failure.causes, ["no route to farm"]);
    let log = report.log("farm").await;
    assert_eq!(log, "windlass: the farm is away\n  because: no route to farm\n");
}

#[step]
async fn slip(ctx: &Context) -> Result<()> {
    ctx.log("about to slip");
    tokio::task::yield_now().await;
    let empty: Vec<u8> = Vec::new();
    assert!(!empty.is_empty(), "nothing of {} is left", empty.len());
    Ok(())
}

#[tokio::test]
async fn a_panic_is_a_failure_with_its_place() {
    let report = Pipeline::new("ship").add(slip).run().await.unwrap();
    let failure = report.get(slip).unwrap_err().failure.unwrap();
    assert_eq!(failure.kind, StepFailureKind::Panic);
    assert_eq!(failure.message, "nothing of 0 is left");
    assert!(failure.backtrace.unwrap().contains("sdk/endings.rs:"));
    let log = report.log("slip").await;
    assert!(log.starts_with("about to slip\nwindlass: it panicked: nothing of 0 is left\n  at "));
}

static TRIES: AtomicUsize = AtomicUsize::new(0);

fn is_io(error: &Error) -> bool {
    error.downcast_ref::<io::Error>().is_some()
}

/// Fails twice with an error that is worth a retry, then with one that is not.
#[step(retry(times = 9, wait = "1ms", when = is_io))]
async fn flaky(ctx: &Context) -> Result<()> {
    TRIES.fetch_add(1, Ordering::SeqCst);
    if ctx.attempt() < 3 {
        return Err(io::Error::other("busy").into());
    }
    Err(Error::msg("broken"))
}

#[tokio::test]
async fn a_step_decides_which_of_its_errors_are_tried_again() {
    let report = Pipeline::new("ship").add(flaky).run().await.unwrap();
    assert_eq!(TRIES.load(Ordering::SeqCst), 3);
    assert_eq!(report.get(flaky).unwrap_err().failure.unwrap().message, "broken");
}

#[step(timeout = "50ms", kill_grace = "10s")]
async fn polite(ctx: &Context) -> Result<()> {
    ctx.unless_cancelled(std::future::pending::<()>()).await
}

#[step(timeout = "50ms", kill_grace = "50ms")]
async fn stubborn() -> Result<()> {
    std::future::pending().await
}

#[tokio::test]
async fn step_past_its_timeout_is_cancelled_then_dropped() {
    let pipeline = Pipeline::new("ship").add(polite).add(stubborn);
    let report = pipeline.runner().keep_going().slots(2).run().await.unwrap();
    assert_eq!(report.status_of("polite"), Some(StepStatus::TimedOut));
    assert_eq!(report.status_of("stubborn"), Some(StepStatus::TimedOut));
}

#[step(kill_grace = "1ms")]
async fn sleeper(ctx: &Context) -> Result<()> {
    ctx.blocking(|| ()).await;
    tokio::time::sleep(Duration::from_hours(1)).await;
    Ok(())
}

#[step(timeout = "50ms")]
async fn failing() -> Result<()> {
    tokio::task::yield_now().await;
    Err(Error::msg("no"))
}

#[tokio::test]
async fn failure_ends_concurrent_steps() {
    let pipeline = Pipeline::new("ship").add(sleeper).add(failing);
    let report = pipeline.runner().slots(2).run().await.unwrap();
    assert_eq!(report.status_of("sleeper"), Some(StepStatus::Cancelled));
    assert_eq!(report.status_of("failing"), Some(StepStatus::Failed));
}

#[step(secrets = ["PATH"])]
async fn blab(ctx: &Context) -> Result<String> {
    let path = ctx.secret("PATH")?;
    ctx.log(format_args!("it is {path}!"));
    assert!(ctx.secret("HOME").is_err());
    Ok(path.to_owned())
}

#[tokio::test]
async fn a_secret_is_in_no_log_and_in_no_result() {
    let report = Pipeline::new("ship").add(blab).run().await.unwrap();
    let why = report.get(blab).unwrap_err().to_string();
    assert!(why.contains("its result holds a secret"), "{why}");
    assert!(report.log("blab").await.starts_with("it is ***!\n"));
}

#[step(secrets = ["THIS_IS_SET_NOWHERE"])]
async fn lacking() -> Result<()> {
    Err(Error::msg("it ran"))
}

#[tokio::test]
async fn a_missing_secret_refuses_the_run() {
    let why = Pipeline::new("ship").add(lacking).run().await.unwrap_err().to_string();
    assert!(why.contains("secret THIS_IS_SET_NOWHERE is not set (step `lacking`)"), "{why}");
}
