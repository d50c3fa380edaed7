//! What is said, written and returned when a run has ended.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::Path;

use windlass_core::id::StepIx;
use windlass_core::outcome::RunStatus;
use windlass_core::summary::{Asked, Summary, Verdict};

use crate::cli::output::{
    self, Hints, Ink, Logs, Look, Manner, annotations, ending, junit, markdown,
};
use crate::cli::{environment, exit};
use crate::local::system_now;

/// A run that has ended.
pub(crate) struct Finish<'a> {
    /// What became of it.
    pub(crate) summary: &'a Summary,
    /// How talk looks.
    pub(crate) look: Look,
    /// The steps that were named.
    pub(crate) named: &'a [String],
    /// Commands about it.
    pub(crate) hints: &'a Hints,
    /// What steps wrote for people, each behind its name.
    pub(crate) written: &'a dyn Fn() -> Vec<(String, String)>,
    /// Where a report in the format of `JUnit` goes.
    pub(crate) junit: Option<&'a Path>,
    /// Whether it was whoever watched that ended it.
    pub(crate) interrupted: bool,
}

impl Finish<'_> {
    /// Tells what became of it, and returns the exit code.
    pub(crate) fn tell(&self, logs: &mut dyn Logs) -> u8 {
        let Self { summary, look, .. } = self;
        let now = system_now();
        for line in ending(look, summary, now, logs, self.hints) {
            output::talk(&line);
        }
        if look.manner == Manner::GitHub {
            for line in annotations(summary, now, logs) {
                output::talk(&line);
            }
            self.write_summary(&markdown(summary, now, logs, &(self.written)()));
        }
        if let Some(file) = self.junit {
            let report = junit(summary, now, logs);
            if let Err(error) = fs::write(file, report) {
                self.warn(&format!("{} cannot be written: {error}", file.display()));
            }
        }
        let code = exit_code(summary, self.named, self.interrupted);
        if code == exit::UNMET_REQUIREMENT && summary.status() == RunStatus::Succeeded {
            let what = "a step that was asked for by its name was skipped: nobody here can run it";
            output::talk(&format!("{} {what}", look.paint(Ink::Bad, "error:")));
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
        output::talk(&format!("{} {what}", self.look.paint(Ink::Warn, "warning:")));
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
