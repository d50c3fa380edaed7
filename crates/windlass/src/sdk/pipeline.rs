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
use super::run::{RunError, Runner};
use super::shape::TypeShape;
use super::step::{IntoStep, Step};
#[cfg(feature = "tracing")]
use super::step_tracing::TracedCallee;
use super::takes::Takes;

/// A graph of typed steps.
///
/// It is checked as a pipeline file is, with the same messages, when it is run: steps that are missing, circles, keys and
/// values that cannot be.
#[derive(Clone, Debug)]
#[must_use]
pub struct Pipeline {
    pub(super) name: String,
    /// Keys of the file itself.
    pub(super) top: Map<String, Value>,
    pub(super) params: Map<String, Value>,
    pub(super) locks: Map<String, Value>,
    pub(super) env: Map<String, Value>,
    pub(super) defaults: Option<Options>,
    pub(crate) steps: Vec<AddedStep>,
    pub(crate) hooks: HookList,
}

/// A step of a pipeline, with its types hidden.
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
    /// A pipeline without steps.
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

    /// With one more step.
    #[expect(clippy::should_implement_trait, reason = "it is no sum, and reads as what it does")]
    pub fn add<How>(self, step: impl IntoStep<How>) -> Self {
        self.add_with(step, |options| options)
    }

    /// With one more step, whose options are changed for this pipeline.
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

    /// With one line on what it is for.
    pub fn about(self, text: impl Into<String>) -> Self {
        self.set("about", text.into())
    }

    /// With the longest that a run may take.
    pub fn timeout(self, limit: impl Into<String>) -> Self {
        self.set("timeout", limit.into())
    }

    /// With a value that is given when a run begins.
    pub fn param(mut self, name: impl Into<String>, param: Param) -> Self {
        self.params.insert(name.into(), Value::Object(param.keys));
        self
    }

    /// With a lock of several slots. One that is not listed has one.
    pub fn lock(mut self, name: impl Into<String>, slots: u32) -> Self {
        self.locks.insert(name.into(), slots.into());
        self
    }

    /// With a variable of all commands.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.env.insert(name.into(), Value::String(value.into()));
        self
    }

    /// With options of every step that does not have its own: those that the `defaults` of a file may have.
    pub fn defaults(mut self, options: Options) -> Self {
        self.defaults = Some(options);
        self
    }

    /// With something that is done before and after its steps and runs. Of several the first one comes first before, and
    /// last after.
    pub fn hooks(mut self, hooks: impl Hooks) -> Self {
        self.hooks.add(hooks);
        self
    }

    fn set(mut self, key: &str, value: String) -> Self {
        self.top.insert(key.to_owned(), Value::String(value));
        self
    }

    /// The pipeline file that says the same.
    pub fn to_text(&self) -> String {
        pipeline_text(self)
    }

    /// Checks it and makes its plan with these params.
    pub fn plan(&self, params: &BTreeMap<String, String>) -> Result<ExpandedPipeline, RunError> {
        let calls = CallableSet::Known(self.catalogue());
        let checks =
            PipelineChecks { calls: &calls, unavailable_key_severity: ProblemSeverity::Error };
        let inputs = ExpandInputs { name: &self.name, params };
        Ok(ValidPipeline::read(self.source(), checks)?.plan(inputs)?)
    }

    /// Runs it here, in this process and in memory, and returns what became of it. That a step failed is no error: ask the
    /// [`Report`].
    ///
    /// Commands run under a guard, for which the program's `main` has to begin with [`windlass::init`](crate::init). They
    /// fail otherwise.
    pub async fn run(&self) -> Result<Report, RunError> {
        self.runner().run().await
    }

    /// How a run here is to be done, to be changed before it begins.
    pub fn runner(&self) -> Runner<'_> {
        Runner::new(self)
    }

    /// The whole command line of windlass for it: `run`, `plan`, `graph`, `serve`, `worker --join URL` and all others, which
    /// mean this pipeline where they are given no file. A `windlass.yml` that is named can call its steps.
    ///
    /// It has to come first in `main`: the process may have been started to guard the commands of another.
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

    /// As a source of text, whose lines messages show.
    pub(crate) fn source(&self) -> SourceFile {
        SourceFile::new(format!("the pipeline {}", self.name), self.to_text())
    }

    /// Its steps, as far as a file that calls them can be checked.
    pub(crate) fn catalogue(&self) -> CallableCatalog {
        let steps = self.steps.iter().map(|step| {
            let callable = step.takes.callable(&step.output, step.signature.clone());
            (step.name.to_owned(), callable)
        });
        CallableCatalog(steps.collect())
    }

    /// Its steps, to be called.
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
