//! How a worker comes to its leader: over HTTP, or by letters.

use std::path::PathBuf;
use std::sync::Arc;

use windlass_core::id::Incarnation;

#[cfg(feature = "postgres")]
use super::found::Found;
use crate::cli::error::CliError;
use crate::link::http::{Client, Credentials, HttpLink, Place, dialler, say_goodbye};
use crate::link::output::Ships;
use crate::link::post::{Key, Links, MailKey, MailWill, Mailboxes, PostLink, Postman, Site};
use crate::link::{Link, LinkError, Will, WorkerSecret};
use crate::shutdown::ShutdownSender;

/// Where a leader may be.
#[derive(Clone, Debug)]
pub(crate) enum Join {
    /// Controllers.
    Http {
        /// Where they are.
        places: Vec<Place>,
        /// Who vouches for them.
        ca: Option<PathBuf>,
        /// What is shown to them.
        token: Option<String>,
    },
    /// Mailboxes.
    Mail {
        /// Where they are.
        site: Site,
        /// What proves letters.
        key: Key,
        /// What opens them.
        links: Links,
    },
    /// Whoever leads the cluster of a database, by letters in it if it cannot be reached.
    #[cfg(feature = "postgres")]
    Found {
        /// How controllers are asked.
        http: Box<Join>,
        /// The mailboxes in the database.
        mail: Box<Join>,
    },
}

/// A way to the leader, taken by a worker that shows who it is, or by one who only asks.
#[derive(Debug)]
pub(super) enum Way {
    Http(Arc<HttpLink>),
    Mail {
        link: PostLink,
        mailboxes: Arc<dyn Mailboxes>,
        /// Its postman ends with it.
        _postman: ShutdownSender,
    },
    #[cfg(feature = "postgres")]
    Found(Arc<Found>),
}

impl Join {
    /// Sets out.
    pub(super) fn set_out(&self, worker: Option<WorkerSecret>) -> Result<Way, CliError> {
        match self {
            Self::Http { places, ca, token } => {
                let credentials = Credentials { token: token.clone(), worker };
                let dial = dialler(ca.as_deref()).map_err(CliError::usage)?;
                let client = Arc::new(Client::new(dial, credentials));
                Ok(Way::Http(Arc::new(HttpLink::new(client, places.clone()))))
            }
            Self::Mail { site, key, links } => {
                let mailboxes =
                    links.open(site).map_err(|error| CliError::usage(error.to_string()))?;
                let set_out = || -> std::io::Result<(PostLink, Postman)> {
                    let worker = worker.map_or_else(WorkerSecret::generate, Ok)?;
                    PostLink::new(Arc::clone(&mailboxes), key.clone(), &worker)
                };
                let no_chance = |error: std::io::Error| CliError::unreachable(error.to_string());
                let (link, postman) = set_out().map_err(no_chance)?;
                let (sender, ends) = ShutdownSender::new();
                tokio::spawn(postman.run(ends));
                Ok(Way::Mail { link, mailboxes, _postman: sender })
            }
            #[cfg(feature = "postgres")]
            Self::Found { http, mail } => {
                let Self::Mail { site, .. } = &**mail else {
                    unreachable!("letters go to mailboxes");
                };
                let by_letters = mail.set_out(worker.clone())?;
                let found = Found::new(&site.url, Self::clone(http), by_letters, worker);
                Ok(Way::Found(Arc::new(found)))
            }
        }
    }

    /// What the guard needs to report the end of a worker.
    pub(super) fn will(&self, secret: &WorkerSecret, incarnation: Incarnation) -> Will {
        let (mut ways, mut ca, mut token, mut mail) = (Vec::new(), None, None, None);
        match self {
            Self::Http { places, ca: file, token: shown } => {
                ways = places.iter().map(ToString::to_string).collect();
                ca = file.as_ref().map(|file| file.to_string_lossy().into_owned());
                token.clone_from(shown);
            }
            Self::Mail { site, key, .. } => {
                mail = Some(MailWill { site: site.clone(), key: MailKey(key.to_hex()) });
            }
            // Letters reach whoever leads, wherever that is by then.
            #[cfg(feature = "postgres")]
            Self::Found { mail, .. } => return mail.will(secret, incarnation),
        }
        let (worker, secret) = (secret.worker_id(), secret.to_hex());
        Will { ways, ca, token, secret, worker, incarnation, mail }
    }
}

impl Way {
    /// Asks which cluster it is.
    pub(super) async fn cluster(&self) -> Result<String, LinkError> {
        match self {
            Self::Http(link) => link.cluster().await.map(|cluster| cluster.id),
            Self::Mail { link, .. } => link.hello().await.map(|led| led.cluster),
            #[cfg(feature = "postgres")]
            Self::Found(found) => found.cluster().await,
        }
    }

    /// Finds out where to go, where that is to be found out.
    pub(super) async fn look_ahead(&self) {
        match self {
            Self::Http(_) | Self::Mail { .. } => {}
            #[cfg(feature = "postgres")]
            Self::Found(found) => found.look().await,
        }
    }

    /// Where it leads, for people.
    pub(super) fn place(&self) -> String {
        match self {
            Self::Http(link) => link.place().to_string(),
            Self::Mail { mailboxes, .. } => mailboxes.place(),
            #[cfg(feature = "postgres")]
            Self::Found(found) => found.place(),
        }
    }

    /// The end of a worker that comes by letters and in no other way.
    pub(super) fn by_letters(&self) -> Option<PostLink> {
        let Self::Mail { link, .. } = self else { return None };
        Some(link.clone())
    }

    pub(super) fn link(&self) -> Arc<dyn Link> {
        match self {
            Self::Http(link) => Arc::clone(link) as Arc<dyn Link>,
            Self::Mail { link, .. } => Arc::new(link.clone()),
            #[cfg(feature = "postgres")]
            Self::Found(found) => Arc::clone(found) as Arc<dyn Link>,
        }
    }

    pub(super) fn ships(&self) -> Arc<dyn Ships> {
        match self {
            Self::Http(link) => Arc::clone(link) as Arc<dyn Ships>,
            Self::Mail { link, .. } => Arc::new(link.clone()),
            #[cfg(feature = "postgres")]
            Self::Found(found) => Arc::clone(found) as Arc<dyn Ships>,
        }
    }

    /// A worker's own last word, tried once: a worker that is not heard is given up after a TTL.
    pub(super) async fn say_goodbye(&self, worker: &WorkerSecret, incarnation: Incarnation) {
        match self {
            Self::Http(link) => say_goodbye(link, worker.worker_id(), incarnation).await,
            Self::Mail { link, .. } => drop(link.ended(incarnation, Vec::new()).await),
            #[cfg(feature = "postgres")]
            Self::Found(found) => found.say_goodbye(worker, incarnation).await,
        }
    }
}
