//! The retry policy of a step in Rust.

use serde_json::{Map, Value, json};

use super::error::Error;

/// The exit code of an error that its step wants to retry.
const TRY_AGAIN: &str = "exit-75";

/// The retry policy of a step: how often, and after which failures.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Retries {
    pub(super) keys: Map<String, Value>,
    pub(super) decides: Option<fn(&Error) -> bool>,
}

impl Retries {
    /// Allows this number of attempts after the first.
    pub fn times(times: u16) -> Self {
        Self::default().set("times", times)
    }

    /// Sets the back-off: the wait before the second attempt, or `from..to`, which doubles each time.
    pub fn wait(self, wait: impl Into<String>) -> Self {
        self.set("wait", wait.into())
    }

    /// Retries after these outcomes: `failed`, `timed_out`. Errors that [`when`](Self::when) accepts are retried as well.
    pub fn on<T: ToString>(mut self, ends: impl IntoIterator<Item = T>) -> Self {
        let ends = ends.into_iter().map(|end| Value::String(end.to_string()));
        let on = self.keys.entry("on").or_insert_with(|| json!([]));
        on.as_array_mut().expect("nothing else is put there").extend(ends);
        self
    }

    /// Retries only errors for which this function returns true.
    ///
    /// ```
    /// use std::io;
    ///
    /// use windlass::{Error, Retries};
    ///
    /// fn is_flaky(error: &Error) -> bool {
    ///     error.downcast_ref::<io::Error>().is_some()
    /// }
    ///
    /// let retries = Retries::times(3).when(is_flaky);
    /// ```
    pub fn when(mut self, decides: fn(&Error) -> bool) -> Self {
        self.decides = Some(decides);
        self.on([TRY_AGAIN])
    }

    /// Prefers another worker for the next attempt.
    pub fn elsewhere(self) -> Self {
        self.set("elsewhere", true)
    }

    /// Sets the deliveries after the first when workers are lost. With 0, a step that may have started is not dispatched
    /// again.
    pub fn lost(self, times: u16) -> Self {
        self.set("lost", times)
    }

    fn set(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.keys.insert(key.to_owned(), value.into());
        self
    }
}

impl From<u16> for Retries {
    fn from(times: u16) -> Self {
        Self::times(times)
    }
}
