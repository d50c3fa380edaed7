//! The runtime of the stores on PostgreSQL. It is separate, so that no work of the leader or a reader delays a renewal,
//! and callers need no runtime of their own.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::Semaphore;

use super::address::PgAddress;
use super::connection::PgConnection;
use super::failure;
use super::schema::{self, PgSchema};
use crate::db::{StoreError, StoreFuture};

/// The most concurrent calls. A leader has one append in flight, so this number waits only if a server has stopped
/// answering; more would only wait longer.
const CALLS_MAX: usize = 256;

/// The timeout for creating or migrating tables, or for waiting while another node does so.
const MIGRATE_TIMEOUT: Duration = Duration::from_mins(1);

/// Executes calls, in order on each connection.
#[derive(Debug)]
pub struct PgRuntime {
    address: PgAddress,
    call_permits: Arc<Semaphore>,
    /// `None` only during drop.
    runtime: Option<Runtime>,
}

impl PgRuntime {
    /// Creates the runtime of a store at an address.
    pub fn open(url: &str) -> Result<Self, StoreError> {
        let address = PgAddress::parse(url)?;
        let built = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("postgres")
            .enable_all()
            .build();
        let runtime =
            built.map_err(|error| failure::unavailable(&address.place, error.to_string()))?;
        let calls = Arc::new(Semaphore::new(CALLS_MAX));
        Ok(Self { address, call_permits: calls, runtime: Some(runtime) })
    }

    /// Returns the display name of the address.
    pub fn place(&self) -> Arc<str> {
        Arc::clone(&self.address.place)
    }

    /// Returns a connection with this timeout for calls.
    pub fn connection(&self, within: Duration) -> PgConnection {
        PgConnection::new(self.address.clone(), within)
    }

    /// Migrates tables to the current version.
    pub fn migrate(&self, tables: PgSchema) -> StoreFuture<'_, ()> {
        let (line, place) = (self.connection(MIGRATE_TIMEOUT), self.place());
        self.spawn(async move { schema::migrate_or_refuse(&line, tables, &place).await })
    }

    /// Starts a call. It runs even if the returned future is dropped.
    pub fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> StoreFuture<'_, T> {
        self.spawn_on(self.runtime_handle(), work)
    }

    /// Starts a call in the runtime of the caller, if there is one. It ends sooner, because no other thread has to
    /// wake. Only for calls that no other call waits for.
    pub fn spawn_on_caller<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> StoreFuture<'_, T> {
        self.spawn_on(
            &Handle::try_current().unwrap_or_else(|_| self.runtime_handle().clone()),
            work,
        )
    }

    fn spawn_on<T: Send + 'static>(
        &self,
        runtime: &Handle,
        work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> StoreFuture<'_, T> {
        let Ok(seat) = Arc::clone(&self.call_permits).try_acquire_owned() else {
            let reason = format!("{CALLS_MAX} calls are already waiting for it");
            return Box::pin(async move { Err(failure::unavailable(&self.address.place, reason)) });
        };
        let task = runtime.spawn(async move {
            let done = work.await;
            drop(seat);
            done
        });
        Box::pin(async move { task.await.unwrap_or_else(|_| Err(self.call_failed())) })
    }

    fn runtime_handle(&self) -> &Handle {
        self.runtime.as_ref().expect("it is taken only by drop").handle()
    }

    /// Returns the error after a panic of a call: it is unknown whether the call took effect.
    fn call_failed(&self) -> StoreError {
        failure::unavailable(
            &self.address.place,
            "a call failed by a defect of windlass: restart it",
        )
    }
}

impl Drop for PgRuntime {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
