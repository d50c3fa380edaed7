//! What was asked for.

use std::path::PathBuf;
use std::sync::Arc;

use windlass_core::engine::{Reused, RunOptions};
use windlass_core::plan::Plan;
use windlass_core::requirement::Labels;
use windlass_core::trace::TraceParent;

use crate::cli::instances::Leading;
use crate::cli::output::{Hints, Look, OutputMode};
use crate::cli::project::SCRATCH;
use crate::cli::{Compiled, environment};
use crate::controller::traces::Collector;
use crate::worker::executors::Traces;

/// A run to be done here, and how it is shown.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Order {
    /// Where steps run.
    pub(crate) root: PathBuf,
    /// Where the stores are; `None`: in memory.
    pub(crate) store: Option<PathBuf>,
    /// Whether they are led though they have lost what they had acknowledged.
    pub(crate) accept_lost_history: bool,
    /// What is to be done.
    pub(crate) what: What,
    /// Steps at a time.
    pub(crate) slots: u32,
    /// What this machine advertises.
    pub(crate) labels: Labels,
    /// What this program has beside windlass itself.
    pub(crate) compiled: Compiled,
    /// The steps that were named.
    pub(crate) named: Vec<String>,
    /// Commands about this run that a reader can paste.
    pub(crate) hints: Hints,
    /// What is shown of what steps print.
    pub(crate) mode: Option<OutputMode>,
    /// Whether events go to standard output as JSON, one a line.
    pub(crate) json: bool,
    /// Where a report in the format of `JUnit` goes.
    pub(crate) junit: Option<PathBuf>,
    /// Where spans go, if they do.
    pub(crate) collector: Option<Collector>,
    /// How it leads other instances, if it does.
    pub(crate) leading: Option<Arc<Leading>>,
    /// How talk looks.
    pub(crate) look: Look,
}

impl Order {
    /// What a new run is a part of. One that goes on has begun as a part of something else.
    pub(super) fn parent(&self) -> Option<TraceParent> {
        match self.what {
            What::New { .. } => environment::trace_parent(),
            What::Resume { .. } => None,
        }
    }

    /// Where its spans go; nowhere if nobody gathers what it is a part of.
    pub(super) fn traced_by(&self) -> Option<&Collector> {
        let gathered = self.parent().is_none_or(|parent| parent.sampled);
        self.collector.as_ref().filter(|_| gathered)
    }

    /// What steps are told of their trace: where no spans are sent, that of whoever began the run.
    pub(super) fn traces(&self) -> Traces {
        match self.traced_by() {
            Some(_) => Traces::Own(self.parent()),
            None => Traces::Inherited,
        }
    }

    /// Where steps write for windlass.
    pub(super) fn scratch(&self) -> PathBuf {
        match &self.store {
            Some(store) => store.join(SCRATCH),
            None => std::env::temp_dir().join(format!("windlass-{}", std::process::id())),
        }
    }
}

/// What is to be done.
#[derive(Debug)]
pub(crate) enum What {
    /// A new run.
    New {
        /// Of this plan.
        plan: Arc<Plan>,
        /// How.
        options: RunOptions,
        /// Outcomes that are taken over.
        reused: Vec<Reused>,
    },
    /// A run that was interrupted goes on.
    Resume {
        /// Which: an id, the beginning of one, or `latest`; `None`: the newest of the pipeline.
        run: Option<String>,
        /// What the file says now, to tell whether it changed; `None` if there is no file and the run was named.
        plan: Option<Arc<Plan>>,
    },
}
