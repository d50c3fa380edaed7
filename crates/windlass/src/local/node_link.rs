//! The way of a node's own worker to whoever leads.
//!
//! Where several controllers share a store, each has a worker of its own, which is one like any other: its leases end by
//! time, and a guard ends its steps with them. What is different is the way: while its node leads it is asked directly, so
//! that no port, token or certificate stands between them; else the worker goes over HTTP to who leads, as its node knows
//! from the store. So when its node loses the lead with steps under way, they go on, and their outcomes are told to the next
//! leader with the credential that the worker got when it joined.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use windlass_core::access::Principal;
use windlass_core::engine::{Answer, Request};
use windlass_core::id::Incarnation;
use windlass_core::session::{Exchange, LeaseRef, Refusal, Register, Registered, Reply};

use crate::controller::{Handle, Intake, IntakeError, ResultPart};
use crate::link::http::{Client, HttpLink, say_goodbye};
use crate::link::output::{LogChunk, LogsTaken, Ships};
use crate::link::{Carried, Link, LinkError, WorkerSecret};
use crate::logs::{LogId, LogPart};

/// Bytes of output that are taken at once: they are in memory already.
const CREDIT: usize = 512 << 10;

/// The pause between two tries to say goodbye.
const PAUSE: Duration = Duration::from_millis(100);

/// A link to this node while it leads, and to who leads otherwise.
#[derive(Debug)]
pub struct NodeLink {
    handle: Handle,
    intake: Intake,
    client: Arc<Client>,
    secret: WorkerSecret,
}

/// Who is to be told.
enum Way {
    Here,
    There(HttpLink),
}

impl NodeLink {
    /// The link of the worker that has this secret, and that a client speaks for. What it prints is taken in here while
    /// the node leads.
    pub const fn new(
        handle: Handle,
        intake: Intake,
        client: Arc<Client>,
        secret: WorkerSecret,
    ) -> Self {
        Self { handle, intake, client, secret }
    }

    fn way(&self) -> Result<Way, LinkError> {
        let (leads, leader) = self.handle.views().look(|view| (view.leads(), view.led_by.clone()));
        if leads {
            return Ok(Way::Here);
        }
        let leader = leader.ok_or_else(|| LinkError::NotLeader("this node".to_owned()))?;
        let place = leader.address.and_then(|address| address.parse().ok());
        let place = place.ok_or_else(|| LinkError::Unreachable {
            place: leader.node,
            reason: "it leads and does not say where it is reached".to_owned(),
        })?;
        Ok(Way::There(HttpLink::new(Arc::clone(&self.client), vec![place])))
    }

    /// The worker's own last word: nothing of its life is left, and every outcome has its verdict. While there is no leader
    /// it is tried again; a worker that is not heard is given up after a TTL.
    pub async fn say_goodbye(&self, incarnation: Incarnation) {
        let worker = self.secret.worker_id();
        loop {
            match self.way() {
                Ok(Way::Here) => {
                    let ended = Request::GuardEnded { worker, incarnation, started: Vec::new() };
                    if self.handle.ask(ended).await.is_ok() {
                        return;
                    }
                }
                Ok(Way::There(link)) => return say_goodbye(&link, worker, incarnation).await,
                Err(_) => {}
            }
            sleep(PAUSE).await;
        }
    }

    async fn join_here(
        &self,
        register: Register,
    ) -> Result<Result<Registered, Refusal>, LinkError> {
        let join = Request::Join { register, digest: self.secret.digest() };
        match self.handle.ask(join.by(Principal::Local)).await? {
            Answer::Registered(told) => Ok(Ok(told)),
            Answer::Refused(refusal) => Ok(Err(refusal)),
            other => unreachable!("a registration is accepted or refused, not {other:?}"),
        }
    }
}

impl Link for NodeLink {
    fn register(&self, register: Register) -> Carried<'_, Result<Registered, Refusal>> {
        Box::pin(async move {
            match self.way()? {
                Way::Here => self.join_here(register).await,
                Way::There(link) => match link.register(register).await {
                    // It lets in who shows a token, and this node has none for it: the worker joins when its node leads.
                    Err(LinkError::Denied { place, .. }) => Err(LinkError::NotLeader(place)),
                    joined => joined,
                },
            }
        })
    }

    fn exchange(&self, exchange: Exchange) -> Carried<'_, Reply> {
        Box::pin(async move {
            match self.way()? {
                Way::Here => Ok(self.handle.exchange(exchange).await?),
                Way::There(link) => link.exchange(exchange).await,
            }
        })
    }

    fn cancel_run(&self, lease: LeaseRef) -> Carried<'_, ()> {
        Box::pin(async move {
            match self.way()? {
                Way::Here => {
                    Ok(self.handle.cancel_by_step(Some(self.secret.worker_id()), lease).await?)
                }
                Way::There(link) => link.cancel_run(lease).await,
            }
        })
    }
}

/// A refusal is final; a store that failed is asked again.
fn not_fetched(error: &IntakeError) -> LinkError {
    let (place, reason) = ("this node".to_owned(), error.to_string());
    match error {
        IntakeError::ResultNotRead(_) => LinkError::Denied { place, reason },
        _ => LinkError::Unreachable { place, reason },
    }
}

impl Ships for NodeLink {
    fn ship(&self, pieces: Vec<LogChunk>) -> Carried<'_, LogsTaken> {
        Box::pin(async move {
            match self.way()? {
                Way::Here => match self.intake.take(self.secret.worker_id(), pieces).await {
                    Ok(sizes) => Ok(LogsTaken { sizes, credit: CREDIT }),
                    Err(error) => Err(LinkError::Unreachable {
                        place: "this node".to_owned(),
                        reason: error.to_string(),
                    }),
                },
                Way::There(link) => link.ship(pieces).await,
            }
        })
    }

    fn fetch(&self, value: LogId, from: u64) -> Carried<'_, LogPart> {
        Box::pin(async move {
            match self.way()? {
                Way::Here => {
                    let asked = ResultPart { value, from, most: CREDIT as u64 };
                    let part = self.intake.value(self.secret.worker_id(), asked).await;
                    part.map_err(|error| not_fetched(&error))
                }
                Way::There(link) => link.fetch(value, from).await,
            }
        })
    }
}
