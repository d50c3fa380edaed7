//! How a store is called.

use std::future::Future;
use std::pin::Pin;

use windlass_core::time::Time;

use super::error::StoreError;

/// What a call returns: a result that may take its time.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// Where a store's `now` comes from: the system's clock, or a test's.
pub type NowFn = fn() -> Time;
