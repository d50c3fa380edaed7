//! The death notice over HTTP: reports the end of a worker's incarnation, sent by the worker or, after its death, by
//! its guard.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use windlass_core::id::{Fence, Incarnation, WorkerId};
use windlass_net::credentials::WorkerSecret;
use windlass_net::http::{
    ClientCredentials, ControllerAddress, HttpCallError, HttpClient, TcpDialer, dialer,
};
#[cfg(feature = "postgres")]
use windlass_store::journal::PostgresJournal;

use super::wire::DeathNoticeBody;
use super::worker_link::HttpWorkerLink;
use crate::DeathNoticeConfig;

/// How long sending is retried: by then the leases have expired.
const SEND_FOR_MAX: Duration = Duration::from_mins(1);

/// Timeout of one try.
const WITHIN: Duration = Duration::from_secs(5);

/// The pause between two rounds of tries.
const PAUSE: Duration = Duration::from_millis(200);

/// Tells the leader that nothing of a worker's incarnation is left. Returns when a leader has received the notice, or
/// when it is too late to matter.
pub fn send_death_notice(notice: &DeathNoticeConfig, started: &[Fence]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    // Without a runtime no notice is sent, and the leases expire.
    let Ok(runtime) = runtime else { return };
    runtime.block_on(async {
        drop(tokio::time::timeout(SEND_FOR_MAX, report(notice, started)).await);
    });
}

/// Sends a worker's own final report: nothing of its incarnation is left, and every outcome has its verdict. It is
/// tried once: without it, the leases expire.
pub async fn report_own_end(link: &HttpWorkerLink, worker: WorkerId, incarnation: Incarnation) {
    let report = DeathNoticeBody { incarnation, started: Vec::new() };
    let path = format!("/workers/{}/ended", worker.0);
    drop(link.client().post(&link.address(), &path, &report, WITHIN).await);
}

async fn report(notice: &DeathNoticeConfig, started: &[Fence]) {
    let worker = WorkerSecret::parse(&notice.secret).ok();
    // If the CA bundle is gone, use the public root certificates.
    let dial = dialer(notice.ca.as_deref().map(Path::new)).or_else(|_| dialer(None));
    let dial = dial.unwrap_or_else(|_| Arc::new(TcpDialer));
    let client = HttpClient::new(dial, ClientCredentials { token: notice.token.clone(), worker });
    let report = DeathNoticeBody { incarnation: notice.incarnation, started: started.to_vec() };
    let path = format!("/workers/{}/ended", notice.worker.0);
    let ways: Vec<ControllerAddress> =
        notice.ways.iter().filter_map(|way| way.parse().ok()).collect();
    loop {
        let mut next: Vec<ControllerAddress> = ways.iter().rev().cloned().collect();
        next.extend(leader_from_store(&notice.ways).await);
        while let Some(way) = next.pop() {
            match client.post(&way, &path, &report, WITHIN).await {
                // Any answer of the leader shows that it has received the notice.
                Ok(_) | Err(HttpCallError::Refused(_)) => return,
                // A redirect is followed once per round.
                Err(HttpCallError::NotLeader { leader: Some(leader), .. })
                    if ways.contains(&way) =>
                {
                    let leader = leader.parse().ok().filter(|it| client.may_redirect(&ways, it));
                    next.extend(leader.filter(|it| !ways.contains(it)));
                }
                Err(HttpCallError::Unreachable { .. } | HttpCallError::NotLeader { .. }) => {}
            }
        }
        sleep(PAUSE).await;
    }
}

/// Returns the leader's address from the database, if one was configured.
#[cfg(feature = "postgres")]
async fn leader_from_store(ways: &[String]) -> Option<ControllerAddress> {
    let database = ways.iter().find(|way| way.starts_with("postgres"))?;
    let leader = PostgresJournal::leader_at(database).await.ok()??;
    leader.address?.parse().ok()
}

#[cfg(not(feature = "postgres"))]
#[expect(clippy::unused_async, reason = "the PostgreSQL variant awaits")]
async fn leader_from_store(_ways: &[String]) -> Option<ControllerAddress> {
    None
}
