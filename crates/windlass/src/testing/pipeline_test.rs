//! A run of a pipeline in a test.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use windlass_core::engine::{RunOptions, SubmitRun, UnplaceablePolicy};
use windlass_net::random::new_run_id;
use windlass_worker::executors::{CallFuture, Callee, StepCall};

use super::test_cluster::{PipelineTestCluster, PipelineTestWorker};
use super::test_result::PipelineTestResult;
use crate::sdk::{
    Context, IntoStep, Pipeline, Result, RetryPredicate, RunError, Single, Step, outcome_of,
};

/// A run of a pipeline in a test.
#[derive(Debug)]
#[must_use]
pub struct PipelineTest {
    pipeline: Pipeline,
    workers: Vec<PipelineTestWorker>,
    params: BTreeMap<String, String>,
    options: RunOptions,
}

impl PipelineTest {
    /// A test of this pipeline, on one worker named `one` unless others are added.
    pub fn of(pipeline: Pipeline) -> Self {
        let options = RunOptions { unplaceable: UnplaceablePolicy::Skip, ..RunOptions::default() };
        Self { pipeline, workers: Vec::new(), params: BTreeMap::new(), options }
    }

    /// Replaces the function of a step. The cells of a matrix use it too, and find their values in the context.
    pub fn replace<How, S, F, Doing>(
        mut self,
        step: impl IntoStep<How, Step = S>,
        function: F,
    ) -> Self
    where
        S: Step,
        F: Fn(Context) -> Doing + Send + Sync + 'static,
        Doing: Future<Output = Result<S::Output>> + Send + 'static,
    {
        drop(step);
        let added = self.pipeline.steps.iter_mut().find(|added| added.name == S::NAME);
        let added = added.unwrap_or_else(|| panic!("the pipeline has no step `{}`", S::NAME));
        let signature = added.signature.clone();
        let decides = Arc::clone(&added.decides);
        added.callee = Arc::new(ReplacedCallee { name: S::NAME, signature, function, decides });
        self
    }

    /// Makes a step return this result immediately.
    pub fn preset<How, S>(self, step: impl IntoStep<How, Step = S>, result: S::Output) -> Self
    where
        S: Single<Output: Clone + Sync>,
    {
        self.replace(step, move |_| {
            let result = result.clone();
            async move { Ok(result) }
        })
    }

    /// Adds a worker with these labels and those of the steps.
    pub fn worker<T: ToString>(
        mut self,
        name: impl Into<String>,
        labels: impl IntoIterator<Item = T>,
    ) -> Self {
        let labels = labels.into_iter().map(|label| label.to_string()).collect();
        self.workers.push(PipelineTestWorker { name: name.into(), labels, dies_at: None });
        self
    }

    /// Makes a worker die when it is about to start this step or cell. The step does not run there, and the worker sends no
    /// message: the leader notices when the lease of the worker expires.
    pub fn dies_at(mut self, worker: &str, step: impl Into<String>) -> Self {
        let hand = self.workers.iter_mut().find(|hand| hand.name == worker);
        let hand = hand.unwrap_or_else(|| panic!("there is no worker `{worker}`"));
        hand.dies_at = Some(step.into());
        self
    }

    /// Sets a param.
    pub fn param(mut self, name: impl Into<String>, value: impl fmt::Display) -> Self {
        self.params.insert(name.into(), format!("{value}"));
        self
    }

    /// After a failure, runs the steps that do not depend on it.
    pub const fn keep_going(mut self) -> Self {
        self.options.keep_going = true;
        self
    }

    /// Runs the pipeline to its end.
    pub async fn run(mut self) -> Result<PipelineTestResult, RunError> {
        let expanded = self.pipeline.plan(&self.params)?;
        if self.workers.is_empty() {
            let labels = vec![std::env::consts::OS.to_owned()];
            self.workers.push(PipelineTestWorker { name: "one".to_owned(), labels, dies_at: None });
        }
        let options = RunOptions { timeout: expanded.timeout, ..self.options };
        let run = new_run_id(super::test_cluster::now());
        let submit = SubmitRun { run, plan: Arc::new(expanded.plan), options, reused: Vec::new() };
        PipelineTestCluster::new(self.pipeline.callees(), self.workers).play(submit).await
    }
}

/// A function that replaces the one of a step.
struct ReplacedCallee<F> {
    name: &'static str,
    signature: String,
    function: F,
    decides: RetryPredicate,
}

impl<F, T, Doing> Callee for ReplacedCallee<F>
where
    F: Fn(Context) -> Doing + Send + Sync,
    Doing: Future<Output = Result<T>> + Send + 'static,
    T: serde::Serialize + Send + Sync + 'static,
{
    fn signature(&self) -> &str {
        &self.signature
    }

    fn call(&self, call: Arc<StepCall>) -> CallFuture {
        let doing = (self.function)(Context::new(Arc::clone(&call)));
        let decides = Arc::clone(&self.decides);
        Box::pin(async move { outcome_of(&call, doing.await, &decides).await })
    }
}

impl<F> fmt::Debug for ReplacedCallee<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (replaced)", self.name)
    }
}
