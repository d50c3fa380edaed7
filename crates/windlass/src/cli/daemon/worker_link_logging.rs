//! The link of a worker that logs when the controller is lost and found again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use windlass_core::session::{
    Exchange, ExchangeReply, LeaseRef, RegisterReply, RegisterRequest, WorkerRefusal,
};
use windlass_link::{LinkError, LinkFuture, WorkerLink};

use crate::cli::output::{LogFields, LogLevel, LogRecord};

/// A link that logs when contact is lost and when it returns.
#[derive(Debug)]
pub(super) struct LoggingLink {
    link: Arc<dyn WorkerLink>,
    worker: String,
    is_broken: AtomicBool,
}

impl LoggingLink {
    /// Logs the contact of a worker's link.
    pub(super) fn new(link: Arc<dyn WorkerLink>, worker: &str) -> Self {
        Self { link, worker: worker.to_owned(), is_broken: AtomicBool::new(false) }
    }

    fn log_link_change<T>(&self, answered: &Result<T, LinkError>) {
        let (level, message) = match answered {
            Ok(_) if self.is_broken.swap(false, Ordering::Relaxed) => {
                (LogLevel::Info, "contact with the controller is back".to_owned())
            }
            // A final error is reported by the caller that ends because of it.
            Err(error) if error.is_final() => return,
            Err(error) if !self.is_broken.swap(true, Ordering::Relaxed) => (
                LogLevel::Warn,
                format!("contact with the controller is lost: {error}; trying again"),
            ),
            Ok(_) | Err(_) => return,
        };
        let about = LogFields { worker: Some(self.worker.clone()), ..LogFields::default() };
        LogRecord { level, at: None, message, about }.emit();
    }
}

impl WorkerLink for LoggingLink {
    fn register(
        &self,
        register: RegisterRequest,
    ) -> LinkFuture<'_, Result<RegisterReply, WorkerRefusal>> {
        Box::pin(async move {
            let answered = self.link.register(register).await;
            self.log_link_change(&answered);
            answered
        })
    }

    fn exchange(&self, exchange: Exchange) -> LinkFuture<'_, ExchangeReply> {
        Box::pin(async move {
            let answered = self.link.exchange(exchange).await;
            self.log_link_change(&answered);
            answered
        })
    }

    fn cancel_run(&self, lease: LeaseRef) -> LinkFuture<'_, ()> {
        self.link.cancel_run(lease)
    }
}
