//! Panics inside a schedule: they are caught, so that one is a broken rule like any other, with a seed and a story.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

/// What the panic hook does on a thread.
enum Watch {
    /// What it did before.
    Off,
    /// It keeps where and why instead of printing it: shrinking repeats a panic a hundred times.
    On(Option<String>),
}

thread_local! {
    static WATCH: RefCell<Watch> = const { RefCell::new(Watch::Off) };
}

/// Runs it; a panic comes back as its place and message.
///
/// What it had in its hands may be left half changed: the caller may show that and must not go on with it.
pub(crate) fn caught<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    watch_panics();
    WATCH.replace(Watch::On(None));
    let result = panic::catch_unwind(AssertUnwindSafe(run));
    let seen = WATCH.replace(Watch::Off);
    result.map_err(|_| match seen {
        Watch::On(Some(seen)) => seen,
        Watch::On(None) | Watch::Off => "a panic that no hook saw".to_owned(),
    })
}

/// Puts a hook before the one that is there, once for the process; other threads see no difference.
fn watch_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let kept = WATCH.with_borrow_mut(|watch| match watch {
                Watch::Off => false,
                Watch::On(seen) => {
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
    fn a_panic_comes_back_with_its_place_and_message() {
        let seen = caught(|| assert_eq!(1, 2, "numbers")).expect_err("it panics");
        assert!(seen.contains("panics.rs") && seen.contains("numbers"), "{seen}");
        assert_eq!(caught(|| 3), Ok(3), "and the next one is on its own");
    }
}
