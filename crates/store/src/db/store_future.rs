//! The types of store calls.

use std::future::Future;
use std::pin::Pin;

use windlass_core::time::Time;

use super::error::StoreError;

/// The result of a call.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// The clock of a store: the system's, or a test's.
pub type NowFn = fn() -> Time;
