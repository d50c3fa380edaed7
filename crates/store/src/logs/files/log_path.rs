//! Paths of logs.

use std::path::{Path, PathBuf};

use windlass_core::id::{RunId, StepIx};

use crate::logs::{LogId, LogStream};

/// Returns the folder of a run's logs.
pub(super) fn run_folder(folder: &Path, run: RunId) -> PathBuf {
    folder.join(run.to_string())
}

/// Returns the file of a log.
pub(super) fn log_file(folder: &Path, log: LogId) -> PathBuf {
    run_folder(folder, log.run).join(log_file_name(log))
}

/// Parses the folder name of a run; `None` if windlass did not create it.
pub(super) fn parse_run_folder(name: &str) -> Option<RunId> {
    RunId::parse(name).filter(|run| run.to_string() == name)
}

/// Parses the file name of a log; `None` if windlass did not create it.
pub(super) fn parse_log_file(run: RunId, name: &str) -> Option<LogId> {
    let (numbers, ending) = name.rsplit_once('.')?;
    let stream = LogStream::ALL.into_iter().find(|stream| file_ending(*stream) == ending)?;
    let mut numbers = numbers.split('.');
    let step = StepIx(numbers.next()?.parse().ok()?);
    let attempt = numbers.next()?.parse().ok()?;
    let delivery = numbers.next()?.parse().ok()?;
    let log = LogId::new(run, step, attempt, delivery).stream(stream);
    // Each log has one name: `01.1.1.log` is another file.
    (log_file_name(log) == name).then_some(log)
}

fn log_file_name(log: LogId) -> String {
    let ending = file_ending(log.stream);
    format!("{}.{}.{}.{ending}", log.step.0, log.attempt, log.delivery)
}

const fn file_ending(stream: LogStream) -> &'static str {
    match stream {
        LogStream::Output => "log",
        LogStream::Notes | LogStream::Value | LogStream::Tests => stream.name(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_of_a_log_parses_to_the_same_log() {
        let run = RunId::new(1_790_000_000_000, 5);
        let log = LogId::new(run, StepIx(u32::MAX), u16::MAX, 1);
        for log in LogStream::ALL.map(|stream| log.stream(stream)) {
            let path = log_file(Path::new("logs"), log);
            let mut parts = path.iter().skip(1).map(|part| part.to_str().unwrap());
            assert_eq!(parse_run_folder(parts.next().unwrap()), Some(run));
            assert_eq!(parse_log_file(run, parts.next().unwrap()), Some(log));
        }
    }

    #[test]
    fn names_not_written_by_windlass_are_ignored() {
        let foreign = ["", ".log", "1.1.log", "1.1.1", "01.1.1.log", "1.1.1.1.log", "+1.1.1.log"];
        for name in foreign.into_iter().chain(["1.1.65536.log", "a.b.c.log", "1.1.1.log~"]) {
            assert_eq!(parse_log_file(RunId(1), name), None, "{name}");
        }
        for name in ["", "lost+found", "01", "A", "zzzzzzzzzzzzz"] {
            assert_eq!(parse_run_folder(name), None, "{name}");
        }
    }
}
