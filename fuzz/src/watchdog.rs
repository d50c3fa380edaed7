//! Turns panics and slowness into findings.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::Once;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use std::{fs, process, thread};

use crate::check::{FuzzFinding, FuzzOutcome, FuzzTarget};

/// The time limit of one input.
const SLOW: Duration = Duration::from_secs(2);

/// The time after which the process ends because of an input.
const HANG: Duration = Duration::from_secs(20);

/// The number of started checks.
static CHECKS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static PANIC: RefCell<Option<(String, String)>> = const { RefCell::new(None) };
}

static HOOK: Once = Once::new();

/// Checks an input.
pub(crate) fn checked(target: FuzzTarget, bytes: &[u8]) -> (FuzzOutcome, Duration) {
    let (result, took) = timed(target, bytes);
    if took < SLOW || result.is_err() {
        return (result, took);
    }
    (Err(FuzzFinding { key: "slow".to_owned(), detail: format!("it took {took:?}") }), took)
}

fn timed(target: FuzzTarget, bytes: &[u8]) -> (FuzzOutcome, Duration) {
    HOOK.call_once(|| panic::set_hook(Box::new(remember)));
    CHECKS.fetch_add(1, Relaxed);
    let began = now();
    let began_work = worked();
    let result = panic::catch_unwind(AssertUnwindSafe(|| target.check(bytes)));
    let took =
        if began.elapsed() < SLOW { began.elapsed() } else { worked().saturating_sub(began_work) };
    let result = result.unwrap_or_else(|_| {
        let (place, detail) = PANIC.take().unwrap_or_default();
        Err(FuzzFinding { key: format!("panic at {place}"), detail })
    });
    (result, took)
}

fn remember(info: &panic::PanicHookInfo<'_>) {
    let place = info.location().map(ToString::to_string).unwrap_or_default();
    PANIC.set(Some((place, info.to_string())));
}

/// Ends the process if a check does not return; there is no other way to stop it. The input is in the file.
#[expect(clippy::exit, clippy::print_stdout, reason = "a thread cannot be stopped from outside")]
pub(crate) fn watch(current: PathBuf) {
    thread::spawn(move || {
        let (mut seen, mut since) = (0, worked());
        loop {
            thread::park_timeout(SLOW);
            let reached = CHECKS.load(Relaxed);
            if reached != seen {
                (seen, since) = (reached, worked());
            } else if worked() > since + HANG {
                println!("check {reached} does not end: {}", current.display());
                process::exit(1);
            }
        }
    });
}

/// The processor time of the first thread, which does all the work. Unlike elapsed time, it does not grow on a busy machine.
fn worked() -> Duration {
    let text = fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let nanos = text.split(' ').next().and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.unwrap_or_default())
}

/// The clock of the campaign.
#[expect(clippy::disallowed_methods, reason = "how long something takes is real time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}
