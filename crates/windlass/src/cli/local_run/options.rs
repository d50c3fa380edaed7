//! What was asked for.

use std::path::PathBuf;
use std::sync::Arc;

use windlass_core::engine::{ReusedOutcome, RunOptions};
use windlass_core::plan::Plan;
use windlass_core::requirement::Labels;
use windlass_core::trace::TraceParent;

use crate::cli::ci_instances::LeaderInstanceOptions;
use crate::cli::output::{CommandHints, OutputMode, TerminalCaps};
use crate::cli::project::SCRATCH;
use crate::cli::{ProgramExtensions, environment};
use crate::controller::traces::TraceCollector;
use crate::worker::executors::TracePropagation;

/// A run to be done here, and how it is shown.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct LocalRunOptions {
    /// Where steps run.
    pub(crate) root: PathBuf,
    /// Where the stores are; `None`: in memory.
    pub(crate) store: Option<PathBuf>,
    /// Whether they are led though they have lost what they had acknowledged.
    pub(crate) accept_lost_history: bool,
    /// What is to be done.
    pub(crate) kind: LocalRunKind,
    /// Steps at a time.
    pub(crate) slots: u32,
    /// What this machine advertises.
    pub(crate) labels: Labels,
    /// What this program has beside windlass itself.
    pub(crate) compiled: ProgramExtensions,
    /// The steps that were named.
    pub(crate) named: Vec<String>,
    /// Commands about this run that a reader can paste.
    pub(crate) hints: CommandHints,
    /// What is shown of what steps print.
    pub(crate) mode: Option<OutputMode>,
    /// Whether events go to standard output as JSON, one a line.
    pub(crate) json: bool,
    /// Where a report in the format of `JUnit` goes.
    pub(crate) junit: Option<PathBuf>,
    /// Where spans go, if they do.
    pub(crate) collector: Option<TraceCollector>,
    /// How it leads other instances, if it does.
    pub(crate) leading: Option<Arc<LeaderInstanceOptions>>,
    /// How talk looks.
    pub(crate) look: TerminalCaps,
}

impl LocalRunOptions {
    /// What a new run is a part of. One that goes on has begun as a part of something else.
    pub(super) fn parent(&self) -> Option<TraceParent> {
        match self.kind {
            LocalRunKind::New { .. } => environment::trace_parent(),
            LocalRunKind::Resume { .. } => None,
        }
    }

    /// Where its spans go; nowhere if nobody gathers what it is a part of.
    pub(super) fn traced_by(&self) -> Option<&TraceCollector> {
        let gathered = self.parent().is_none_or(|parent| parent.sampled);
        self.collector.as_ref().filter(|_| gathered)
    }

    /// What steps are told of their trace: where no spans are sent, that of whoever began the run.
    pub(super) fn traces(&self) -> TracePropagation {
        match self.traced_by() {
            Some(_) => TracePropagation::Own(self.parent()),
            None => TracePropagation::Inherited,
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
pub(crate) enum LocalRunKind {
    /// A new run.
    New {
        /// Of this plan.
        plan: Arc<Plan>,
        /// How.
        options: RunOptions,
        /// Outcomes that are taken over.
        reused: Vec<ReusedOutcome>,
    },
    /// A run that was interrupted goes on.
    Resume {
        /// Which: an id, the beginning of one, or `latest`; `None`: the newest of the pipeline.
        run: Option<String>,
        /// What the file says now, to tell whether it changed; `None` if there is no file and the run was named.
        plan: Option<Arc<Plan>>,
    },
}
