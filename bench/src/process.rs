//! Processes that the benchmark starts, and their accounting by Linux.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;
use std::{fs, thread};

use crate::deadline::WAIT_MAX;
use crate::engine_fleet::now;

/// The time that a process has to end after SIGTERM.
const ENDS_WITHIN: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// The time that a process has to print an expected line, and the maximum number of buffered lines.
const SAYS_WITHIN: Duration = Duration::from_secs(30);
const LINES_MAX: usize = 1_024;

/// Ticks per second in `/proc/<pid>/stat`, the same on every Linux.
const TICKS: f64 = 100.0;

/// A process that ends with its owner.
#[derive(Debug)]
pub(crate) struct BenchProcess(Child);

impl BenchProcess {
    /// Starts a program. Its standard error can be read line by line.
    pub(crate) fn start(command: &mut Command) -> (Self, BufReader<ChildStderr>) {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let errors = child.stderr.take().expect("its standard error was asked for");
        (Self(child), BufReader::new(errors))
    }

    /// Kills the process.
    pub(crate) fn kill(mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }

    /// Its memory now, in MiB.
    pub(crate) fn memory(&self) -> f64 {
        status(self.0.id(), "VmRSS:").unwrap_or(f64::NAN)
    }

    /// Its peak memory so far, in MiB.
    pub(crate) fn peak_memory(&self) -> f64 {
        peak_memory(self.0.id()).unwrap_or(f64::NAN)
    }

    /// Its processor time so far, in user and kernel mode, in seconds.
    pub(crate) fn seconds(&self) -> f64 {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap_or_default();
        // The second field is its name in parentheses, which can contain any character.
        let fields = stat.rsplit(')').next().unwrap_or_default();
        let ticks = fields.split_whitespace().skip(11).take(2);
        ticks.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / TICKS
    }
}

impl Drop for BenchProcess {
    /// Sends SIGTERM first, so that its own children end with it.
    #[expect(clippy::disallowed_methods, reason = "a deadline for the end of a process")]
    fn drop(&mut self) {
        if !matches!(self.0.try_wait(), Ok(None)) {
            return;
        }
        let polite = Command::new("kill").arg(self.0.id().to_string()).status();
        let signalled_at = now();
        while polite.is_ok() && signalled_at.elapsed() < ENDS_WITHIN {
            if !matches!(self.0.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(LOOK_EVERY);
        }
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// The first word that a process prints after `before`; other output is discarded.
pub(crate) fn read_word_after(errors: BufReader<ChildStderr>, before: &str) -> String {
    let (told, lines) = sync_channel(LINES_MAX);
    // Reading continues after the line was found: the process must not block on a full pipe.
    thread::spawn(move || {
        errors.lines().map_while(Result::ok).for_each(|line| drop(told.try_send(line)));
    });
    let late = now() + SAYS_WITHIN;
    let mut all = String::new();
    loop {
        match lines.recv_timeout(late.saturating_duration_since(now())) {
            Ok(line) => {
                if let Some((_, rest)) = line.split_once(before) {
                    return rest.split_whitespace().next().unwrap_or_default().to_owned();
                }
                all.push_str(&line);
                all.push('\n');
            }
            Err(RecvTimeoutError::Disconnected) => panic!("it ended before `{before}`:\n{all}"),
            Err(RecvTimeoutError::Timeout) => {
                panic!("for {SAYS_WITHIN:?} it did not say `{before}`, but:\n{all}")
            }
        }
    }
}

/// Waits for a process that ends by itself. A process that takes too long is killed and named in a message.
pub(crate) fn wait_for_end(child: Child, what: &str) -> Output {
    let (process, what) = (child.id().to_string(), what.to_owned());
    let (ends, over) = sync_channel::<()>(0);
    let watch = thread::spawn(move || {
        if over.recv_timeout(WAIT_MAX) == Err(RecvTimeoutError::Timeout) {
            #[expect(clippy::print_stderr, reason = "the user of the benchmark sees it")]
            {
                eprintln!("{what} has not ended within {WAIT_MAX:?}: it is killed");
            }
            drop(Command::new("kill").args(["-KILL", &process]).status());
        }
    });
    let output = child.wait_with_output().expect("a process that was started can be waited for");
    drop(ends);
    watch.join().expect("it only waits");
    output
}

/// The peak memory of a process so far, in MiB.
pub(crate) fn peak_memory(process: u32) -> Option<f64> {
    status(process, "VmHWM:")
}

fn status(process: u32, key: &str) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    let kibibytes: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes / 1024.0)
}
