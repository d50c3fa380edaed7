//! Scopes: the permissions of tokens.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::word_set;

/// A permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessScope {
    /// Read everything.
    Read,
    /// Read, submit, cancel and rerun.
    Submit,
    /// Join as a worker. Includes no permission to read about others.
    Worker,
    /// Everything.
    Admin,
}

impl AccessScope {
    /// Returns whether a token with this scope may do what requires another scope.
    ///
    /// ```
    /// use windlass_core::access::AccessScope;
    ///
    /// assert!(AccessScope::Submit.allows(AccessScope::Read));
    /// assert!(!AccessScope::Worker.allows(AccessScope::Read));
    /// ```
    pub fn allows(self, scope: Self) -> bool {
        match self {
            Self::Admin => true,
            Self::Submit => matches!(scope, Self::Submit | Self::Read),
            Self::Worker | Self::Read => scope == self,
        }
    }
}

word_set!(AccessScope {
    Read => "read",
    Submit => "submit",
    Worker => "worker",
    Admin => "admin",
});

impl fmt::Display for AccessScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for AccessScope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|scope| scope.to_string() == text);
        found.ok_or_else(|| format!("`{text}` is no scope: read, submit, worker and admin are"))
    }
}

/// A set of scopes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessScopes(BTreeSet<AccessScope>);

impl AccessScopes {
    /// Whether one of the scopes includes the requested one.
    pub fn allow(&self, needed: AccessScope) -> bool {
        self.iter().any(|scope| scope.allows(needed))
    }

    /// Returns the scopes.
    pub fn iter(&self) -> impl Iterator<Item = AccessScope> {
        self.0.iter().copied()
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<AccessScope> for AccessScopes {
    fn from_iter<I: IntoIterator<Item = AccessScope>>(scopes: I) -> Self {
        Self(scopes.into_iter().collect())
    }
}

impl fmt::Display for AccessScopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.iter().map(|scope| scope.to_string()).collect();
        f.write_str(&words.join(" "))
    }
}
