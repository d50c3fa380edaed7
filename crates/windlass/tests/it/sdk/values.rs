//! Results that are too large to travel with their outcomes, and results that cannot travel at all.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use windlass::core::outcome::StepStatus;
use windlass::core::step_failure::StepFailureKind;
use windlass::embedded::Stores;
use windlass::testing::PipelineTest;
use windlass::{Cells, Ended, Options, Out, Pipeline, Result, step};
use windlass_store::journal::{Position, encode_events};

const MEGABYTE: usize = 1 << 20;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Parcel {
    tag: String,
    bytes: Vec<u8>,
}

fn parcel() -> Parcel {
    Parcel { tag: "app:1".to_owned(), bytes: (0..=250).cycle().take(MEGABYTE).collect() }
}

#[step(requires = "one")]
async fn pack() -> Result<Parcel> {
    Ok(parcel())
}

#[step(requires = "two")]
async fn unpack(pack: Out<Pack>) -> Result<bool> {
    Ok(*pack == parcel())
}

#[step(always)]
async fn look(pack: Ended<Pack>, unpack: Option<Out<Unpack>>) -> Result<usize> {
    assert!(unpack.is_some_and(|same| *same));
    Ok(pack.output.map_or(0, |it| it.into_inner().bytes.len()))
}

#[tokio::test]
async fn megabyte_value_travels_between_steps_outside_the_journal() {
    let stores = Stores::in_memory();
    let pipeline = Pipeline::new("ship").add(pack).add(unpack).add(look);
    let runner = pipeline.runner().labels(["one", "two"]).stores(stores.clone());
    let report = runner.run().await.unwrap();
    assert!(report.get(unpack).unwrap());
    assert_eq!(report.get(look).unwrap(), MEGABYTE);
    assert_eq!(report.get(pack).unwrap(), parcel());
    let batches = stores.journal.tail(Position(0), 1_000).await.unwrap();
    let bytes: usize = batches.iter().map(|batch| encode_events(&batch.events).len()).sum();
    assert!(bytes < 16 << 10, "the journal has {bytes} bytes");
    assert_eq!(report.log("pack").await, "", "it is no output");
}

#[tokio::test(start_paused = true)]
async fn megabyte_of_one_worker_is_equal_on_another() {
    let played = PipelineTest::of(Pipeline::new("ship").add(pack).add(unpack))
        .worker("first", ["one"])
        .worker("second", ["two"])
        .run()
        .await
        .unwrap();
    assert_eq!(
        (played.workers_of("pack"), played.workers_of("unpack")),
        (names("first"), names("second"))
    );
    assert!(played.report().get(unpack).unwrap());
}

fn names(name: &str) -> Vec<String> {
    vec![name.to_owned()]
}

#[step(matrix = ["a", "b"])]
async fn cut(on: windlass::Target<String>) -> Result<Parcel> {
    Ok(Parcel { tag: on.0, ..parcel() })
}

#[step]
async fn join(cut: Cells<Cut>) -> Result<Vec<(String, usize)>> {
    Ok(cut.outputs().map(|it| (it.tag.clone(), it.bytes.len())).collect())
}

#[tokio::test]
async fn the_cells_of_a_matrix_may_be_large() {
    let pipeline = Pipeline::new("ship").add(cut).add(join);
    let report = pipeline.runner().labels(["a", "b"]).run().await.unwrap();
    let expected = ["a", "b"].map(|tag| (tag.to_owned(), MEGABYTE));
    assert_eq!(report.get(join).unwrap(), expected);
    assert!(report.cells(cut).iter().all(|cell| cell.output.is_some()));
}

#[step]
async fn huge() -> Result<String> {
    Ok("x".repeat(17 * MEGABYTE))
}

type Pile = BTreeMap<(u8, u8), String>;

#[step]
async fn heap() -> Result<Pile> {
    Ok(BTreeMap::from([((1, 2), "three".to_owned())]))
}

fn refused(error: &windlass::sdk::StepError) -> &str {
    let failure = error.failure.as_ref().expect("it failed with an error");
    assert_eq!(failure.kind, StepFailureKind::Refused);
    &failure.message
}

#[tokio::test]
async fn unserializable_result_fails_its_step_and_suggests_pin() {
    let pipeline = Pipeline::new("ship").add(huge).add(heap);
    let report = pipeline.runner().keep_going().run().await.unwrap();
    let error = report.get(huge).unwrap_err();
    let why = refused(&error);
    assert!(
        why.contains("takes more than 16777200 bytes as JSON") && why.contains("`pin`"),
        "{why}"
    );
    let error = report.get(heap).unwrap_err();
    let why = refused(&error);
    assert!(why.contains("cannot be written as JSON") && why.contains("`pin`"), "{why}");
}

#[step(pin)]
async fn climb(heap: Out<Heap>, huge: Out<Huge>) -> Result<(String, usize)> {
    Ok((heap[&(1, 2)].clone(), huge.len()))
}

#[step]
async fn reach(heap: Out<Heap>) -> Result<usize> {
    Ok(heap.len())
}

fn pinned() -> Pipeline {
    Pipeline::new("ship").add_with(heap, Options::pin).add_with(huge, Options::pin)
}

#[tokio::test]
async fn pinned_value_stays_in_memory_for_pinned_readers() {
    let report = pinned().add(climb).run().await.unwrap();
    assert_eq!(report.get(climb).unwrap(), ("three".to_owned(), 17 * MEGABYTE));
    let why = report.get(heap).unwrap_err().to_string();
    assert!(why.contains("it is in the memory of worker here"), "{why}");
}

#[tokio::test(start_paused = true)]
async fn unpinned_reader_error_names_the_worker_that_holds_the_value() {
    let pipeline = pinned().add_with(reach, |it| it.requires(["far"]));
    let played = PipelineTest::of(pipeline)
        .worker("leader", ["near"])
        .worker("other", ["far"])
        .run()
        .await
        .unwrap();
    let error = played.report().get(reach).unwrap_err();
    assert_eq!(error.status, Some(StepStatus::Failed));
    let why = error.to_string();
    let text = "it was in the memory of worker leader, and is not in that of other";
    assert!(why.contains(text) && why.contains("pinned as well"), "{why}");
}

#[step(when = "steps.pack.outputs.tag == \"app:1\"")]
async fn ask(pack: Out<Pack>) -> Result<usize> {
    Ok(pack.bytes.len())
}

#[tokio::test]
async fn condition_cannot_read_a_value_that_the_leader_does_not_have() {
    let pipeline = Pipeline::new("ship").add(pack).add(ask);
    let report = pipeline.runner().labels(["one"]).run().await.unwrap();
    let why = report.get(ask).unwrap_err().to_string();
    assert!(why.contains("the result of `pack` is") && why.contains("no condition"), "{why}");
}
