//! Pipelines in virtual time: steps replaced, results preset, workers that die.

use std::time::Duration;

use windlass::core::outcome::StepStatus;
use windlass::testing::PipelineTest;
use windlass::{Cells, Context, Error, Options, Out, Pipeline, Result, Retries, Target, step};

#[step]
async fn build() -> Result<String> {
    Err(Error::msg("no test builds anything"))
}

#[step(matrix(db = ["sqlite", "postgres"]), timeout = "2h", retry(times = 1, wait = "1h"))]
async fn test(on: Target<String>, build: Out<Build>) -> Result<String> {
    tokio::time::sleep(Duration::from_mins(90)).await;
    Ok(format!("{} on {}", *build, *on))
}

#[step]
async fn sum(test: Cells<Test>) -> Result<usize> {
    Ok(test.outputs().map(String::len).sum())
}

fn pipeline() -> Pipeline {
    Pipeline::new("ship").add(build).add(test).add(sum)
}

#[tokio::test(start_paused = true)]
async fn rehearsal_skips_hours_and_uses_preset_results() {
    let played = PipelineTest::of(pipeline()).preset(build, "app".to_owned()).run().await.unwrap();
    assert_eq!(played.report().get(sum).unwrap(), "app on sqliteapp on postgres".len());
    assert!(played.took() >= Duration::from_mins(90), "{:?}", played.took());
    assert!(played.ended_before("build", "test[sqlite]"));
    assert!(played.ended_before("test[postgres]", "sum"));
    assert!(!played.ended_before("sum", "build"));
}

#[tokio::test(start_paused = true)]
async fn step_of_a_dead_worker_moves_to_another() {
    let pipeline = Pipeline::new("ship").add_with(build, |options| options.prefers(["fast"]));
    let played = PipelineTest::of(pipeline)
        .replace(build, async |ctx: Context| Ok(ctx.worker().to_owned()))
        .worker("one", ["fast"])
        .worker("two", ["slow"])
        .dies_at("one", "build")
        .run()
        .await
        .unwrap();
    assert_eq!(played.report().get(build).unwrap(), "two");
    assert_eq!(played.workers_of("build"), ["one", "two"]);
    assert!(played.transcript().contains("one is lost"), "{}", played.transcript());
    // The lease of the first worker cannot have been reassigned earlier.
    assert!(played.took() >= Duration::from_secs(15));
}

#[tokio::test(start_paused = true)]
async fn rehearsal_records_events_in_order() {
    let played = PipelineTest::of(pipeline())
        .preset(build, "app".to_owned())
        .replace(test, async |ctx: Context| match (ctx.step(), ctx.attempt()) {
            ("test[sqlite]", 1) => Err(Error::msg("no luck")),
            (name, _) => Ok(name.to_owned()),
        })
        .run()
        .await
        .unwrap();
    assert_eq!(played.report().status_of("test[sqlite]"), Some(StepStatus::Succeeded));
    let story = played.transcript();
    let of_sqlite: Vec<&str> = story.lines().filter(|line| line.contains("sqlite")).collect();
    let text = [
        "test[sqlite] is granted to one",
        "test[sqlite] failed",
        "test[sqlite] is granted to one",
        "test[sqlite] succeeded",
    ];
    assert_eq!(of_sqlite, text, "{story}");
    assert!(story.ends_with("sum succeeded\nthe run succeeded\n"), "{story}");
    assert!(played.took() >= Duration::from_mins(30));
}

fn is_io(error: &Error) -> bool {
    error.downcast_ref::<std::io::Error>().is_some()
}

#[step(retry(times = 9, wait = "1h", when = is_io))]
async fn fetch() -> Result<u32> {
    Err(Error::msg("no test fetches anything"))
}

/// Fails twice with an error that is worth a retry, then with one that is not.
async fn flaky(ctx: Context) -> Result<u32> {
    match ctx.attempt() {
        1 | 2 => Err(std::io::Error::other("busy").into()),
        _ => Err(Error::msg("broken")),
    }
}

#[tokio::test(start_paused = true)]
async fn errors_of_a_replaced_step_are_retried_like_its_own() {
    let pipeline = Pipeline::new("ship").add(fetch);
    let played = PipelineTest::of(pipeline).replace(fetch, flaky).run().await.unwrap();
    assert_eq!(played.workers_of("fetch").len(), 3, "{}", played.transcript());
    // Defaults apply to steps without own settings.
    let defaults = Options::new().retry(Retries::times(9).when(is_io));
    let pipeline = Pipeline::new("ship").add(build).defaults(defaults);
    let replaced = async |ctx: Context| flaky(ctx).await.map(|_| String::new());
    let played = PipelineTest::of(pipeline).replace(build, replaced).run().await.unwrap();
    assert_eq!(played.workers_of("build").len(), 3, "{}", played.transcript());
}

#[tokio::test]
async fn defaults_that_only_a_step_can_have_are_refused() {
    let defaults = Options::new().after("test").axis("os", ["linux"]);
    let error = Pipeline::new("ship").add(build).defaults(defaults).run().await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("needs") && text.contains("matrix"), "{text}");
}
