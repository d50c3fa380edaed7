//! Which links through mailboxes there are, by the scheme of their addresses.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::mailboxes::{MailboxError, Mailboxes};

/// Whose mailboxes, and where.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MailboxAddress {
    /// The address of what keeps letters: `SCHEME:…`. It may have a password in it.
    pub url: String,
    /// Whose mailboxes are meant: those of a run, or of a cluster. Others at the same address are apart from them.
    pub run: String,
    /// A file with the certificates of who vouches for what is there; without one, those that browsers believe.
    pub ca: Option<PathBuf>,
}

impl MailboxAddress {
    /// The mailboxes of a cluster: those of its workers that cannot reach a controller.
    pub const CLUSTER: &str = "cluster";

    /// The scheme of its address.
    pub fn scheme(&self) -> &str {
        scheme(&self.url)
    }
}

/// What comes before the first colon.
fn scheme(url: &str) -> &str {
    url.split_once(':').map_or("", |(scheme, _)| scheme)
}

impl fmt::Debug for MailboxAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Site({}:…, {})", self.scheme(), self.run)
    }
}

type OpenMailboxes =
    dyn Fn(&MailboxAddress) -> Result<Arc<dyn Mailboxes>, MailboxError> + Send + Sync;

/// The links that a program knows.
#[derive(Clone, Default)]
pub struct MailboxRegistry(BTreeMap<String, Arc<OpenMailboxes>>);

impl MailboxRegistry {
    /// Those that are built in.
    pub fn built_in() -> Self {
        let links = Self::default();
        #[cfg(feature = "redis")]
        let links = {
            use crate::redis::open;
            links.with("redis", open).with("rediss", open)
        };
        #[cfg(feature = "postgres")]
        let links = {
            use crate::postgres::open;
            links.with("postgres", open).with("postgresql", open)
        };
        links
    }

    /// One more, or another in the place of one, for addresses that begin with `SCHEME:`.
    ///
    /// Opening only looks at the address: a place is reached when it is used, again and again if need be.
    #[must_use]
    pub fn with(
        mut self,
        scheme: &str,
        opens: impl Fn(&MailboxAddress) -> Result<Arc<dyn Mailboxes>, MailboxError>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.0.insert(scheme.to_owned(), Arc::new(opens));
        self
    }

    /// Whether addresses like this one are known.
    pub fn knows(&self, url: &str) -> bool {
        self.0.contains_key(scheme(url))
    }

    /// The mailboxes of a site.
    pub fn open(&self, site: &MailboxAddress) -> Result<Arc<dyn Mailboxes>, MailboxError> {
        let Some(opens) = self.0.get(site.scheme()) else {
            let known: Vec<&str> = self.0.keys().map(String::as_str).collect();
            return Err(MailboxError::Refused {
                place: format!("{}:…", site.scheme()),
                reason: format!("no such link is built in; there are: {}", known.join(", ")),
            });
        };
        opens(site)
    }
}

impl fmt::Debug for MailboxRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::memory::MemoryMailboxes;
    use super::*;

    #[test]
    fn a_link_is_found_by_its_scheme_and_no_password_is_shown() {
        let memory = MemoryMailboxes::new();
        let links =
            MailboxRegistry::default().with("memory", move |_| Ok(Arc::new(memory.clone())));
        let site =
            |url: &str| MailboxAddress { url: url.to_owned(), run: "r".to_owned(), ca: None };
        assert_eq!(links.open(&site("memory:")).unwrap().place(), "memory");
        assert!(links.knows("memory://a") && !links.knows("memory"));
        let refused = links.open(&site("redis://:secret@a")).unwrap_err().to_string();
        assert!(refused.contains("there are: memory"), "{refused}");
        let shown = format!("{refused} {:?}", site("redis://:secret@a"));
        assert!(!shown.contains("secret"), "{shown}");
    }
}
