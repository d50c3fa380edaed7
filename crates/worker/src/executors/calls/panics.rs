//! Panics of functions: failures of their steps, with the place where they happened.

use std::any::Any;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::Once;

use windlass_core::step_failure::{StepFailure, StepFailureKind};

thread_local! {
    /// Where this thread panicked while it polled a function.
    static WATCHED: RefCell<PanicWatch> = const { RefCell::new(PanicWatch::Not) };
}

/// Whether a thread polls a function, and its panic if there was one.
enum PanicWatch {
    Not,
    NoPanic,
    Panicked(String),
}

static HOOK: Once = Once::new();

/// Reports panics of functions in the logs of their steps only. Other panics go to the previous hook.
pub(super) fn install_hook() {
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let caught = WATCHED.with_borrow_mut(|watched| {
                let is_watched = !matches!(watched, PanicWatch::Not);
                if is_watched {
                    *watched = PanicWatch::Panicked(panic_text(info));
                }
                is_watched
            });
            if !caught {
                before(info);
            }
        }));
    });
}

/// Runs a part of a function and turns its panic into a failure.
pub(super) fn catch_panic<T>(piece: impl FnOnce() -> T) -> Result<T, StepFailure> {
    WATCHED.set(PanicWatch::NoPanic);
    let ended = catch_unwind(AssertUnwindSafe(piece));
    let place = match WATCHED.replace(PanicWatch::Not) {
        PanicWatch::Panicked(place) => Some(place),
        PanicWatch::Not | PanicWatch::NoPanic => None,
    };
    ended.map_err(|payload| {
        let mut failure = StepFailure::new(StepFailureKind::Panic, message(&*payload));
        failure.backtrace = place;
        failure
    })
}

fn panic_text(info: &PanicHookInfo<'_>) -> String {
    let place = info.location().map(ToString::to_string).unwrap_or_default();
    let frames = Backtrace::capture();
    match frames.status() {
        BacktraceStatus::Captured => format!("{place}\n{frames}"),
        _ => place,
    }
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
    text.unwrap_or("it gave no reason").to_owned()
}
