//! The one place where the system's clock is read.

use std::time::{SystemTime, UNIX_EPOCH};

use windlass_core::time::Time;

/// The system's time. Everything else takes a clock, or counts from a moment that came from here.
#[expect(clippy::disallowed_methods, reason = "this is the clock that others take")]
pub fn system_now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
