//! How an attempt runs.

use std::fmt;
use std::future::{Future, pending};
use std::pin::Pin;

use tokio::sync::watch;
use windlass_core::outcome::Outcome;
use windlass_core::session::{Grant, Stop};

/// An attempt under way; it is over when its outcome is there and nothing of it is left.
pub type Attempt = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// Why an executor can run nothing any more, once it cannot.
pub type Over = Pin<Box<dyn Future<Output = String> + Send>>;

/// Hears when an attempt is to stop, and later perhaps when it is to stop harder.
pub type Stops = watch::Receiver<Option<Stop>>;

/// Runs attempts: shell, typed function, the user's own.
pub trait Executor: Send + Sync + fmt::Debug {
    /// Begins an attempt. It must end by itself at the grant's timeout, and when it is told to.
    fn start(&self, grant: Grant, stops: Stops) -> Attempt;

    /// Waits until it can run nothing any more, and says why; for ever if it always can. Attempts that it had then are
    /// dead and have no outcome.
    fn over(&self) -> Over {
        Box::pin(pending())
    }
}
