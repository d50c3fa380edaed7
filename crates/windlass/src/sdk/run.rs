//! Runs of a pipeline in this process.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;

use windlass_controller::NodeHandle;
use windlass_core::engine::{RunOptions, RunOwner, SubmitRun, UnplaceablePolicy};
use windlass_core::environment::EnvironmentPolicy;
use windlass_core::plan::Plan;
use windlass_core::requirement::{Labels, WorkerScope};
use windlass_core::summary::RunSummary;
use windlass_net::random::new_run_id;
use windlass_worker::executors::{
    CallExecutor, CalleeRegistry, ExecutorSettings, GuardSource, MaskCache, missing_here,
    process_environment,
};
use windlass_worker::guard::begin_pipeline;
use windlass_worker::{PeerWorkers, hide_memory, labels};

use super::pipeline::Pipeline;
use super::report::Report;
use super::run_error::RunError;
use crate::embedded::{
    EmbeddedNode, LeaderOptions, LocalWorkerOptions, LocalWorkerPlace, RunEventReader, Stores,
    SubmittedRun, system_now,
};

/// The name of the worker of a program.
const WORKER: &str = "here";

/// Options of a run in this process.
///
/// ```
/// # use windlass::{Pipeline, Result, step};
/// # #[step(matrix = ["a", "b"], requires = ["gpu"])]
/// # async fn train() -> Result<()> { Ok(()) }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<()> {
/// let pipeline = Pipeline::new("models").add(train);
/// let report = pipeline.runner().slots(8).labels(["gpu", "a", "b"]).keep_going().run().await?;
/// assert!(report.succeeded());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use]
pub struct Runner<'a> {
    pipeline: &'a Pipeline,
    slots: Option<u32>,
    labels: Vec<String>,
    params: BTreeMap<String, String>,
    root: Option<PathBuf>,
    options: RunOptions,
    stores: Option<Stores>,
}

impl<'a> Runner<'a> {
    pub(super) fn new(pipeline: &'a Pipeline) -> Self {
        Self {
            pipeline,
            slots: None,
            labels: Vec::new(),
            params: BTreeMap::new(),
            root: None,
            options: RunOptions { unplaceable: UnplaceablePolicy::Skip, ..RunOptions::default() },
            stores: None,
        }
    }

    /// Sets the number of steps that run at a time (default: the number of cores).
    pub const fn slots(mut self, slots: u32) -> Self {
        self.slots = Some(slots);
        self
    }

    /// Adds labels of this machine to the detected ones.
    pub fn labels<T: ToString>(mut self, labels: impl IntoIterator<Item = T>) -> Self {
        self.labels.extend(labels.into_iter().map(|label| label.to_string()));
        self
    }

    /// Sets the value of a param.
    pub fn param(mut self, name: impl Into<String>, value: impl Display) -> Self {
        self.params.insert(name.into(), format!("{value}"));
        self
    }

    /// Sets the folder in which commands run (default: the current directory).
    pub fn root(mut self, folder: impl Into<PathBuf>) -> Self {
        self.root = Some(folder.into());
        self
    }

    /// Runs independent steps after a failure.
    pub const fn keep_going(mut self) -> Self {
        self.options.keep_going = true;
        self
    }

    /// Fails a step that this machine cannot run instead of skipping it.
    pub const fn no_skip(mut self) -> Self {
        self.options.unplaceable = UnplaceablePolicy::Fail;
        self
    }

    /// Keeps the run in these stores (default: in memory only).
    pub fn stores(mut self, stores: Stores) -> Self {
        self.stores = Some(stores);
        self
    }

    /// Runs the pipeline to its end.
    ///
    /// On Linux this process is not dumpable from then on, like every worker: other processes of the user cannot read its
    /// memory, which contains secrets of steps.
    pub async fn run(self) -> Result<Report, RunError> {
        begin_pipeline();
        hide_memory();
        let expanded = self.pipeline.plan(&self.params)?;
        self.refuse_missing(&expanded.plan)?;
        let stores = self.stores.clone().unwrap_or_else(Stores::in_memory);
        let options = RunOptions { timeout: expanded.timeout, ..self.options };
        let hooks = &self.pipeline.hooks;
        let before = hooks.before_run(&self.pipeline.name).await;
        before.map_err(|error| RunError::Hook(error.to_failure().to_string()))?;
        let run = new_run_id(system_now());
        let mut station =
            EmbeddedNode::start_leader(&stores, LeaderOptions::exclusive(WORKER)).await?;
        let handle = station.handle().clone();
        let incarnation = station.start_worker(self.worker_options(&stores, &handle)).await?;
        // The run is interrupted when this process is gone, and holds nothing in its stores then.
        let worker = LocalWorkerPlace::Exclusive.worker();
        let owner = Some(RunOwner { worker, incarnation, shares: false });
        let options = RunOptions { owner, ..options };
        let submit = SubmitRun { run, plan: Arc::new(expanded.plan), options, reused: Vec::new() };
        let ran = tokio::select! {
            ran = follow(&handle, &stores, submit) => ran,
            failed = station.wait_for_failure() => Err(failed.into()),
        };
        let ended = station.shut_down().await;
        let summary = ran?;
        ended?;
        let report = Report::new(summary, stores.logs).await;
        self.pipeline.hooks.after_run(&report).await;
        Ok(report)
    }

    /// Refuses a run without one of its secrets before any step starts.
    fn refuse_missing(&self, plan: &Plan) -> Result<(), RunError> {
        let labels = self.all_labels(&self.pipeline.callees());
        let missing = missing_here(plan, |_, spec| spec.placement.requirement.matches(&labels));
        let Some(first) = missing.first() else { return Ok(()) };
        let what = format!("secret {} is not set (step `{}`)", first.secret, first.step);
        Err(RunError::Denied(format!("{what}: set it in the environment of this program")))
    }

    fn all_labels(&self, callees: &CalleeRegistry) -> Labels {
        let detected = labels::detect();
        let own = self.labels.iter().cloned().chain(callees.labels());
        Labels::new(detected.iter().map(str::to_owned).chain(own))
    }

    fn worker_options(&self, stores: &Stores, handle: &NodeHandle) -> LocalWorkerOptions {
        let callees = self.pipeline.callees();
        let labels = self.all_labels(&callees);
        let executor = self.executor(callees, stores);
        let executor = Arc::new(executor.with_link(Arc::new(handle.clone())));
        let slots = self.slots.unwrap_or_else(cores);
        LocalWorkerOptions {
            place: LocalWorkerPlace::Exclusive,
            name: WORKER.to_owned(),
            slots,
            labels,
            scope: WorkerScope::AllRuns,
            beside: PeerWorkers::Never,
            executor,
            orphan_guard: None,
        }
    }

    fn executor(&self, callees: CalleeRegistry, stores: &Stores) -> CallExecutor {
        let here = || std::env::current_dir().unwrap_or_default();
        let root = self.root.clone().unwrap_or_else(here);
        let settings = ExecutorSettings {
            scratch: root.clone(),
            root,
            worker: WORKER.to_owned(),
            environment: process_environment(),
            policy: EnvironmentPolicy::PassAll,
            objects: stores.step_objects(),
            masks: MaskCache::default(),
        };
        CallExecutor::new(callees, settings, GuardSource::later(), Arc::clone(&stores.logs))
    }
}

/// Submits the run and follows it to its end.
pub(crate) async fn follow(
    handle: &NodeHandle,
    stores: &Stores,
    submit: SubmitRun,
) -> Result<RunSummary, RunError> {
    let submitted = SubmittedRun::submit(handle, submit).await?;
    let (SubmittedRun { mut summary, from }, _) =
        submitted.map_err(|denial| RunError::Denied(denial.to_string()))?;
    let mut events = RunEventReader::new(handle, stores, summary.run(), from);
    while !summary.status().is_terminal() {
        events.wait().await;
        for recorded in events.read().await? {
            summary.apply_event(recorded.at, &recorded.event);
        }
    }
    Ok(summary)
}

fn cores() -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    u32::try_from(cores).unwrap_or(1)
}
