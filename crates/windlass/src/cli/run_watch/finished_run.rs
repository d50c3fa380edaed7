//! The report, files and exit code of a run that has ended.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use windlass_core::id::StepIx;
use windlass_core::outcome::RunStatus;
use windlass_core::summary::{RunSummary, RunVerdict, VerdictRequest};
use windlass_core::test_report::TestReport;

use crate::cli::output::{
    ColorRole, CommandHints, DisplayKind, EndedRun, LogTailReader, TerminalCaps, annotations,
    ending, junit, markdown, tests_markdown,
};
use crate::cli::{environment, exit, output};
use crate::embedded::system_now;

/// The report of a run that has ended.
pub(super) struct FinishedRunReport<'a> {
    /// The summary of the run.
    pub(super) summary: &'a RunSummary,
    /// The terminal capabilities of stderr.
    pub(super) caps: TerminalCaps,
    /// The steps that were named.
    pub(super) named: &'a [String],
    /// Commands about the run.
    pub(super) hints: &'a CommandHints,
    /// The results of the tests that its steps ran, with step names.
    pub(super) tests: &'a [(String, TestReport)],
    /// The summaries of its steps, with step names.
    pub(super) step_summaries: &'a dyn Fn() -> Vec<(String, String)>,
    /// The file of the `JUnit` report.
    pub(super) junit: Option<&'a Path>,
    /// Whether the user of this process cancelled it.
    pub(super) interrupted: bool,
}

impl FinishedRunReport<'_> {
    /// Prints the report and returns the exit code.
    pub(super) fn tell(&self, logs: &mut dyn LogTailReader) -> u8 {
        let Self { summary, caps, hints, tests, .. } = *self;
        let now = system_now();
        let ended = EndedRun { caps: &caps, summary, now, hints, tests };
        for line in ending(&ended, logs) {
            output::print_message(&line);
        }
        if caps.display == DisplayKind::GitHub {
            for line in annotations(summary, now, logs) {
                output::print_message(&line);
            }
            let page = markdown(summary, now, logs, &(self.step_summaries)());
            self.write_summary(&(page + &tests_markdown(tests)));
        }
        if let Some(file) = self.junit {
            let report = junit(summary, now, logs);
            if let Err(error) = fs::write(file, report) {
                self.warn(&format!("{} cannot be written: {error}", file.display()));
            }
        }
        let code = exit_code(summary, self.named, self.interrupted);
        if code == exit::UNMET_REQUIREMENT && summary.status() == RunStatus::Succeeded {
            let what = "a step that was named was skipped: no worker here can run it";
            output::print_message(&format!("{} {what}", caps.paint(ColorRole::Bad, "error:")));
        }
        code
    }

    fn write_summary(&self, text: &str) {
        let Some(file) = environment::github_step_summary() else { return };
        let written = OpenOptions::new().create(true).append(true).open(&file);
        if let Err(error) = written.and_then(|mut file| file.write_all(text.as_bytes())) {
            self.warn(&format!("{} cannot be written: {error}", file.display()));
        }
    }

    fn warn(&self, what: &str) {
        output::print_message(&format!("{} {what}", self.caps.paint(ColorRole::Warn, "warning:")));
    }
}

/// The exit code for a run's result.
pub(crate) fn exit_code(summary: &RunSummary, named: &[String], interrupted: bool) -> u8 {
    let named: Vec<StepIx> = named.iter().filter_map(|name| summary.plan().find(name)).collect();
    match summary.verdict(VerdictRequest { named: &named, interrupted }) {
        RunVerdict::Ok => exit::SUCCESS,
        RunVerdict::StepFailed => exit::STEP_FAILED,
        RunVerdict::NoMatchingWorker => exit::UNMET_REQUIREMENT,
        RunVerdict::Cancelled => exit::CANCELLED,
        RunVerdict::Interrupted => exit::INTERRUPTED,
    }
}
