//! Options of a local run.

use std::path::PathBuf;
use std::sync::Arc;

use windlass_controller::traces::TraceCollector;
use windlass_core::engine::{ReusedOutcome, RunOptions};
use windlass_core::id::RunId;
use windlass_core::plan::Plan;
use windlass_core::requirement::Labels;
use windlass_core::trace::TraceParent;
use windlass_worker::executors::TracePropagation;

use crate::cli::ci_instances::LeaderInstanceOptions;
use crate::cli::output::{CommandHints, OutputMode, TerminalCaps};
use crate::cli::{ProgramExtensions, environment};

/// A run on this machine, and how it is shown.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct LocalRunOptions {
    /// The folder in which steps run.
    pub(crate) root: PathBuf,
    /// The folder of the stores; `None` keeps them in memory.
    pub(crate) store: Option<PathBuf>,
    /// Whether to start although the stores have lost acknowledged events.
    pub(crate) accept_lost_history: bool,
    /// The work to do.
    pub(crate) kind: LocalRunKind,
    /// Concurrent steps.
    pub(crate) slots: u32,
    /// Labels of this machine.
    pub(crate) labels: Labels,
    /// The functions, hooks and probes compiled into this program.
    pub(crate) compiled: ProgramExtensions,
    /// The steps that were named.
    pub(crate) named: Vec<String>,
    /// Commands about this run that a reader can paste.
    pub(crate) hints: CommandHints,
    /// The output mode of steps.
    pub(crate) mode: Option<OutputMode>,
    /// Whether to print events to standard output, as one JSON object per line.
    pub(crate) json: bool,
    /// The file of the `JUnit` report.
    pub(crate) junit: Option<PathBuf>,
    /// The collector of spans.
    pub(crate) collector: Option<TraceCollector>,
    /// The options of instance 0, if there are other instances.
    pub(crate) leading: Option<Arc<LeaderInstanceOptions>>,
    /// The terminal capabilities of stderr.
    pub(crate) caps: TerminalCaps,
}

impl LocalRunOptions {
    /// The parent span of a new run. A resumed run keeps its first one.
    pub(super) fn parent(&self) -> Option<TraceParent> {
        match self.kind {
            LocalRunKind::New { .. } => environment::trace_parent(),
            LocalRunKind::Resume { .. } => None,
        }
    }

    /// The collector of its spans; `None` if its parent trace is not sampled.
    pub(super) fn traced_by(&self) -> Option<&TraceCollector> {
        let gathered = self.parent().is_none_or(|parent| parent.sampled);
        self.collector.as_ref().filter(|_| gathered)
    }

    /// The trace context of its steps: without a collector, that of this process's parent.
    pub(super) fn traces(&self) -> TracePropagation {
        match self.traced_by() {
            Some(_) => TracePropagation::Own(self.parent()),
            None => TracePropagation::Inherited,
        }
    }
}

/// The work of a run.
#[derive(Debug)]
pub(crate) enum LocalRunKind {
    /// A new run.
    New {
        /// Its plan.
        plan: Arc<Plan>,
        /// Its options.
        options: RunOptions,
        /// Outcomes that are reused.
        reused: Vec<ReusedOutcome>,
        /// The interrupted run in whose place it runs.
        replaces: Option<RunId>,
    },
    /// An interrupted run continues.
    Resume {
        /// The run: an id, a prefix, or `latest`; `None` is the newest that was interrupted.
        run: Option<String>,
        /// Only runs of this pipeline: its file was named.
        pipeline: Option<String>,
        /// The plan of the current file, to detect changes; `None` if there is none.
        plan: Option<Arc<Plan>>,
    },
}
