//! What a program has beside windlass itself: steps of its own, and a pipeline of them.

use std::fmt;
use std::sync::{Arc, OnceLock};

use tokio::runtime::{Builder, Handle, Runtime};
use windlass_core::display_text::is_label;
use windlass_core::problem::SourceFile;
use windlass_core::requirement::Labels;
use windlass_core::spec::{CallableCatalog, CallableSet};

use super::error::CliError;
use crate::link::{DeathNoticeConfig, WorkerLink};
use crate::logs::LogStore;
use crate::sdk::HookList;
use crate::worker::Executor;
use crate::worker::executors::{
    BuiltinExecutor, CallExecutor, CalleeRegistry, ExecutorSettings, GuardSource, TracePropagation,
};
use crate::worker::guard::GuardHandle;
use crate::worker::values::ValueStore;

/// What is compiled into this program.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProgramExtensions {
    /// Its steps, to be called.
    pub(crate) callees: CalleeRegistry,
    /// Its steps, to check files by.
    pub(crate) catalogue: CallableCatalog,
    /// What is done around its runs.
    pub(crate) hooks: HookList,
    /// What finds out more about its machine.
    pub(crate) probes: LabelProbes,
    /// The pipeline that is meant where no file is named.
    pub(crate) pipeline: Option<SourceFile>,
}

/// What finds out about the machine that a worker is on, in the order in which it was added.
#[derive(Clone, Default)]
pub(crate) struct LabelProbes(Vec<Arc<LabelProbe>>);

type LabelProbe = dyn Fn() -> Vec<String> + Send + Sync;

impl LabelProbes {
    pub(crate) fn add(&mut self, probe: impl Fn() -> Vec<String> + Send + Sync + 'static) {
        self.0.push(Arc::new(probe));
    }

    /// What they find. What is no label is left out: it could not be asked for.
    fn labels(&self) -> impl Iterator<Item = String> {
        self.0.iter().flat_map(|probe| probe()).filter(|label| is_label(label))
    }
}

impl fmt::Debug for LabelProbes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Probes").field(&self.0.len()).finish()
    }
}

/// What an executor works with.
#[derive(Debug)]
pub(crate) struct StepExecutorSetup {
    /// Where steps run.
    pub(crate) place: ExecutorSettings,
    /// What starts their commands.
    pub(crate) guard: GuardHandle,
    /// What it tells if this process dies, and is told of every step for; nothing where a leader dies with it.
    pub(crate) death_notice: Option<DeathNoticeConfig>,
    /// Whether it ends this process with the steps in it, should they outlive what they were granted for.
    pub(crate) ends_calls: bool,
    /// Where what they say goes.
    pub(crate) logs: Arc<dyn LogStore>,
    /// Where large results go, and come from.
    pub(crate) depot: Arc<ValueStore>,
    /// The way to the leader.
    pub(crate) link: Arc<dyn WorkerLink>,
    /// What commands are told of the trace that they are a part of.
    pub(crate) traces: TracePropagation,
}

impl ProgramExtensions {
    /// What a file that is run here may call.
    pub(crate) fn allowed_calls(&self) -> CallableSet {
        CallableSet::Known(self.catalogue.clone())
    }

    /// What a file that is run elsewhere may call: whatever is there, where nothing is here.
    pub(crate) fn allowed_calls_elsewhere(&self) -> CallableSet {
        if self.catalogue.0.is_empty() { CallableSet::Any } else { self.allowed_calls() }
    }

    /// What a worker advertises that is this program.
    pub(crate) fn labels(&self, others: &Labels) -> Labels {
        let own = self.callees.labels().chain(self.probes.labels());
        Labels::new(others.iter().map(str::to_owned).chain(own))
    }

    /// The executor of a worker that is this program: it calls its steps, and leaves the rest to the built-in one.
    pub(crate) fn executor(&self, at: StepExecutorSetup) -> Result<Arc<dyn Executor>, CliError> {
        let StepExecutorSetup {
            place,
            guard,
            death_notice: will,
            ends_calls,
            logs,
            depot,
            link,
            traces,
        } = at;
        let guards = if ends_calls {
            GuardSource::Watching(guard.clone())
        } else {
            GuardSource::Ready(guard.clone())
        };
        let builtin = BuiltinExecutor::new(place.clone(), guard, Arc::clone(&logs));
        let builtin = builtin.with_traces(traces).with_value_store(Arc::clone(&depot));
        let builtin = Arc::new(match will {
            Some(will) => builtin.with_death_notice(will),
            None => builtin,
        });
        if self.callees.is_empty() {
            return Ok(builtin);
        }
        let callees = self.callees.clone().polled_in(steps()?);
        let executor = CallExecutor::new(callees, place, guards, logs);
        let executor = executor.with_value_store(depot).with_link(link).with_traces(traces);
        Ok(Arc::new(executor.with_fallback(builtin)))
    }
}

/// The runtime of steps. It is another than that of leader and worker, which a step that blocks would stop; and it lasts as
/// long as the process, since a step that blocks would keep it from ending.
fn steps() -> Result<Handle, CliError> {
    static STEPS: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = STEPS.get() {
        return Ok(runtime.handle().clone());
    }
    let runtime = Builder::new_multi_thread().thread_name("windlass-steps").enable_all().build();
    let runtime =
        runtime.map_err(|error| CliError::unreachable(format!("no threads for steps: {error}")))?;
    Ok(STEPS.get_or_init(|| runtime).handle().clone())
}
