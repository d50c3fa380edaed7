//! A pipeline in Rust.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};
use windlass_core::expand::{ExpandInputs, ExpandedPipeline, PipelineChecks, ValidPipeline};
use windlass_core::problem::{ProblemSeverity, SourceFile};
use windlass_core::spec::{CallableCatalog, CallableSet};
use windlass_worker::executors::{Callee, CalleeRegistry};

use super::callee::{RetryPredicate, TypedCallee};
use super::hooks::{HookList, Hooks};
use super::options::Options;
use super::param::Param;
use super::pipeline_text::pipeline_text;
use super::report::Report;
use super::run::Runner;
use super::run_error::RunError;
use super::shape::TypeShape;
use super::step::{IntoStep, Step};
#[cfg(feature = "tracing")]
use super::step_tracing::TracedCallee;
use super::takes::Takes;

/// A graph of typed steps.
///
/// A run checks it like a pipeline file, with the same messages: missing steps, cycles, invalid keys and values.
#[derive(Clone, Debug)]
#[must_use]
pub struct Pipeline {
    pub(super) name: String,
    /// The top-level keys of the file.
    pub(super) top: Map<String, Value>,
    pub(super) params: Map<String, Value>,
    pub(super) locks: Map<String, Value>,
    pub(super) env: Map<String, Value>,
    pub(super) defaults: Option<Options>,
    pub(crate) steps: Vec<AddedStep>,
    pub(crate) hooks: HookList,
}

/// A step of a pipeline behind the interface that workers call.
#[derive(Clone, Debug)]
pub(crate) struct AddedStep {
    pub(crate) name: &'static str,
    pub(crate) signature: String,
    pub(super) options: Options,
    pub(super) takes: Takes,
    pub(super) output: TypeShape,
    pub(crate) decides: RetryPredicate,
    pub(crate) callee: Arc<dyn Callee>,
}

impl Pipeline {
    /// Creates a pipeline without steps.
    pub fn new(name: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            top: Map::from_iter([("name".to_owned(), Value::String(name.clone()))]),
            name,
            params: Map::new(),
            locks: Map::new(),
            env: Map::new(),
            defaults: None,
            steps: Vec::new(),
            hooks: HookList::default(),
        }
    }

    /// Adds a step.
    #[expect(clippy::should_implement_trait, reason = "it adds a step, not a number")]
    pub fn add<How>(self, step: impl IntoStep<How>) -> Self {
        self.add_with(step, |options| options)
    }

    /// Adds a step and changes its options for this pipeline.
    ///
    /// ```
    /// use windlass::{Pipeline, Result, step};
    ///
    /// #[step(timeout = "5m")]
    /// async fn soak() -> Result<()> {
    ///     Ok(())
    /// }
    ///
    /// let pipeline = Pipeline::new("nightly").add_with(soak, |options| options.timeout("8h"));
    /// ```
    pub fn add_with<How>(
        mut self,
        step: impl IntoStep<How>,
        change: impl FnOnce(Options) -> Options,
    ) -> Self {
        self.steps.push(AddedStep::new(step.into_step(), change));
        self
    }

    /// Sets the description, one line.
    pub fn about(self, text: impl Into<String>) -> Self {
        self.set("about", text.into())
    }

    /// Sets the timeout of a run.
    pub fn timeout(self, limit: impl Into<String>) -> Self {
        self.set("timeout", limit.into())
    }

    /// Adds a param, whose value is set when a run starts.
    pub fn param(mut self, name: impl Into<String>, param: Param) -> Self {
        self.params.insert(name.into(), Value::Object(param.keys));
        self
    }

    /// Sets the number of slots of a lock (default: 1).
    pub fn lock(mut self, name: impl Into<String>, slots: u32) -> Self {
        self.locks.insert(name.into(), slots.into());
        self
    }

    /// Sets a variable of all commands.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.insert(name.into(), Value::String(value.into()));
        self
    }

    /// Sets default options of steps: those that `defaults` of a file can contain.
    pub fn defaults(mut self, options: Options) -> Self {
        self.defaults = Some(options);
        self
    }

    /// Adds hooks around its steps and runs. Of several, the first one is called first before a step, and last after it.
    pub fn hooks(mut self, hooks: impl Hooks) -> Self {
        self.hooks.add(hooks);
        self
    }

    fn set(mut self, key: &str, value: String) -> Self {
        self.top.insert(key.to_owned(), Value::String(value));
        self
    }

    /// The equivalent pipeline file.
    pub fn to_text(&self) -> String {
        pipeline_text(self)
    }

    /// Checks the pipeline and plans it with these params.
    pub fn plan(&self, params: &BTreeMap<String, String>) -> Result<ExpandedPipeline, RunError> {
        let calls = CallableSet::Known(self.catalogue());
        let checks =
            PipelineChecks { calls: &calls, unavailable_key_severity: ProblemSeverity::Error };
        let inputs = ExpandInputs { name: &self.name, params, workspace: None };
        Ok(ValidPipeline::read(self.source(), checks)?.plan(inputs)?)
    }

    /// Runs the pipeline in this process and in memory. A failed step is not an error of this function: the [`Report`] has
    /// the final status.
    ///
    /// Commands run under a guard, for which `main` must begin with [`windlass::init`](crate::init); otherwise they fail.
    pub async fn run(&self) -> Result<Report, RunError> {
        self.runner().run().await
    }

    /// The options of a run in this process.
    pub fn runner(&self) -> Runner<'_> {
        Runner::new(self)
    }

    /// Runs the command line of windlass: `run`, `plan`, `graph`, `serve`, `worker --join URL` and all other commands, which
    /// use this pipeline unless a file is named. A named `windlass.yml` can call its steps.
    ///
    /// Call it first in `main`: the process may have been started as the guard of another one.
    ///
    /// ```no_run
    /// use std::process::ExitCode;
    ///
    /// use windlass::{Pipeline, Result, step};
    ///
    /// #[step]
    /// async fn hello() -> Result<()> {
    ///     Ok(())
    /// }
    ///
    /// fn main() -> ExitCode {
    ///     Pipeline::new("greetings").add(hello).main()
    /// }
    /// ```
    #[cfg(all(feature = "http", feature = "sqlite"))]
    pub fn main(self) -> std::process::ExitCode {
        crate::Cli::new().pipeline(&self).main()
    }

    /// The text of the pipeline, which messages quote.
    pub(crate) fn source(&self) -> SourceFile {
        SourceFile::new(format!("the pipeline {}", self.name), self.to_text())
    }

    /// The signatures of its steps, to check calls in files.
    pub(crate) fn catalogue(&self) -> CallableCatalog {
        let steps = self.steps.iter().map(|step| {
            let callable = step.takes.callable(&step.output, step.signature.clone());
            (step.name.to_owned(), callable)
        });
        CallableCatalog(steps.collect())
    }

    /// Its steps as functions that a worker can call.
    pub(crate) fn callees(&self) -> CalleeRegistry {
        let mut callees = CalleeRegistry::default();
        let by_default = self.defaults.as_ref().and_then(|defaults| defaults.decides);
        for step in &self.steps {
            if let Some(decides) = by_default.filter(|_| !step.options.has("retry")) {
                step.decides.get_or_init(|| decides);
            }
            let callee = self.hooks.around(&step.callee);
            #[cfg(feature = "tracing")]
            let callee = TracedCallee::around(callee);
            callees.add(step.name, callee);
        }
        callees
    }
}

impl AddedStep {
    fn new<S: Step>(step: S, change: impl FnOnce(Options) -> Options) -> Self {
        let options = change(step.options());
        let mut takes = Takes::default();
        S::takes(&mut takes);
        let output = TypeShape::of::<S::Output>();
        let signature = takes.signature(S::NAME, &output);
        let decides: RetryPredicate =
            Arc::new(options.decides.map(OnceLock::from).unwrap_or_default());
        let callee = TypedCallee {
            step: Arc::new(step),
            signature: signature.clone(),
            decides: Arc::clone(&decides),
            takes: Arc::new(takes.callable(&output, signature.clone())),
        };
        let callee = Arc::new(callee);
        Self { name: S::NAME, signature, options, takes, output, decides, callee }
    }
}
