//! Where the work of stores on PostgreSQL is done: a runtime of their own, so that nothing that a leader or a reader does
//! delays a renewal, and so that whoever waits needs no runtime.

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

/// How many calls may be on their way. A leader has one append in flight, so this many wait only where a server has
/// stopped answering; more would only make the wait longer.
const CALLS_MAX: usize = 256;

/// How long tables may take to be made, or changed, or to be waited for while another node does it.
const MIGRATE_TIMEOUT: Duration = Duration::from_mins(1);

/// Does calls, in the order of their connections.
#[derive(Debug)]
pub struct PgRuntime {
    address: PgAddress,
    call_permits: Arc<Semaphore>,
    /// Taken by drop.
    runtime: Option<Runtime>,
}

impl PgRuntime {
    /// An office for a store at an address.
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

    /// Where its calls go, as it is shown.
    pub fn place(&self) -> Arc<str> {
        Arc::clone(&self.address.place)
    }

    /// A connection for calls that take no longer than so.
    pub fn connection(&self, within: Duration) -> PgConnection {
        PgConnection::new(self.address.clone(), within)
    }

    /// Brings tables to what this windlass knows.
    pub fn migrate(&self, tables: PgSchema) -> StoreFuture<'_, ()> {
        let (line, place) = (self.connection(MIGRATE_TIMEOUT), self.place());
        self.spawn(async move { schema::migrate_or_refuse(&line, tables, &place).await })
    }

    /// Has something done. It is on its way when this returns; dropping the promise does not take it back.
    pub fn spawn<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> StoreFuture<'_, T> {
        self.spawn_on(self.runtime_handle(), work)
    }

    /// The same in the runtime of whoever asks, if there is one: for what nothing else waits for, and is over sooner where no
    /// thread has to wake another.
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
            let reason = format!("{CALLS_MAX} calls wait for it already");
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

    /// Only a panic ends a call before it is done: what it did last is not known.
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
