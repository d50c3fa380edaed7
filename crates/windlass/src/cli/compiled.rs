//! What a program has beside windlass itself: steps of its own, and a pipeline of them.

use std::sync::{Arc, OnceLock};

use tokio::runtime::{Builder, Handle, Runtime};
use windlass_core::problem::Source;
use windlass_core::requirement::Labels;
use windlass_core::spec::{Calls, Catalogue};

use super::error::CliError;
use crate::logs::LogStore;
use crate::worker::Executor;
use crate::worker::executors::{CallExecutor, Callees, Guards, Place};
use crate::worker::values::Depot;

/// What is compiled into this program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Compiled {
    /// Its steps, to be called.
    pub(crate) callees: Callees,
    /// Its steps, to check files by.
    pub(crate) catalogue: Catalogue,
    /// The pipeline that is meant where no file is named.
    pub(crate) pipeline: Option<Source>,
}

/// What an executor works with.
#[derive(Debug)]
pub(crate) struct Workplace {
    /// Where steps run.
    pub(crate) place: Place,
    /// What starts their commands.
    pub(crate) guards: Guards,
    /// Where what they say goes.
    pub(crate) logs: Arc<dyn LogStore>,
    /// Where large results go, and come from.
    pub(crate) depot: Arc<Depot>,
}

impl Compiled {
    /// What a file that is run here may call.
    pub(crate) fn calls(&self) -> Calls {
        Calls::Known(self.catalogue.clone())
    }

    /// What a file that is run elsewhere may call: whatever is there, where nothing is here.
    pub(crate) fn calls_elsewhere(&self) -> Calls {
        if self.catalogue.0.is_empty() { Calls::Any } else { self.calls() }
    }

    /// What a worker advertises that is this program.
    pub(crate) fn labels(&self, others: &Labels) -> Labels {
        Labels::new(others.iter().map(str::to_owned).chain(self.callees.labels()))
    }

    /// An executor that calls its steps, and leaves the rest to the one behind.
    pub(crate) fn in_front(
        &self,
        at: Workplace,
        behind: Arc<dyn Executor>,
    ) -> Result<Arc<dyn Executor>, CliError> {
        if self.callees.is_empty() {
            return Ok(behind);
        }
        let callees = self.callees.clone().polled_in(steps()?);
        let Workplace { place, guards, logs, depot } = at;
        let executor = CallExecutor::new(callees, place, guards, logs).with_depot(depot);
        Ok(Arc::new(executor.before(behind)))
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
