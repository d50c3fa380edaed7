//! How a worker comes to its leader: over HTTP, or by letters.

use std::path::PathBuf;
use std::sync::Arc;

use windlass_core::id::Incarnation;

#[cfg(feature = "postgres")]
use super::discovery::DiscoveredLink;
use crate::cli::error::CliError;
use crate::link::http::{
    ClientCredentials, ControllerAddress, HttpClient, HttpWorkerLink, dialer, report_own_end,
};
use crate::link::mailbox::{
    MailboxAddress, MailboxKey, MailboxKeyText, MailboxNoticeConfig, MailboxReceiveLoop,
    MailboxRegistry, MailboxWorkerLink, Mailboxes,
};
use crate::link::output::OutputLink;
use crate::link::{DeathNoticeConfig, LinkError, WorkerLink, WorkerSecret};
use crate::shutdown::ShutdownSender;

/// Where a leader may be.
#[derive(Clone, Debug)]
pub(crate) enum JoinTarget {
    /// Controllers.
    Http {
        /// Where they are.
        places: Vec<ControllerAddress>,
        /// Who vouches for them.
        ca: Option<PathBuf>,
        /// What is shown to them.
        token: Option<String>,
    },
    /// Mailboxes.
    Mailbox {
        /// Where they are.
        site: MailboxAddress,
        /// What proves letters.
        key: MailboxKey,
        /// What opens them.
        links: MailboxRegistry,
    },
    /// Whoever leads the cluster of a database, by letters in it if it cannot be reached.
    #[cfg(feature = "postgres")]
    Database {
        /// How controllers are asked.
        http: Box<JoinTarget>,
        /// The mailboxes in the database.
        mail: Box<JoinTarget>,
    },
}

/// A way to the leader, taken by a worker that shows who it is, or by one who only asks.
#[derive(Debug)]
pub(super) enum JoinRoute {
    Http(Arc<HttpWorkerLink>),
    Mailbox {
        link: MailboxWorkerLink,
        mailboxes: Arc<dyn Mailboxes>,
        /// Its postman ends with it.
        _postman: ShutdownSender,
    },
    #[cfg(feature = "postgres")]
    Discovered(Arc<DiscoveredLink>),
}

impl JoinTarget {
    /// Sets out.
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
                let (link, postman) = set_out().map_err(no_chance)?;
                let (sender, ends) = ShutdownSender::new();
                tokio::spawn(postman.run(ends));
                Ok(JoinRoute::Mailbox { link, mailboxes, _postman: sender })
            }
            #[cfg(feature = "postgres")]
            Self::Database { http, mail } => {
                let Self::Mailbox { site, .. } = &**mail else {
                    unreachable!("letters go to mailboxes");
                };
                let by_letters = mail.open(worker.clone())?;
                let found = DiscoveredLink::new(&site.url, Self::clone(http), by_letters, worker);
                Ok(JoinRoute::Discovered(Arc::new(found)))
            }
        }
    }

    /// What the guard needs to report the end of a worker.
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
            // Letters reach whoever leads, wherever that is by then.
            #[cfg(feature = "postgres")]
            Self::Database { mail, .. } => return mail.death_notice(secret, incarnation),
        }
        let (worker, secret) = (secret.worker_id(), secret.to_hex());
        DeathNoticeConfig { ways, ca, token, secret, worker, incarnation, mail }
    }
}

impl JoinRoute {
    /// Asks which cluster it is.
    pub(super) async fn cluster(&self) -> Result<String, LinkError> {
        match self {
            Self::Http(link) => link.cluster().await.map(|cluster| cluster.id),
            Self::Mailbox { link, .. } => link.hello().await.map(|led| led.cluster),
            #[cfg(feature = "postgres")]
            Self::Discovered(found) => found.cluster().await,
        }
    }

    /// Finds out where to go, where that is to be found out.
    pub(super) async fn discover(&self) {
        match self {
            Self::Http(_) | Self::Mailbox { .. } => {}
            #[cfg(feature = "postgres")]
            Self::Discovered(found) => found.find_leader().await,
        }
    }

    /// Where it leads, for people.
    pub(super) fn place(&self) -> String {
        match self {
            Self::Http(link) => link.place().to_string(),
            Self::Mailbox { mailboxes, .. } => mailboxes.place(),
            #[cfg(feature = "postgres")]
            Self::Discovered(found) => found.place(),
        }
    }

    /// The end of a worker that comes by letters and in no other way.
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

    /// A worker's own last word, tried once: a worker that is not heard is given up after a TTL.
    pub(super) async fn deregister(&self, worker: &WorkerSecret, incarnation: Incarnation) {
        match self {
            Self::Http(link) => report_own_end(link, worker.worker_id(), incarnation).await,
            Self::Mailbox { link, .. } => drop(link.ended(incarnation, Vec::new()).await),
            #[cfg(feature = "postgres")]
            Self::Discovered(found) => found.deregister(worker, incarnation).await,
        }
    }
}
