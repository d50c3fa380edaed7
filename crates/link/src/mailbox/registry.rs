//! The links through mailboxes, by the scheme of their addresses.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::mailboxes::{MailboxError, Mailboxes};

/// A set of mailboxes at a broker.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MailboxAddress {
    /// The address of the broker: `SCHEME:…`. It may contain a password.
    pub url: String,
    /// The name of the set: that of a run, or of a cluster. Sets at one broker are separate.
    pub run: String,
    /// A CA bundle that verifies the broker (default: public root certificates).
    pub ca: Option<PathBuf>,
}

impl MailboxAddress {
    /// Returns the mailboxes of a cluster, for workers that cannot reach a controller.
    pub const CLUSTER: &str = "cluster";

    /// Returns the scheme of the address.
    pub fn scheme(&self) -> &str {
        scheme(&self.url)
    }
}

/// Returns the text before the first colon.
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

/// The links that a program supports.
#[derive(Clone, Default)]
pub struct MailboxRegistry(BTreeMap<String, Arc<OpenMailboxes>>);

impl MailboxRegistry {
    /// Returns the built-in links.
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

    /// Adds a link for addresses that begin with `SCHEME:`, or replaces one.
    ///
    /// Opening only checks the address: the broker is contacted when the mailboxes are used.
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

    /// Returns whether the scheme of this address is known.
    pub fn knows(&self, url: &str) -> bool {
        self.0.contains_key(scheme(url))
    }

    /// Opens the mailboxes of a site.
    pub fn open(&self, site: &MailboxAddress) -> Result<Arc<dyn Mailboxes>, MailboxError> {
        let Some(opens) = self.0.get(site.scheme()) else {
            let known: Vec<&str> = self.0.keys().map(String::as_str).collect();
            return Err(MailboxError::Refused {
                place: format!("{}:…", site.scheme()),
                reason: format!("unknown link; this program has: {}", known.join(", ")),
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
        assert!(refused.contains("this program has: memory"), "{refused}");
        let shown = format!("{refused} {:?}", site("redis://:secret@a"));
        assert!(!shown.contains("secret"), "{shown}");
    }
}
