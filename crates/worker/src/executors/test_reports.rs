//! The test reports that a step writes: they are found, read and masked when its processes are gone, and stored beside its
//! output. They never change the outcome: what cannot be read is a notice in the log.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tokio::task::spawn_blocking;
use windlass_core::files::PathPatterns;
use windlass_core::outcome::OutcomeKind;
use windlass_core::test_report::{TestReport, read_junit};
use windlass_core::time::{Span, Time};
use windlass_net::clock;
use windlass_store::logs::LogStream;

use super::attempt_log::AttemptLog;
use super::prepared_command::PreparedCommand;
use crate::masks::SecretMasks;
use crate::step_outputs::read_bounded;

/// Maximum bytes of one file: some runners write all output of all tests into it.
const FILE_MAX: usize = 16 << 20;

/// Maximum files of an attempt: Surefire writes one per class.
const FILES_MAX: usize = 1_000;

/// Maximum files and folders that are looked at for patterns such as `**/*.xml`.
const ENTRIES_MAX: usize = 200_000;

/// Maximum time for all of it: the outcome of the step waits for it.
const READ_WITHIN: Span = Span::secs(10);

/// Maximum notices about reports in the log of one attempt.
const NOTICES_MAX: usize = 10;

/// The files with test results that an attempt may write.
#[derive(Clone, Debug)]
pub(super) struct TestReportFiles {
    root: PathBuf,
    /// The patterns, or why they are not known.
    patterns: Result<Vec<String>, String>,
    /// When the attempt was prepared, by the clock of the file system. Older files are from another attempt.
    prepared_at: Option<SystemTime>,
}

/// The result of reading the files.
#[derive(Debug, Default)]
struct ReadFiles {
    report: Option<TestReport>,
    notices: Vec<String>,
}

impl TestReportFiles {
    /// Notes the files before the attempt begins. `marker` is a file that can be written and removed.
    pub(super) fn new(root: PathBuf, patterns: Result<Vec<String>, String>, marker: &Path) -> Self {
        let is_used = patterns != Ok(Vec::new());
        Self { root, patterns, prepared_at: is_used.then(|| time_of(marker)).flatten() }
    }

    fn is_none(&self) -> bool {
        self.patterns.as_ref().is_ok_and(Vec::is_empty)
    }

    /// Finds and reads the files.
    fn read(&self, masks: &SecretMasks) -> ReadFiles {
        let mut read = ReadFiles::default();
        let parsed = self.patterns.as_ref().map_err(Clone::clone).and_then(|texts| {
            let patterns = PathPatterns::parse(texts).map_err(|error| error.to_string())?;
            Ok((texts, patterns))
        });
        let (texts, patterns) = match parsed {
            Ok(parsed) => parsed,
            Err(error) => {
                read.notices.push(error);
                return read;
            }
        };
        let mut search = ReportFileSearch::new(&self.root, &patterns, texts);
        search.run();
        let found = std::mem::take(&mut search.found);
        read.notices.extend(unmatched(texts, &found));
        for path in &found {
            if search.is_late() {
                break;
            }
            match self.read_file(path, masks) {
                Ok(report) => read.report.get_or_insert_default().add(report),
                Err(why) => read.notices.push(format!("{path} {why}")),
            }
        }
        read.notices.extend(search.stopped.map(str::to_owned));
        read
    }

    fn read_file(&self, path: &str, masks: &SecretMasks) -> Result<TestReport, String> {
        let file = self.root.join(path);
        let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
        let written_at = fs::metadata(&file).and_then(|it| it.modified()).map_err(unreadable)?;
        if self.prepared_at.is_some_and(|prepared_at| is_older(written_at, prepared_at)) {
            return Err("is ignored: it was not written since this attempt began".to_owned());
        }
        let bytes = read_bounded(&file, FILE_MAX + 1).map_err(unreadable)?;
        if bytes.len() > FILE_MAX {
            return Err(format!("is ignored: it has more than {} MiB", FILE_MAX >> 20));
        }
        let cover = |text: &str| masks.cover(text);
        read_junit(&bytes, &cover).map_err(|error| format!("is no JUnit report: {error}"))
    }
}

/// Reads the reports of an attempt whose processes are gone, and stores them beside its log.
pub(super) async fn keep(prepared: &PreparedCommand, kind: OutcomeKind, record: &mut AttemptLog) {
    let ran = match kind {
        OutcomeKind::Succeeded
        | OutcomeKind::Failed
        | OutcomeKind::TimedOut
        | OutcomeKind::Cancelled => true,
        OutcomeKind::Lost | OutcomeKind::Released => false,
    };
    if !ran || prepared.reports.is_none() {
        return;
    }
    let (files, masks) = (prepared.reports.clone(), prepared.masks.clone());
    let Ok(read) = spawn_blocking(move || files.read(&masks)).await else { return };
    for notice in read.notices.iter().take(NOTICES_MAX) {
        record.add_notice(&format!("reports: {notice}"));
    }
    let more = read.notices.len().saturating_sub(NOTICES_MAX);
    if more > 0 {
        record.add_notice(&format!("reports: {more} more files could not be read"));
    }
    if let Some(report) = read.report {
        let json = serde_json::to_vec(&report).expect("texts and numbers can be written as JSON");
        record.keep_beside(LogStream::Tests, json, "its test report").await;
    }
}

/// The search for files below a folder.
struct ReportFileSearch<'a> {
    root: &'a Path,
    patterns: &'a PathPatterns,
    texts: &'a [String],
    until: Time,
    entries: usize,
    /// The files, in order when the search has ended.
    found: Vec<String>,
    /// Why it ended early.
    stopped: Option<&'static str>,
}

impl<'a> ReportFileSearch<'a> {
    fn new(root: &'a Path, patterns: &'a PathPatterns, texts: &'a [String]) -> Self {
        let until = clock::time_since_boot() + READ_WITHIN;
        Self { root, patterns, texts, until, entries: 0, found: Vec::new(), stopped: None }
    }

    fn run(&mut self) {
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            let Ok(entries) = fs::read_dir(self.root.join(&folder)) else { continue };
            for entry in entries.flatten() {
                if self.has_enough() {
                    break;
                }
                let (Ok(name), Ok(kind)) = (entry.file_name().into_string(), entry.file_type())
                else {
                    continue;
                };
                let is_git = name == ".git";
                let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
                // A link to a folder is not followed: it may lead back.
                if kind.is_dir() {
                    if !is_git && self.patterns.can_select_below(&path) {
                        folders.push(path);
                    }
                } else if self.is_report(&path) {
                    self.found.push(path);
                }
            }
        }
        self.found.sort();
    }

    /// A pattern may select a folder with other files in it; a path that is written out is a report.
    fn is_report(&self, path: &str) -> bool {
        let is_xml = Path::new(path).extension().is_some_and(|it| it.eq_ignore_ascii_case("xml"));
        self.patterns.select(path) && (is_xml || self.texts.iter().any(|text| text == path))
    }

    fn has_enough(&mut self) -> bool {
        self.entries += 1;
        if self.entries > ENTRIES_MAX {
            self.stopped = Some("the search ended after 200,000 files: name fewer folders");
        } else if self.found.len() >= FILES_MAX {
            self.stopped = Some("the search ended after 1,000 reports");
        }
        self.stopped.is_some() || self.is_late()
    }

    fn is_late(&mut self) -> bool {
        let is_late = clock::time_since_boot() > self.until;
        if is_late {
            self.stopped = Some("not everything was read within 10 s");
        }
        is_late
    }
}

/// Notices about patterns that match no file.
fn unmatched(texts: &[String], found: &[String]) -> Vec<String> {
    let including = texts.iter().filter(|text| !text.starts_with('!'));
    let missing = including.filter(|text| {
        let pattern = PathPatterns::parse(&[text]).unwrap_or_default();
        !found.iter().any(|path| pattern.select(path))
    });
    let notice = |text: &String| {
        let is_pattern = text.contains(['*', '?', '[', '{']);
        if is_pattern {
            format!("no file matches {text}")
        } else {
            format!("{text} does not exist")
        }
    };
    missing.map(notice).collect()
}

/// Whether a file was written before this time. Some file systems keep whole seconds only.
fn is_older(written_at: SystemTime, prepared_at: SystemTime) -> bool {
    let since_epoch =
        |at: SystemTime| at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let (written, prepared) = (since_epoch(written_at), since_epoch(prepared_at));
    if written.subsec_nanos() == 0 {
        written.as_secs() < prepared.as_secs()
    } else {
        written < prepared
    }
}

/// The present time of the file system.
fn time_of(marker: &Path) -> Option<SystemTime> {
    let file = fs::File::create(marker).ok()?;
    let time = file.metadata().and_then(|it| it.modified()).ok();
    drop(fs::remove_file(marker));
    time
}

#[cfg(test)]
#[path = "test_reports_tests.rs"]
mod test_reports_tests;
