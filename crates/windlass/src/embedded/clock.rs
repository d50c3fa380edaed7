//! The only code that reads the system clock.

use std::time::{SystemTime, UNIX_EPOCH};

use windlass_core::time::Time;

/// The system time. All other code takes a clock as an argument, or measures from a time that came from here.
#[expect(clippy::disallowed_methods, reason = "this is the clock that all other code takes")]
pub fn system_now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
