//! Mailboxes in PostgreSQL.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OnceCell};
use tokio::time::{Instant, timeout_at};
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use windlass_store::db::StoreError;
use windlass_store::db::postgres::address::PgAddress;
use windlass_store::db::postgres::connection::{PgConnection, PgParameter};
use windlass_store::db::postgres::schema;
use windlass_store::db::postgres::schema::PgSchema;

use super::mailbox_listener::MailboxListener;
use super::owned_parameter::{OwnedParameter, as_parameter, millis, number, sql_limit, text};
use super::statements;
use crate::mailbox::{
    BindingEpoch, MAILBOX_BYTES_MAX, MAILBOX_MESSAGE_MAX, MAILBOX_MESSAGES_MAX, MailboxAddress,
    MailboxBinding, MailboxError, MailboxFuture, MailboxId, MailboxMessage, Mailboxes,
    RECEIVED_MAX,
};

const TABLES: PgSchema =
    PgSchema { store: "mail", migrations: &[include_str!("migrations/0001_mail.sql")] };

/// Deadline of a call.
const WITHIN: Duration = Duration::from_secs(5);

/// The first and the longest pause between two polls of a reader. A notification ends the pause.
const POLL_MIN: Duration = Duration::from_millis(10);
const POLL_MAX: Duration = Duration::from_millis(250);

/// A binding is renewed every second or two, so expired messages are removed within a few minutes.
const SWEEPS_EVERY: u64 = 128;

/// Mailboxes in PostgreSQL. The connection is opened at the first use, and again after it is lost.
#[derive(Debug)]
pub struct PostgresMailboxes {
    address: PgAddress,
    run: String,
    calls: PgConnection,
    /// The connection for receiving, which is always in use.
    receives: PgConnection,
    prepared: OnceCell<()>,
    /// The number of renewals by this process.
    kept: AtomicU64,
    listener: Mutex<Option<MailboxListener>>,
}

/// Opens the mailboxes of a site at `postgres://…`.
pub fn open(site: &MailboxAddress) -> Result<Arc<dyn Mailboxes>, MailboxError> {
    let address =
        PgAddress::parse(&site.url).map_err(|error| mailbox_error_of("postgres:", &error))?;
    let line = || PgConnection::new(address.clone(), WITHIN);
    let (calls, pops, run) = (line(), line(), site.run.clone());
    let (prepared, kept, hint) = (OnceCell::new(), AtomicU64::default(), Mutex::default());
    Ok(Arc::new(PostgresMailboxes {
        address,
        run,
        calls,
        receives: pops,
        prepared,
        kept,
        listener: hint,
    }))
}

impl PostgresMailboxes {
    /// Runs a statement whose first parameter is the name of these mailboxes.
    async fn ask(
        &self,
        line: &PgConnection,
        statement: &'static str,
        parameters: Vec<OwnedParameter>,
    ) -> Result<Vec<Row>, MailboxError> {
        self.prepare().await?;
        let run: OwnedParameter = (Box::new(self.run.clone()), Type::TEXT);
        let all: Vec<OwnedParameter> = std::iter::once(run).chain(parameters).collect();
        let answer = line.call(|client| {
            Box::pin(async move {
                let all: Vec<PgParameter<'_>> = all.iter().map(as_parameter).collect();
                client.query_typed(statement, &all).await
            })
        });
        answer.await.map_err(|error| mailbox_error_of(self.address.display_name(), &error))
    }

    async fn prepare(&self) -> Result<(), MailboxError> {
        let prepare =
            || schema::migrate_or_refuse(&self.calls, TABLES, self.address.display_name());
        let prepared = self.prepared.get_or_try_init(prepare).await;
        prepared.copied().map_err(|error| mailbox_error_of(self.address.display_name(), &error))
    }

    async fn bind_place(&self, by: String, term: Duration) -> Result<BindingEpoch, MailboxError> {
        let parameters = vec![text(by), millis(term)];
        let bound = self.ask(&self.calls, statements::BIND, parameters).await?;
        if let Some(row) = bound.first() {
            self.sweep().await;
            return Ok(epoch_of(row));
        }
        let MailboxBinding { by, final_status, .. } = self.read_binding().await?;
        match (final_status, by) {
            (Some(final_status), _) => Err(MailboxError::Finished { final_status }),
            (None, Some(by)) => Err(MailboxError::AlreadyLed { by }),
            // The binding was given up in between.
            (None, None) => Err(MailboxError::AlreadyLed { by: "somebody".to_owned() }),
        }
    }

    /// Deletes messages that no reader will take. What one call leaves, the next one deletes.
    async fn sweep(&self) {
        let swept = self.calls.call(|client| Box::pin(client.batch_execute(statements::SWEEP)));
        drop(swept.await);
    }

    async fn renew_binding(&self, epoch: BindingEpoch, term: Duration) -> Result<(), MailboxError> {
        let parameters = vec![number(epoch.0.cast_signed()), millis(term)];
        if !self.ask(&self.calls, statements::KEEP, parameters).await?.is_empty() {
            if self.kept.fetch_add(1, Ordering::Relaxed) % SWEEPS_EVERY == SWEEPS_EVERY - 1 {
                self.sweep().await;
            }
            return Ok(());
        }
        let now = self.read_binding().await?.epoch;
        if now >= epoch {
            return Err(MailboxError::Deposed { now });
        }
        let reason = "it has no record of a leader: it was emptied, or an older state was restored";
        Err(MailboxError::StateLost { place: self.place(), reason: reason.to_owned() })
    }

    async fn unbind_place(
        &self,
        epoch: BindingEpoch,
        final_status: Option<String>,
    ) -> Result<(), MailboxError> {
        let parameters = vec![number(epoch.0.cast_signed()), text(final_status)];
        self.ask(&self.calls, statements::UNBIND, parameters).await.map(drop)
    }

    async fn read_binding(&self) -> Result<MailboxBinding, MailboxError> {
        let rows = self.ask(&self.calls, statements::LOOK, Vec::new()).await?;
        let standing = |row: &Row| MailboxBinding {
            epoch: epoch_of(row),
            by: row.get("by"),
            final_status: row.get("epitaph"),
        };
        Ok(rows.first().map(standing).unwrap_or_default())
    }

    async fn put(&self, messages: Vec<MailboxMessage>) -> Result<(), MailboxError> {
        if let Some(message) =
            messages.iter().find(|message| message.bytes.len() > MAILBOX_MESSAGE_MAX)
        {
            return Err(MailboxError::TooLarge { bytes: message.bytes.len() });
        }
        let many = messages.len();
        let boxes: Vec<i64> = messages.iter().map(|message| message.to.0.cast_signed()).collect();
        let bodies: Vec<Vec<u8>> = messages.into_iter().map(|message| message.bytes).collect();
        let parameters: Vec<OwnedParameter> = vec![
            (Box::new(boxes), Type::INT8_ARRAY),
            (Box::new(bodies), Type::BYTEA_ARRAY),
            number(sql_limit(MAILBOX_MESSAGES_MAX)),
            number(sql_limit(MAILBOX_BYTES_MAX)),
        ];
        let rows = self.ask(&self.calls, statements::SEND, parameters).await?;
        let sent = rows.first().map_or(0, |row| row.get::<_, i64>(0));
        if usize::try_from(sent).unwrap_or(0) < many {
            let reason = "one of the mailboxes has no reader".to_owned();
            return Err(MailboxError::Full { place: self.place(), reason });
        }
        Ok(())
    }

    async fn take(
        &self,
        mailbox: MailboxId,
        within: Duration,
    ) -> Result<Vec<Vec<u8>>, MailboxError> {
        let (late, notify) = (Instant::now() + within, self.notify_for(mailbox));
        let parameters = || vec![number(mailbox.0.cast_signed()), number(sql_limit(RECEIVED_MAX))];
        let mut pause = POLL_MIN;
        loop {
            let rows = self.ask(&self.receives, statements::RECEIVE, parameters()).await?;
            if !rows.is_empty() || Instant::now() >= late {
                return Ok(rows.iter().map(|row| row.get(0)).collect());
            }
            drop(timeout_at(late.min(Instant::now() + pause), notify.notified()).await);
            pause = (pause * 2).min(POLL_MAX);
        }
    }

    /// Returns the handle that notifications wake; every receiver has one.
    fn notify_for(&self, mailbox: MailboxId) -> Arc<Notify> {
        let mut hint = self.listener.lock().unwrap_or_else(PoisonError::into_inner);
        if hint.as_ref().is_none_or(|hint| hint.mailbox() != mailbox) {
            *hint = Some(MailboxListener::of(&self.address, mailbox));
        }
        hint.as_ref().map(MailboxListener::notify).expect("it was set")
    }
}

fn epoch_of(row: &Row) -> BindingEpoch {
    BindingEpoch(row.get::<_, i64>("epoch").cast_unsigned())
}

/// Converts a failure of the database to an error of the link.
fn mailbox_error_of(place: &str, error: &StoreError) -> MailboxError {
    let (place, reason) = (place.to_owned(), error.to_string());
    match error {
        StoreError::Full { .. } => MailboxError::Full { place, reason },
        error if error.is_retryable() => MailboxError::Unreachable { place, reason },
        _ => MailboxError::Refused { place, reason },
    }
}

impl Mailboxes for PostgresMailboxes {
    fn place(&self) -> String {
        self.address.display_name().to_owned()
    }

    fn bind(&self, by: String, term: Duration) -> MailboxFuture<'_, BindingEpoch> {
        Box::pin(self.bind_place(by, term))
    }

    fn renew(&self, epoch: BindingEpoch, term: Duration) -> MailboxFuture<'_, ()> {
        Box::pin(self.renew_binding(epoch, term))
    }

    fn unbind(&self, epoch: BindingEpoch, final_status: Option<String>) -> MailboxFuture<'_, ()> {
        Box::pin(self.unbind_place(epoch, final_status))
    }

    fn binding(&self) -> MailboxFuture<'_, MailboxBinding> {
        Box::pin(self.read_binding())
    }

    fn send(&self, messages: Vec<MailboxMessage>) -> MailboxFuture<'_, ()> {
        Box::pin(self.put(messages))
    }

    fn receive(&self, mailbox: MailboxId, within: Duration) -> MailboxFuture<'_, Vec<Vec<u8>>> {
        Box::pin(self.take(mailbox, within))
    }
}
