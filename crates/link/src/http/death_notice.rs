//! The end of a worker's life, told by itself or, after its death, by its guard.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use windlass_core::id::{Fence, Incarnation, WorkerId};
use windlass_net::credentials::WorkerSecret;
#[cfg(feature = "postgres")]
use windlass_store::journal::PostgresJournal;

use windlass_net::http::{ClientCredentials, HttpCallError, HttpClient};
use windlass_net::http::ControllerAddress;
use windlass_net::http::{TcpDialer, dialer};
use super::wire::DeathNoticeBody;
use super::worker_link::HttpWorkerLink;
use crate::DeathNoticeConfig;

/// How long a report is tried for: by then the leases have ended by themselves.
const SEND_FOR_MAX: Duration = Duration::from_mins(1);

/// How long one try may take.
const WITHIN: Duration = Duration::from_secs(5);

/// The pause between two rounds of tries.
const PAUSE: Duration = Duration::from_millis(200);

/// Tells the leader that a worker's life is over and nothing of it is left. Returns when a leader has heard it, or when
/// it is too late to matter.
pub fn send_death_notice(will: &DeathNoticeConfig, started: &[Fence]) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    // Without a runtime nobody is told, and the leases end by time.
    let Ok(runtime) = runtime else { return };
    runtime.block_on(async {
        drop(tokio::time::timeout(SEND_FOR_MAX, report(will, started)).await);
    });
}

/// A worker's own last word: nothing of its life is left, and every outcome has its verdict. Tried once: who is not heard
/// is missed after a TTL.
pub async fn report_own_end(link: &HttpWorkerLink, worker: WorkerId, incarnation: Incarnation) {
    let report = DeathNoticeBody { incarnation, started: Vec::new() };
    let path = format!("/workers/{}/ended", worker.0);
    drop(link.client().post(&link.place(), &path, &report, WITHIN).await);
}

async fn report(will: &DeathNoticeConfig, started: &[Fence]) {
    let worker = WorkerSecret::parse(&will.secret).ok();
    // A file that is gone leaves those whom browsers believe.
    let dial = dialer(will.ca.as_deref().map(Path::new)).or_else(|_| dialer(None));
    let dial = dial.unwrap_or_else(|_| Arc::new(TcpDialer));
    let client = HttpClient::new(dial, ClientCredentials { token: will.token.clone(), worker });
    let report = DeathNoticeBody { incarnation: will.incarnation, started: started.to_vec() };
    let path = format!("/workers/{}/ended", will.worker.0);
    let ways: Vec<ControllerAddress> =
        will.ways.iter().filter_map(|way| way.parse().ok()).collect();
    loop {
        let mut next: Vec<ControllerAddress> = ways.iter().rev().cloned().collect();
        next.extend(leader_from_store(&will.ways).await);
        while let Some(way) = next.pop() {
            match client.post(&way, &path, &report, WITHIN).await {
                // Whatever the leader makes of it, it has heard it.
                Ok(_) | Err(HttpCallError::Refused(_)) => return,
                // Who is no leader is believed once in a round.
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

/// Where who leads is, as the database says that was left as a way.
#[cfg(feature = "postgres")]
async fn leader_from_store(ways: &[String]) -> Option<ControllerAddress> {
    let database = ways.iter().find(|way| way.starts_with("postgres"))?;
    let leader = PostgresJournal::leader_at(database).await.ok()??;
    leader.address?.parse().ok()
}

#[cfg(not(feature = "postgres"))]
#[expect(clippy::unused_async, reason = "it asks where there is somebody to ask")]
async fn leader_from_store(_ways: &[String]) -> Option<ControllerAddress> {
    None
}
