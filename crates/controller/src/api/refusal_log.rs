//! Log lines about unauthorized requests: an old token in a script, or an attack.

use std::fmt;
use std::net::IpAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::http::StatusCode;
use windlass_core::time::{Span, Time};

/// The shortest time between two lines, so that a flood of requests does not flood the log.
const EVERY: Span = Span::secs(10);

/// Prints a line.
type RefusalPrinter = dyn Fn(&str) + Send + Sync;

/// The log of refusals, if there is one.
#[derive(Default)]
pub(super) struct RefusalLog {
    tell: Option<Box<RefusalPrinter>>,
    logged: Mutex<LoggedRefusal>,
}

/// The last line.
#[derive(Debug, Default)]
struct LoggedRefusal {
    at: Option<Time>,
    /// Refusals since that line.
    unlogged: u64,
}

impl RefusalLog {
    pub(super) fn new(tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { tell: Some(Box::new(tell)), logged: Mutex::default() }
    }

    /// Records a request from this address that was answered with 401 or 403.
    pub(super) fn note(&self, now: Time, address: IpAddr, status: StatusCode) {
        let Some(tell) = &self.tell else { return };
        let mut logged = self.logged();
        if logged.at.is_some_and(|at| now < at + EVERY) {
            logged.unlogged += 1;
            return;
        }
        let more = match std::mem::take(&mut logged.unlogged) {
            0 => String::new(),
            more => format!("; {more} more were refused since the last such line"),
        };
        logged.at = Some(now);
        drop(logged);
        tell(&format!("a request from {address} was refused ({}){more}", status.as_u16()));
    }

    fn logged(&self) -> MutexGuard<'_, LoggedRefusal> {
        self.logged.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for RefusalLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RefusalLog").field("told", &self.logged()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn flood_of_refusals_is_one_line_in_ten_seconds_and_a_number() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&lines);
        let log = RefusalLog::new(move |line| heard.lock().unwrap().push(line.to_owned()));
        let address = IpAddr::from([10, 0, 0, 7]);
        for millis in (0..=10_000).step_by(100) {
            log.note(Time::from_millis(millis), address, StatusCode::UNAUTHORIZED);
        }
        let first = "a request from 10.0.0.7 was refused (401)";
        let second = format!("{first}; 99 more were refused since the last such line");
        assert_eq!(*lines.lock().unwrap(), [first.to_owned(), second]);
    }
}
