//! Elections: terms, campaigns and their observation.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error, Row};
use windlass_core::engine::StoreHistory;
use windlass_core::id::Term;
use windlass_core::leader::{TermObserver, TermRecord};
use windlass_core::time::{Span, Time};

use super::leader_row::{NO_TERM, PostgresLeaderRow, leader, read_leader_row};
use super::statement;
use crate::db::StoreError;
use crate::db::postgres::connection::{PgConnection, PgParameter, PgWork};
use crate::db::sql_number::to_sql;
use crate::journal::{
    CampaignOutcome, CurrentLeader, JournalLeadership, LeaderCandidate, Position,
};

/// Time between two looks of a waiting candidate.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Terms, on a connection of their own.
#[derive(Debug)]
pub(super) struct PostgresElection {
    pub(super) line: PgConnection,
    lasts: Span,
    /// The term that this process won last. If no other process has won one since, no acknowledged event is missing: this
    /// process knows them all, and ends if it finds fewer.
    held: AtomicU64,
    /// The observation of the newest term, on a monotonic clock that starts at `began`.
    candidacy: Mutex<TermObserver>,
    began: Instant,
}

/// The result of one attempt to win the term.
enum CampaignAttempt {
    Won(JournalLeadership),
    Lost(PostgresLeaderRow),
}

impl PostgresElection {
    pub(super) fn new(line: PgConnection, lasts: Span) -> Self {
        let (held, candidacy) = (AtomicU64::new(0), Mutex::default());
        Self { line, lasts, held, candidacy, began: Instant::now() }
    }

    pub(super) async fn campaign(
        &self,
        candidate: LeaderCandidate,
    ) -> Result<CampaignOutcome, StoreError> {
        Ok(match self.try_campaign(candidate).await? {
            CampaignAttempt::Won(won) => CampaignOutcome::Won(won),
            CampaignAttempt::Lost(looked) => looked.led_by(),
        })
    }

    /// Waits while the clock of the database says that the term has expired. This is true unless that clock was set, which
    /// shows within a term.
    pub(super) async fn campaign_patiently(
        &self,
        candidate: LeaderCandidate,
    ) -> Result<CampaignOutcome, StoreError> {
        loop {
            match self.try_campaign(candidate.clone()).await? {
                CampaignAttempt::Won(won) => return Ok(CampaignOutcome::Won(won)),
                CampaignAttempt::Lost(looked) if looked.lasts => return Ok(looked.led_by()),
                CampaignAttempt::Lost(_) => sleep(POLL_INTERVAL).await,
            }
        }
    }

    async fn try_campaign(
        &self,
        candidate: LeaderCandidate,
    ) -> Result<CampaignAttempt, StoreError> {
        let looked = self.line.call(|client| Box::pin(read_leader_row(client))).await?;
        let held = Term(self.held.load(Ordering::Relaxed));
        let over = match looked {
            None => NO_TERM,
            Some(looked) => match self.expired_mark(&looked, held) {
                Some(over) => over,
                None => return Ok(CampaignAttempt::Lost(looked)),
            },
        };
        let lasts = self.lasts;
        let came = self.line.call(move |client| campaign(client, candidate, lasts, (held, over)));
        Ok(match came.await? {
            CampaignAttempt::Won(won) => {
                self.held.store(won.term.0, Ordering::Relaxed);
                CampaignAttempt::Won(JournalLeadership { since_led: self.last_seen_lease(), ..won })
            }
            CampaignAttempt::Lost(looked) => {
                self.observed().observe(looked.mark, self.now());
                CampaignAttempt::Lost(looked)
            }
        })
    }

    /// Returns the mark to name in the campaign, if the observed term has expired. A term of this process has expired once
    /// it campaigns again and the row does not last: it no longer trusts that term.
    fn expired_mark(&self, looked: &PostgresLeaderRow, held: Term) -> Option<TermRecord> {
        let mut candidacy = self.observed();
        candidacy.observe(looked.mark, self.now());
        let own = looked.mark.term == held && !looked.lasts;
        if own { Some(looked.mark) } else { candidacy.expired_term(self.now()) }
    }

    /// Returns an earlier term that was valid when it was last seen, and the time since then.
    fn last_seen_lease(&self) -> Option<(Term, Span)> {
        let led = self.observed().last_led();
        led.map(|(term, at)| (term, self.now().since(at)))
    }

    fn observed(&self) -> MutexGuard<'_, TermObserver> {
        self.candidacy.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Time {
        let elapsed = self.began.elapsed().as_millis();
        Time::from_millis(u64::try_from(elapsed).unwrap_or(u64::MAX))
    }

    pub(super) async fn leader(&self) -> Result<Option<CurrentLeader>, StoreError> {
        self.line.call(|client| Box::pin(leader(client))).await
    }

    pub(super) async fn renew(&self, term: Term) -> Result<(), StoreError> {
        let lasts = millis(self.lasts);
        let renewed = self.line.call(move |client| {
            Box::pin(async move {
                let held = to_sql(term.0);
                let parameters: [PgParameter<'_>; 2] =
                    [(&held, Type::INT8), (&lasts, Type::FLOAT8)];
                let kept = client.query_typed(statement::RENEW, &parameters).await?;
                if kept.is_empty() { current_term(client).await.map(Some) } else { Ok(None) }
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

/// Takes the term and reads the head in one transaction. The first statement locks the row, so every append under an
/// earlier term has ended, and the second statement sees its events. Candidates look at the row before: a failed campaign
/// locks it too, and delays the leader.
fn campaign(
    client: &Client,
    candidate: LeaderCandidate,
    lasts: Span,
    (held, over): (Term, TermRecord),
) -> PgWork<'_, CampaignAttempt> {
    Box::pin(async move {
        client.batch_execute(statement::BEGIN).await?;
        let lasts_ms = millis(lasts);
        let LeaderCandidate { node, address } = &candidate;
        let (term, beat) = (to_sql(over.term.0), to_sql(over.revision));
        let parameters: [PgParameter<'_>; 5] = [
            (node, Type::TEXT),
            (address, Type::TEXT),
            (&lasts_ms, Type::FLOAT8),
            (&term, Type::INT8),
            (&beat, Type::INT8),
        ];
        let won = client.query_typed(statement::CAMPAIGN, &parameters).await?;
        let Some(won) = won.first() else {
            client.batch_execute("ROLLBACK").await?;
            return Ok(CampaignAttempt::Lost(
                read_leader_row(client).await?.unwrap_or_else(PostgresLeaderRow::nothing),
            ));
        };
        let newest = head(client).await?;
        client.batch_execute("COMMIT").await?;
        Ok(CampaignAttempt::Won(JournalLeadership {
            term: Term(won.get::<_, i64>("term").cast_unsigned()),
            head: newest,
            now: Time::from_millis(won.get::<_, i64>("now").cast_unsigned()),
            generation: u16::try_from(won.get::<_, i32>("generation")).unwrap_or(u16::MAX),
            history: history(won, held),
            since_head: Span::ZERO,
            since_led: None,
            lasts: Some(lasts),
        }))
    })
}

/// Returns what the row says about the history to a candidate that held this term last.
fn history(won: &Row, held: Term) -> StoreHistory {
    let previous = Term(won.get::<_, i64>("previous").cast_unsigned());
    match won.get("history") {
        "unbroken" => StoreHistory::Unbroken,
        "unproven" if held == previous && held != Term(0) => StoreHistory::Unbroken,
        "unproven" => StoreHistory::Unproven,
        _ => StoreHistory::Lost,
    }
}

/// Returns the newest term.
pub(super) async fn current_term(client: &Client) -> Result<Term, Error> {
    Ok(leading(client).await?.0)
}

/// Returns the newest term, and whether its leader may still write.
pub(super) async fn leading(client: &Client) -> Result<(Term, bool), Error> {
    let rows = client.query_typed(statement::TERM, &[]).await?;
    let read = |row: &Row| (Term(row.get::<_, i64>("term").cast_unsigned()), row.get("lasts"));
    Ok(rows.first().map_or((Term(0), false), read))
}

/// Returns the position of the last event.
pub(super) async fn head(client: &Client) -> Result<Position, Error> {
    let rows = client.query_typed(statement::HEAD, &[]).await?;
    Ok(rows.first().map_or(Position(0), |row| Position(row.get::<_, i64>(0).cast_unsigned())))
}

/// Returns milliseconds as a fraction, by which an interval is multiplied.
#[expect(clippy::cast_precision_loss, reason = "terms are seconds long")]
fn millis(span: Span) -> f64 {
    span.as_millis() as f64
}
