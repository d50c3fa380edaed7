//! Panics inside a schedule: they are caught, so that one is a broken rule like any other, with a seed and a story.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

/// What the panic hook does on a thread.
enum PanicCapture {
    /// What it did before.
    Off,
    /// It keeps where and why instead of printing it: shrinking repeats a panic a hundred times.
    On(Option<String>),
}

thread_local! {
    static PANIC_CAPTURE: RefCell<PanicCapture> = const { RefCell::new(PanicCapture::Off) };
}

/// Runs it; a panic comes back as its place and message.
///
/// What it had in its hands may be left half changed: the caller may show that and must not go on with it.
pub(crate) fn catch_panic<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    install_panic_hook();
    PANIC_CAPTURE.replace(PanicCapture::On(None));
    let result = panic::catch_unwind(AssertUnwindSafe(run));
    let seen = PANIC_CAPTURE.replace(PanicCapture::Off);
    result.map_err(|_| match seen {
        PanicCapture::On(Some(seen)) => seen,
        PanicCapture::On(None) | PanicCapture::Off => "a panic that no hook saw".to_owned(),
    })
}

/// Puts a hook before the one that is there, once for the process; other threads see no difference.
fn install_panic_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let kept = PANIC_CAPTURE.with_borrow_mut(|watch| match watch {
                PanicCapture::Off => false,
                PanicCapture::On(seen) => {
                    seen.get_or_insert_with(|| describe(info));
                    true
                }
            });
            if !kept {
                before(info);
            }
        }));
    });
}

fn describe(info: &PanicHookInfo<'_>) -> String {
    let place = info.location().map_or_else(|| "somewhere".to_owned(), ToString::to_string);
    format!("{place}: {}", info.payload_as_str().unwrap_or("no message"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caught_panic_has_its_location_and_message() {
        let seen = catch_panic(|| assert_eq!(1, 2, "numbers")).expect_err("it panics");
        assert!(seen.contains("panics.rs") && seen.contains("numbers"), "{seen}");
        assert_eq!(catch_panic(|| 3), Ok(3), "and the next one is on its own");
    }
}
