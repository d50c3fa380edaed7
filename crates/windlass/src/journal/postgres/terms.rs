//! Who leads.

use std::sync::atomic::{AtomicU64, Ordering};

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error, Row};
use windlass_core::engine::StoreHistory;
use windlass_core::id::Term;
use windlass_core::time::{Span, Time};

use super::statement;
use crate::journal::{Campaign, Candidate, Leadership, Leading, Position};
use crate::store::StoreError;
use crate::store::number::to_sql;
use crate::store::postgres::line::{Line, Parameter, Work};

/// Terms, on a connection of their own.
#[derive(Debug)]
pub(super) struct Terms {
    pub(super) line: Line,
    pub(super) lasts: Span,
    /// The term that this process won last. If no other process has won one since, nothing is missing that was acknowledged
    /// under it: this process knows all of that, and ends if it finds less.
    pub(super) held: AtomicU64,
}

impl Terms {
    pub(super) async fn campaign(&self, candidate: Candidate) -> Result<Campaign, StoreError> {
        let (lasts, held) = (self.lasts, Term(self.held.load(Ordering::Relaxed)));
        let came = self.line.call(move |client| campaign(client, candidate, lasts, held)).await?;
        if let Campaign::Won(won) = &came {
            self.held.store(won.term.0, Ordering::Relaxed);
        }
        Ok(came)
    }

    pub(super) async fn leader(&self) -> Result<Option<Leading>, StoreError> {
        self.line.call(|client| Box::pin(leader(client))).await
    }

    pub(super) async fn renew(&self, term: Term) -> Result<(), StoreError> {
        let lasts = millis(self.lasts);
        let renewed = self.line.call(move |client| {
            Box::pin(async move {
                let held = to_sql(term.0);
                let asked: [Parameter<'_>; 2] = [(&held, Type::INT8), (&lasts, Type::FLOAT8)];
                let kept = client.query_typed(statement::RENEW, &asked).await?;
                if kept.is_empty() { current(client).await.map(Some) } else { Ok(None) }
            })
        });
        match renewed.await? {
            None => Ok(()),
            Some(current) => Err(StoreError::Stale { term, current }),
        }
    }

    pub(super) async fn resign(&self, term: Term) -> Result<(), StoreError> {
        let resigned = self.line.call(move |client| {
            Box::pin(async move {
                client.query_typed(statement::RESIGN, &[(&to_sql(term.0), Type::INT8)]).await
            })
        });
        resigned.await.map(drop)
    }
}

/// Takes the term and reads the head in one transaction. The row is locked by the first statement, so every append under
/// an earlier term has ended, and the second sees what it wrote. It is looked at before: who asks for a term locks the row
/// also if it does not get it, and holds up who leads.
fn campaign(client: &Client, candidate: Candidate, lasts: Span, last: Term) -> Work<'_, Campaign> {
    Box::pin(async move {
        if let Some(Leading { node, address }) = leader(client).await? {
            return Ok(Campaign::LedBy { node, pid: None, address });
        }
        client.batch_execute(statement::BEGIN).await?;
        let lasts_ms = millis(lasts);
        let Candidate { node, address } = &candidate;
        let asked: [Parameter<'_>; 3] =
            [(node, Type::TEXT), (address, Type::TEXT), (&lasts_ms, Type::FLOAT8)];
        let won = client.query_typed(statement::CAMPAIGN, &asked).await?;
        let Some(won) = won.first() else {
            client.batch_execute("ROLLBACK").await?;
            let led = client.query_typed(statement::LEADER, &[]).await?;
            return Ok(led_by(led.first()));
        };
        let head = head(client).await?;
        client.batch_execute("COMMIT").await?;
        Ok(Campaign::Won(Leadership {
            term: Term(won.get::<_, i64>("term").cast_unsigned()),
            head,
            now: Time::from_millis(won.get::<_, i64>("now").cast_unsigned()),
            generation: u16::try_from(won.get::<_, i32>("generation")).unwrap_or(u16::MAX),
            history: history(won, last),
            since_head: Span::ZERO,
            since_led: None,
            lasts: Some(lasts),
        }))
    })
}

/// What the row says of the history to a candidate that held this term last.
fn history(won: &Row, held: Term) -> StoreHistory {
    let previous = Term(won.get::<_, i64>("previous").cast_unsigned());
    match won.get("history") {
        "unbroken" => StoreHistory::Unbroken,
        "unproven" if held == previous && held != Term(0) => StoreHistory::Unbroken,
        "unproven" => StoreHistory::Unproven,
        _ => StoreHistory::Lost,
    }
}

/// Who leads, if somebody does.
async fn leader(client: &Client) -> Result<Option<Leading>, Error> {
    let rows = client.query_typed(statement::LEADER, &[]).await?;
    let led = rows.first().filter(|row| row.get("lasts"));
    Ok(led.map(|row| Leading { node: row.get("node"), address: row.get("address") }))
}

fn led_by(row: Option<&Row>) -> Campaign {
    // The row is never deleted: who lost to it finds it.
    let node = row.map_or_else(String::new, |row| row.get("node"));
    let address = row.and_then(|row| row.get("address"));
    Campaign::LedBy { node, pid: None, address }
}

/// The newest term.
pub(super) async fn current(client: &Client) -> Result<Term, Error> {
    Ok(leading(client).await?.0)
}

/// The newest term, and whether it lasts: its leader may write as long as it does.
pub(super) async fn leading(client: &Client) -> Result<(Term, bool), Error> {
    let rows = client.query_typed(statement::TERM, &[]).await?;
    let read = |row: &Row| (Term(row.get::<_, i64>("term").cast_unsigned()), row.get("lasts"));
    Ok(rows.first().map_or((Term(0), false), read))
}

/// The position of the last event.
pub(super) async fn head(client: &Client) -> Result<Position, Error> {
    let rows = client.query_typed(statement::HEAD, &[]).await?;
    Ok(rows.first().map_or(Position(0), |row| Position(row.get::<_, i64>(0).cast_unsigned())))
}

/// Intervals are multiplied by fractions.
#[expect(clippy::cast_precision_loss, reason = "terms are seconds long")]
fn millis(span: Span) -> f64 {
    span.as_millis() as f64
}
