//! Who asks.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::{TokenId, WorkerId};

/// Who asks, as far as it was shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Principal {
    /// Somebody on the controller's machine, where nothing has to be shown.
    Local,
    /// Who has the token of the controller's own file.
    TokenFile,
    /// Who has a token.
    Token {
        /// Which.
        id: TokenId,
        /// What it was called then.
        name: Box<str>,
    },
    /// A worker, by its own secret.
    Worker {
        /// Which.
        id: WorkerId,
    },
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Local => f.write_str("local"),
            Self::TokenFile => f.write_str("token file"),
            Self::Token { id, name } => write!(f, "token {name} ({id})"),
            Self::Worker { id } => write!(f, "worker {id}"),
        }
    }
}
