//! What is said, written and returned when a run has ended.

use std::fs::{self, OpenOptions};
use std::io::Write as _;

use tokio::runtime::Handle;
use tokio::task::block_in_place;
use windlass_core::id::StepIx;
use windlass_core::summary::{Asked, Summary, Verdict};

use super::order::Order;
use crate::cli::output::{self, Ink, Manner, annotations, ending, junit, markdown};
use crate::cli::written::written;
use crate::cli::{environment, exit};
use crate::local::{Stores, system_now};
use crate::logs::LogId;

/// A run that has ended.
pub(super) struct Finish<'a> {
    pub(super) order: &'a Order,
    pub(super) stores: &'a Stores,
    pub(super) summary: &'a Summary,
    pub(super) interrupted: bool,
}

impl Finish<'_> {
    /// Tells what became of it, and returns the exit code.
    pub(super) fn tell(&self) -> u8 {
        let Self { order, summary, .. } = self;
        let now = system_now();
        let mut logs = |log, bytes| self.tail(log, bytes);
        for line in ending(&order.look, summary, now, &mut logs, &order.hints) {
            output::talk(&line);
        }
        if order.look.manner == Manner::GitHub {
            for line in annotations(summary, now, &mut logs) {
                output::talk(&line);
            }
            let written = written(&order.scratch(), summary);
            self.write_summary(&markdown(summary, now, &mut logs, &written));
        }
        if let Some(file) = &order.junit {
            let report = junit(summary, now, &mut logs);
            if let Err(error) = fs::write(file, report) {
                self.warn(&format!("{} cannot be written: {error}", file.display()));
            }
        }
        exit_code(summary, &order.named, self.interrupted)
    }

    /// The last bytes of a log.
    fn tail(&self, log: LogId, bytes: usize) -> Vec<u8> {
        let logs = &self.stores.logs;
        let read = async {
            let size = logs.read(log, 0..0).await?.size;
            logs.read(log, size.saturating_sub(bytes as u64)..size).await
        };
        let read = block_in_place(|| Handle::current().block_on(read));
        read.map(|part| part.bytes).unwrap_or_default()
    }

    fn write_summary(&self, text: &str) {
        let Some(file) = environment::github_step_summary() else { return };
        let written = OpenOptions::new().create(true).append(true).open(&file);
        if let Err(error) = written.and_then(|mut file| file.write_all(text.as_bytes())) {
            self.warn(&format!("{} cannot be written: {error}", file.display()));
        }
    }

    fn warn(&self, what: &str) {
        output::talk(&format!("{} {what}", self.order.look.paint(Ink::Warn, "warning:")));
    }
}

/// What a run means for scripts.
pub(super) fn exit_code(summary: &Summary, named: &[String], interrupted: bool) -> u8 {
    let named: Vec<StepIx> = named.iter().filter_map(|name| summary.plan().find(name)).collect();
    match summary.verdict(Asked { named: &named, interrupted }) {
        Verdict::Ok => exit::SUCCESS,
        Verdict::StepFailed => exit::STEP_FAILED,
        Verdict::Unmet => exit::UNMET_REQUIREMENT,
        Verdict::Cancelled => exit::CANCELLED,
        Verdict::Interrupted => exit::INTERRUPTED,
    }
}
