//! How a worker reaches its leader: over HTTP, or through mailboxes.

use std::path::PathBuf;
use std::sync::Arc;

use windlass_core::id::Incarnation;
use windlass_link::http::{HttpObjects, HttpWorkerLink, report_own_end};
use windlass_link::mailbox::{
    MailboxAddress, MailboxKey, MailboxKeyText, MailboxNoticeConfig, MailboxReceiveLoop,
    MailboxRegistry, MailboxWorkerLink, Mailboxes,
};
use windlass_link::output::OutputLink;
use windlass_link::{DeathNoticeConfig, LinkError, WorkerLink};
use windlass_net::credentials::WorkerSecret;
use windlass_net::http::{ClientCredentials, ControllerAddress, HttpClient, dialer};
use windlass_net::shutdown::ShutdownSender;
use windlass_store::objects::ObjectStore;

#[cfg(feature = "postgres")]
use super::discovered_objects::DiscoveredObjects;
#[cfg(feature = "postgres")]
use super::discovery::DiscoveredLink;
use crate::cli::error::CliError;

/// Where to look for the leader.
#[derive(Clone, Debug)]
pub(crate) enum JoinTarget {
    /// Controllers over HTTP.
    Http {
        /// Their addresses.
        places: Vec<ControllerAddress>,
        /// The CA bundle.
        ca: Option<PathBuf>,
        /// The token.
        token: Option<String>,
    },
    /// Mailboxes.
    Mailbox {
        /// Their address.
        site: MailboxAddress,
        /// The key that authenticates messages.
        key: MailboxKey,
        /// The registry that opens them.
        links: MailboxRegistry,
    },
    /// The leader of a database's cluster, through mailboxes in it if it cannot be reached over HTTP.
    #[cfg(feature = "postgres")]
    Database {
        /// The options of HTTP connections.
        http: Box<JoinTarget>,
        /// The mailboxes in the database.
        mail: Box<JoinTarget>,
    },
}

/// A connection to the leader, for a registered worker or for requests without a worker.
#[derive(Debug)]
pub(super) enum JoinRoute {
    Http(Arc<HttpWorkerLink>),
    Mailbox {
        link: MailboxWorkerLink,
        mailboxes: Arc<dyn Mailboxes>,
        /// Ends its receive loop when dropped.
        _postman: ShutdownSender,
    },
    #[cfg(feature = "postgres")]
    Discovered(Arc<DiscoveredLink>),
}

impl JoinTarget {
    /// Opens the connection.
    pub(super) fn open(&self, worker: Option<WorkerSecret>) -> Result<JoinRoute, CliError> {
        match self {
            Self::Http { places, ca, token } => {
                let credentials = ClientCredentials { token: token.clone(), worker };
                let dial = dialer(ca.as_deref()).map_err(CliError::usage)?;
                let client = Arc::new(HttpClient::new(dial, credentials));
                Ok(JoinRoute::Http(Arc::new(HttpWorkerLink::new(client, places.clone()))))
            }
            Self::Mailbox { site, key, links } => {
                let mailboxes =
                    links.open(site).map_err(|error| CliError::usage(error.to_string()))?;
                let set_out = || -> std::io::Result<(MailboxWorkerLink, MailboxReceiveLoop)> {
                    let worker = worker.map_or_else(WorkerSecret::generate, Ok)?;
                    MailboxWorkerLink::new(Arc::clone(&mailboxes), key.clone(), &worker)
                };
                let no_chance = |error: std::io::Error| CliError::unreachable(error.to_string());
                let (link, receive_loop) = set_out().map_err(no_chance)?;
                let (sender, ends) = ShutdownSender::new();
                tokio::spawn(receive_loop.run(ends));
                Ok(JoinRoute::Mailbox { link, mailboxes, _postman: sender })
            }
            #[cfg(feature = "postgres")]
            Self::Database { http, mail } => {
                let Self::Mailbox { site, .. } = &**mail else {
                    unreachable!("mailbox targets are opened as mailboxes");
                };
                let by_mailbox = mail.open(worker.clone())?;
                let found = DiscoveredLink::new(&site.url, Self::clone(http), by_mailbox, worker);
                Ok(JoinRoute::Discovered(Arc::new(found)))
            }
        }
    }

    /// The settings by which the guard reports the death of the worker.
    pub(super) fn death_notice(
        &self,
        secret: &WorkerSecret,
        incarnation: Incarnation,
    ) -> DeathNoticeConfig {
        let (mut ways, mut ca, mut token, mut mail) = (Vec::new(), None, None, None);
        match self {
            Self::Http { places, ca: file, token: shown } => {
                ways = places.iter().map(ToString::to_string).collect();
                ca = file.as_ref().map(|file| file.to_string_lossy().into_owned());
                token.clone_from(shown);
            }
            Self::Mailbox { site, key, .. } => {
                mail = Some(MailboxNoticeConfig {
                    site: site.clone(),
                    key: MailboxKeyText(key.to_hex()),
                });
            }
            // Mailbox messages reach the current leader, wherever it is.
            #[cfg(feature = "postgres")]
            Self::Database { mail, .. } => return mail.death_notice(secret, incarnation),
        }
        let (worker, secret) = (secret.worker_id(), secret.to_hex());
        DeathNoticeConfig { ways, ca, token, secret, worker, incarnation, mail }
    }
}

impl JoinRoute {
    /// Fetches the id of the cluster.
    pub(super) async fn cluster(&self) -> Result<String, LinkError> {
        match self {
            Self::Http(link) => link.cluster().await.map(|cluster| cluster.id),
            Self::Mailbox { link, .. } => link.hello().await.map(|led| led.cluster),
            #[cfg(feature = "postgres")]
            Self::Discovered(found) => found.cluster().await,
        }
    }

    /// Looks up the leader, where a lookup is needed.
    pub(super) async fn discover(&self) {
        match self {
            Self::Http(_) | Self::Mailbox { .. } => {}
            #[cfg(feature = "postgres")]
            Self::Discovered(found) => found.find_leader().await,
        }
    }

    /// The leader's address, for messages.
    pub(super) fn place(&self) -> String {
        match self {
            Self::Http(link) => link.address().to_string(),
            Self::Mailbox { mailboxes, .. } => mailboxes.place(),
            #[cfg(feature = "postgres")]
            Self::Discovered(found) => found.place(),
        }
    }

    /// The mailbox link of a worker that has no other.
    pub(super) fn mailbox_link(&self) -> Option<MailboxWorkerLink> {
        let Self::Mailbox { link, .. } = self else { return None };
        Some(link.clone())
    }

    pub(super) fn link(&self) -> Arc<dyn WorkerLink> {
        match self {
            Self::Http(link) => Arc::clone(link) as Arc<dyn WorkerLink>,
            Self::Mailbox { link, .. } => Arc::new(link.clone()),
            #[cfg(feature = "postgres")]
            Self::Discovered(found) => Arc::clone(found) as Arc<dyn WorkerLink>,
        }
    }

    pub(super) fn ships(&self) -> Arc<dyn OutputLink> {
        match self {
            Self::Http(link) => Arc::clone(link) as Arc<dyn OutputLink>,
            Self::Mailbox { link, .. } => Arc::new(link.clone()),
            #[cfg(feature = "postgres")]
            Self::Discovered(found) => Arc::clone(found) as Arc<dyn OutputLink>,
        }
    }

    /// The files of steps, at the controllers; `None` if the worker reaches them only through a message broker.
    pub(super) fn objects(&self) -> Option<Arc<dyn ObjectStore>> {
        match self {
            Self::Http(link) => {
                Some(Arc::new(HttpObjects::new(link.client(), link.places().to_vec())))
            }
            Self::Mailbox { .. } => None,
            #[cfg(feature = "postgres")]
            Self::Discovered(found) => Some(Arc::new(DiscoveredObjects::new(Arc::clone(found)))),
        }
    }

    /// Deregisters the worker, in one attempt: a worker that has lost contact is given up after its lease duration.
    pub(super) async fn deregister(&self, worker: &WorkerSecret, incarnation: Incarnation) {
        match self {
            Self::Http(link) => report_own_end(link, worker.worker_id(), incarnation).await,
            Self::Mailbox { link, .. } => drop(link.ended(incarnation, Vec::new()).await),
            #[cfg(feature = "postgres")]
            Self::Discovered(found) => found.deregister(worker, incarnation).await,
        }
    }
}
