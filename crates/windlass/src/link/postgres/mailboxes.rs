//! Mailboxes in PostgreSQL.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OnceCell};
use tokio::time::{Instant, timeout_at};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::hint::Hint;
use super::statement;
use crate::link::post::{
    Epoch, LETTER_MAX, Letter, MailError, Mailbox, Mailboxes, Mailed, RECEIVED_MAX, Site, Standing,
    WAITING_BYTES_MAX, WAITING_MAX,
};
use crate::store::StoreError;
use crate::store::postgres::address::Address;
use crate::store::postgres::line::{Line, Parameter};
use crate::store::postgres::schema::{self, Tables};

const TABLES: Tables =
    Tables { store: "mail", migrations: &[include_str!("migrations/0001_mail.sql")] };

/// How long a call may take.
const WITHIN: Duration = Duration::from_secs(5);

/// How often who waits looks, at first and at last. A notification has it look at once.
const LOOKS_FIRST: Duration = Duration::from_millis(10);
const LOOKS_LAST: Duration = Duration::from_millis(250);

/// Bindings are kept every second or two: letters that nobody reads go a few minutes after their time.
const SWEEPS_EVERY: u64 = 128;

/// A value that goes with a statement, and its type.
type Owned = (Box<dyn ToSql + Sync + Send>, Type);

/// Mailboxes in PostgreSQL. It is connected to when it is used, and again when that is lost.
#[derive(Debug)]
pub struct PostgresMailboxes {
    address: Address,
    run: String,
    calls: Line,
    /// Apart from other calls, as it is used all the time.
    pops: Line,
    prepared: OnceCell<()>,
    /// How often a binding was kept here.
    kept: AtomicU64,
    hint: Mutex<Option<Hint>>,
}

/// Opens the mailboxes of a site at `postgres://…`.
pub fn open(site: &Site) -> Result<Arc<dyn Mailboxes>, MailError> {
    let address = Address::parse(&site.url).map_err(|error| told("postgres:", &error))?;
    let line = || Line::new(address.clone(), WITHIN);
    let (calls, pops, run) = (line(), line(), site.run.clone());
    let (prepared, kept, hint) = (OnceCell::new(), AtomicU64::default(), Mutex::default());
    Ok(Arc::new(PostgresMailboxes { address, run, calls, pops, prepared, kept, hint }))
}

impl PostgresMailboxes {
    /// Has a statement done whose first parameter is whose mailboxes these are.
    async fn ask(
        &self,
        line: &Line,
        statement: &'static str,
        parameters: Vec<Owned>,
    ) -> Result<Vec<Row>, MailError> {
        self.prepare().await?;
        let run: Owned = (Box::new(self.run.clone()), Type::TEXT);
        let all: Vec<Owned> = std::iter::once(run).chain(parameters).collect();
        let asked = line.call(|client| {
            Box::pin(async move {
                let all: Vec<Parameter<'_>> = all.iter().map(lent).collect();
                client.query_typed(statement, &all).await
            })
        });
        asked.await.map_err(|error| told(self.address.shown(), &error))
    }

    async fn prepare(&self) -> Result<(), MailError> {
        let prepare = || schema::prepare(&self.calls, TABLES, self.address.shown());
        let prepared = self.prepared.get_or_try_init(prepare).await;
        prepared.copied().map_err(|error| told(self.address.shown(), &error))
    }

    async fn bind_it(&self, by: String, term: Duration) -> Result<Epoch, MailError> {
        let parameters = vec![text(by), millis(term)];
        let bound = self.ask(&self.calls, statement::BIND, parameters).await?;
        if let Some(row) = bound.first() {
            self.sweep().await;
            return Ok(epoch_of(row));
        }
        let Standing { by, epitaph, .. } = self.standing().await?;
        match (epitaph, by) {
            (Some(epitaph), _) => Err(MailError::Over { epitaph }),
            (None, Some(by)) => Err(MailError::AlreadyLed { by }),
            // It was given up in the moment between.
            (None, None) => Err(MailError::AlreadyLed { by: "somebody".to_owned() }),
        }
    }

    /// Lets go what nobody will read any more. What is not swept now is swept by the next.
    async fn sweep(&self) {
        let swept = self.calls.call(|client| Box::pin(client.batch_execute(statement::SWEEP)));
        drop(swept.await);
    }

    async fn keep_it(&self, epoch: Epoch, term: Duration) -> Result<(), MailError> {
        let parameters = vec![number(epoch.0.cast_signed()), millis(term)];
        if !self.ask(&self.calls, statement::KEEP, parameters).await?.is_empty() {
            if self.kept.fetch_add(1, Ordering::Relaxed) % SWEEPS_EVERY == SWEEPS_EVERY - 1 {
                self.sweep().await;
            }
            return Ok(());
        }
        let now = self.standing().await?.epoch;
        if now >= epoch {
            return Err(MailError::Deposed { now });
        }
        let reason = "it does not know who led: it was emptied, or an older state was restored";
        Err(MailError::Gone { place: self.place(), reason: reason.to_owned() })
    }

    async fn unbind_it(&self, epoch: Epoch, epitaph: Option<String>) -> Result<(), MailError> {
        let parameters = vec![number(epoch.0.cast_signed()), text(epitaph)];
        self.ask(&self.calls, statement::UNBIND, parameters).await.map(drop)
    }

    async fn standing(&self) -> Result<Standing, MailError> {
        let rows = self.ask(&self.calls, statement::LOOK, Vec::new()).await?;
        let standing = |row: &Row| Standing {
            epoch: epoch_of(row),
            by: row.get("by"),
            epitaph: row.get("epitaph"),
        };
        Ok(rows.first().map(standing).unwrap_or_default())
    }

    async fn put(&self, letters: Vec<Letter>) -> Result<(), MailError> {
        if let Some(letter) = letters.iter().find(|letter| letter.bytes.len() > LETTER_MAX) {
            return Err(MailError::TooLarge { bytes: letter.bytes.len() });
        }
        let many = letters.len();
        let boxes: Vec<i64> = letters.iter().map(|letter| letter.to.0.cast_signed()).collect();
        let bodies: Vec<Vec<u8>> = letters.into_iter().map(|letter| letter.bytes).collect();
        let parameters: Vec<Owned> = vec![
            (Box::new(boxes), Type::INT8_ARRAY),
            (Box::new(bodies), Type::BYTEA_ARRAY),
            number(bound(WAITING_MAX)),
            number(bound(WAITING_BYTES_MAX)),
        ];
        let rows = self.ask(&self.calls, statement::SEND, parameters).await?;
        let put = rows.first().map_or(0, |row| row.get::<_, i64>(0));
        if usize::try_from(put).unwrap_or(0) < many {
            let reason = "nobody reads one of the mailboxes".to_owned();
            return Err(MailError::Full { place: self.place(), reason });
        }
        Ok(())
    }

    async fn take(&self, mailbox: Mailbox, within: Duration) -> Result<Vec<Vec<u8>>, MailError> {
        let (late, news) = (Instant::now() + within, self.news(mailbox));
        let parameters = || vec![number(mailbox.0.cast_signed()), number(bound(RECEIVED_MAX))];
        let mut pause = LOOKS_FIRST;
        loop {
            let rows = self.ask(&self.pops, statement::RECEIVE, parameters()).await?;
            if !rows.is_empty() || Instant::now() >= late {
                return Ok(rows.iter().map(|row| row.get(0)).collect());
            }
            drop(timeout_at(late.min(Instant::now() + pause), news.notified()).await);
            pause = (pause * 2).min(LOOKS_LAST);
        }
    }

    /// What tells of letters to a mailbox; whoever receives has one.
    fn news(&self, mailbox: Mailbox) -> Arc<Notify> {
        let mut hint = self.hint.lock().unwrap_or_else(PoisonError::into_inner);
        if hint.as_ref().is_none_or(|hint| hint.mailbox() != mailbox) {
            *hint = Some(Hint::of(&self.address, mailbox));
        }
        hint.as_ref().map(Hint::news).expect("it was set")
    }
}

fn epoch_of(row: &Row) -> Epoch {
    Epoch(row.get::<_, i64>("epoch").cast_unsigned())
}

fn lent((value, kind): &Owned) -> Parameter<'_> {
    (&**value, kind.clone())
}

fn text(text: impl ToSql + Sync + Send + 'static) -> Owned {
    (Box::new(text), Type::TEXT)
}

fn number(number: i64) -> Owned {
    (Box::new(number), Type::INT8)
}

fn millis(term: Duration) -> Owned {
    (Box::new(term.as_secs_f64() * 1_000.0), Type::FLOAT8)
}

fn bound(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}

/// What a failure of the database means for a link.
fn told(place: &str, error: &StoreError) -> MailError {
    let (place, reason) = (place.to_owned(), error.to_string());
    match error {
        StoreError::Full { .. } => MailError::Full { place, reason },
        error if error.is_retryable() => MailError::Unreachable { place, reason },
        _ => MailError::Refused { place, reason },
    }
}

impl Mailboxes for PostgresMailboxes {
    fn place(&self) -> String {
        self.address.shown().to_owned()
    }

    fn bind(&self, by: String, term: Duration) -> Mailed<'_, Epoch> {
        Box::pin(self.bind_it(by, term))
    }

    fn keep(&self, epoch: Epoch, term: Duration) -> Mailed<'_, ()> {
        Box::pin(self.keep_it(epoch, term))
    }

    fn unbind(&self, epoch: Epoch, epitaph: Option<String>) -> Mailed<'_, ()> {
        Box::pin(self.unbind_it(epoch, epitaph))
    }

    fn look(&self) -> Mailed<'_, Standing> {
        Box::pin(self.standing())
    }

    fn send(&self, letters: Vec<Letter>) -> Mailed<'_, ()> {
        Box::pin(self.put(letters))
    }

    fn receive(&self, mailbox: Mailbox, within: Duration) -> Mailed<'_, Vec<Vec<u8>>> {
        Box::pin(self.take(mailbox, within))
    }
}
