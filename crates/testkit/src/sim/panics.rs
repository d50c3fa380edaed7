//! Catches panics inside a schedule, so that each is a broken rule like any other, with a seed and a story.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

/// The state of the panic hook on a thread.
enum PanicCapture {
    /// The hook passes panics on to the previous hook.
    Off,
    /// The hook stores location and message instead of printing them, because shrinking repeats a panic a hundred
    /// times.
    On(Option<String>),
}

thread_local! {
    static PANIC_CAPTURE: RefCell<PanicCapture> = const { RefCell::new(PanicCapture::Off) };
}

/// Calls `run`, and returns a panic as its location and message.
///
/// The values that it changed may be inconsistent then: the caller may show them and must not continue with them.
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

/// Installs a hook before the existing one, once for the process. Other threads see no difference.
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
