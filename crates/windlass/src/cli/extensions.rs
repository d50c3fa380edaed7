//! The parts compiled into a program besides windlass: its own steps, and a pipeline of them.

use std::fmt;
use std::sync::{Arc, OnceLock};

use tokio::runtime::{Builder, Handle, Runtime};
use windlass_core::display_text::is_label;
use windlass_core::problem::SourceFile;
use windlass_core::requirement::Labels;
use windlass_core::spec::{CallableCatalog, CallableSet};
use windlass_link::{DeathNoticeConfig, WorkerLink};
use windlass_store::logs::LogStore;
use windlass_worker::Executor;
use windlass_worker::executors::{
    BuiltinExecutor, CallExecutor, CalleeRegistry, ExecutorSettings, GuardSource, TracePropagation,
};
use windlass_worker::guard::GuardHandle;
use windlass_worker::values::ValueStore;

use super::error::CliError;
use crate::sdk::HookList;

/// The extensions of this program.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProgramExtensions {
    /// Its callable steps.
    pub(crate) callees: CalleeRegistry,
    /// The signatures of its steps, to check files against.
    pub(crate) catalogue: CallableCatalog,
    /// The hooks of its runs.
    pub(crate) hooks: HookList,
    /// The probes for additional labels of its machine.
    pub(crate) probes: LabelProbes,
    /// The default pipeline if no file is named.
    pub(crate) pipeline: Option<SourceFile>,
}

/// The probes that detect labels of a worker's machine, in the order of registration.
#[derive(Clone, Default)]
pub(crate) struct LabelProbes(Vec<Arc<LabelProbe>>);

type LabelProbe = dyn Fn() -> Vec<String> + Send + Sync;

impl LabelProbes {
    pub(crate) fn add(&mut self, probe: impl Fn() -> Vec<String> + Send + Sync + 'static) {
        self.0.push(Arc::new(probe));
    }

    /// The detected labels. Invalid labels are left out: no step could require them.
    fn labels(&self) -> impl Iterator<Item = String> {
        self.0.iter().flat_map(|probe| probe()).filter(|label| is_label(label))
    }
}

impl fmt::Debug for LabelProbes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Probes").field(&self.0.len()).finish()
    }
}

/// The parts that an executor needs.
#[derive(Debug)]
pub(crate) struct StepExecutorSetup {
    /// The settings of steps.
    pub(crate) settings: ExecutorSettings,
    /// The guard that starts their commands.
    pub(crate) guard: GuardHandle,
    /// The death notice of this process, if its steps can outlive it; `None` where the leader ends with it.
    pub(crate) death_notice: Option<DeathNoticeConfig>,
    /// Whether the guard ends this process when a function outlives its grant.
    pub(crate) ends_calls: bool,
    /// The store of step output.
    pub(crate) logs: Arc<dyn LogStore>,
    /// The store of large results.
    pub(crate) value_store: Arc<ValueStore>,
    /// The link to the leader.
    pub(crate) link: Arc<dyn WorkerLink>,
    /// The trace context that commands inherit.
    pub(crate) traces: TracePropagation,
}

impl ProgramExtensions {
    /// The functions that a file run here may call.
    pub(crate) fn allowed_calls(&self) -> CallableSet {
        CallableSet::Known(self.catalogue.clone())
    }

    /// The functions that a file run elsewhere may call; any, if this program has none.
    pub(crate) fn allowed_calls_elsewhere(&self) -> CallableSet {
        if self.catalogue.0.is_empty() { CallableSet::Any } else { self.allowed_calls() }
    }

    /// The labels of a worker of this program.
    pub(crate) fn labels(&self, others: &Labels) -> Labels {
        let own = self.callees.labels().chain(self.probes.labels());
        Labels::new(others.iter().map(str::to_owned).chain(own))
    }

    /// The executor of a worker of this program: it calls its functions, and leaves other steps to the built-in one.
    pub(crate) fn executor(&self, at: StepExecutorSetup) -> Result<Arc<dyn Executor>, CliError> {
        let StepExecutorSetup {
            settings,
            guard,
            death_notice: notice,
            ends_calls,
            logs,
            value_store,
            link,
            traces,
        } = at;
        let guards = if ends_calls {
            GuardSource::Watching(guard.clone())
        } else {
            GuardSource::Ready(guard.clone())
        };
        let builtin = BuiltinExecutor::new(settings.clone(), guard, Arc::clone(&logs));
        let builtin = builtin.with_traces(traces).with_value_store(Arc::clone(&value_store));
        let builtin = Arc::new(match notice {
            Some(notice) => builtin.with_death_notice(notice),
            None => builtin,
        });
        if self.callees.is_empty() {
            return Ok(builtin);
        }
        let callees = self.callees.clone().polled_in(steps()?);
        let executor = CallExecutor::new(callees, settings, guards, logs);
        let executor = executor.with_value_store(value_store).with_link(link).with_traces(traces);
        Ok(Arc::new(executor.with_fallback(builtin)))
    }
}

/// The runtime of functions. It is separate from that of leader and worker, which a blocking function would stall. It
/// lives as long as the process, since a blocking function would keep it from ending.
fn steps() -> Result<Handle, CliError> {
    static STEPS: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = STEPS.get() {
        return Ok(runtime.handle().clone());
    }
    let runtime = Builder::new_multi_thread().thread_name("windlass-steps").enable_all().build();
    let runtime = runtime.map_err(|error| {
        CliError::unreachable(format!("threads for steps cannot start: {error}"))
    })?;
    Ok(STEPS.get_or_init(|| runtime).handle().clone())
}
