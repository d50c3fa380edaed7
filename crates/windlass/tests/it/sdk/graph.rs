//! From functions to typed results.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use windlass::core::outcome::StepStatus;
use windlass::{
    Cell, Cells, Context, Ended, Input, Options, Out, Param, Pipeline, Result, Target, step,
};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Image {
    tag: String,
    layers: Vec<Layer>,
    labels: BTreeMap<String, Option<u64>>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Layer {
    Empty,
    Files(Vec<u8>),
    Link { to: String },
}

fn image() -> Image {
    Image {
        tag: "app:1".to_owned(),
        layers: vec![
            Layer::Empty,
            Layer::Files(vec![0, 255]),
            Layer::Link { to: "base".to_owned() },
        ],
        labels: BTreeMap::from([("size".to_owned(), Some(u64::MAX)), ("owner".to_owned(), None)]),
    }
}

/// Builds the image
#[step(timeout = "1m", tags = ["slow"])]
async fn build(ctx: &Context) -> Result<Image> {
    ctx.log(format_args!("building as {} on {}", ctx.step(), ctx.worker()));
    Ok(image())
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Db {
    Sqlite,
    Postgres,
}

#[derive(Debug, PartialEq, Deserialize)]
struct On {
    db: Db,
    level: u8,
}

#[step(matrix(level = [1, 2], db = ["sqlite", "postgres"]))]
async fn test(on: Target<On>, build: Out<Build>) -> Result<String> {
    assert_eq!(*build, image());
    Ok(format!("{:?} {}", on.db, on.level))
}

#[step]
async fn sum(test: Cells<Test>, count: Input<u32>) -> Result<(u32, Vec<String>)> {
    Ok((*count, test.outputs().cloned().collect()))
}

#[step(when = "params.channel == \"stable\"")]
async fn publish(_sum: Out<Sum>) -> Result<u8> {
    Ok(1)
}

#[step(always)]
async fn tell(publish: Ended<Publish>, build: Option<Out<Build>>) -> Result<String> {
    Ok(format!("{} {}", publish.status, build.is_some()))
}

fn ship() -> Pipeline {
    Pipeline::new("ship")
        .param("channel", Param::one_of(["beta", "stable"]).default("beta"))
        .param("count", Param::number().default(3))
        .add(build)
        .add(test)
        .add(sum)
        .add(publish)
        .add(tell)
}

#[tokio::test]
async fn results_pass_between_steps_with_their_types() {
    let report = ship().run().await.unwrap();
    assert!(report.succeeded(), "{report:?}");
    assert_eq!(report.get(build).unwrap(), image());
    let cells = report.cells(test);
    let targets: Vec<&str> = cells.iter().map(Cell::target).collect();
    assert_eq!(targets, ["1,sqlite", "1,postgres", "2,sqlite", "2,postgres"]);
    let tested = ["Sqlite 1", "Postgres 1", "Sqlite 2", "Postgres 2"].map(str::to_owned);
    assert_eq!(report.get(sum).unwrap(), (3, tested.to_vec()));
    assert_eq!(report.get(tell).unwrap(), "skipped true");
    assert_eq!(report.log("build").await, "building as build on here\n");
}

#[tokio::test]
async fn params_decide_on_values_and_conditions() {
    let pipeline = ship();
    let runner = pipeline.runner().param("channel", "stable").param("count", 7);
    let report = runner.run().await.unwrap();
    assert_eq!(report.get(publish).unwrap(), 1);
    assert_eq!(report.get(sum).unwrap().0, 7);
    assert_eq!(report.get(tell).unwrap(), "succeeded true");
    let refused = pipeline.runner().param("channel", "gamma").run().await.unwrap_err();
    assert!(refused.to_string().contains("gamma"), "{refused}");
}

#[test]
fn pipeline_equals_the_file_with_the_same_content() {
    let text = ship().to_text();
    let signatures = text.lines().filter(|line| line.contains("call:")).count();
    assert_eq!(signatures, 5);
    let plain: Vec<String> = text.lines().map(unsigned).collect();
    insta::assert_snapshot!(plain.join("\n"));
}

/// The line without what follows from types.
fn unsigned(line: &str) -> String {
    match line.split_once('@') {
        Some((before, _)) => format!("{before}\""),
        None => line.to_owned(),
    }
}

#[step]
async fn lonely(build: Out<Build>) -> Result<()> {
    drop(build);
    Ok(())
}

#[tokio::test]
async fn pipeline_problems_are_reported_as_for_a_file() {
    let missing = Pipeline::new("ship").add(lonely).run().await.unwrap_err().to_string();
    assert!(missing.contains("there is no step `build`"), "{missing}");
    let twice = Pipeline::new("ship").add(build).add(build).run().await.unwrap_err().to_string();
    assert!(twice.contains("build"), "{twice}");
    let nothing = Pipeline::new("ship").run().await.unwrap_err().to_string();
    assert!(nothing.contains("the pipeline has no steps"), "{nothing}");
    let pipeline = Pipeline::new("ship").add_with(build, |options| options.timeout("soon"));
    let value = pipeline.run().await.unwrap_err().to_string();
    assert!(value.contains("`soon` is not a valid duration"), "{value}");
}

#[tokio::test]
async fn a_step_that_no_worker_can_run_is_skipped_and_withholds_its_dependents() {
    let pipeline = Pipeline::new("ship")
        .add_with(build, |options: Options| options.requires(["quantum"]))
        .add(lonely);
    let report = pipeline.run().await.unwrap();
    assert_eq!(report.status_of("build"), Some(StepStatus::Skipped));
    let why = report.get(build).unwrap_err().to_string();
    assert!(why.contains("quantum"), "{why}");
    let why = report.get(lonely).unwrap_err().to_string();
    assert!(why.contains("blocked: build could not run"), "{why}");
}
