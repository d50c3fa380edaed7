//! Principals: the authors of requests.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::id::{TokenId, WorkerId};

/// The author of a request, as authenticated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Principal {
    /// A client on the controller's machine, which needs no credential.
    Local,
    /// A client with the token of the controller's token file.
    TokenFile,
    /// A client with a token.
    Token {
        /// The token's id.
        id: TokenId,
        /// The token's name at that time.
        name: Box<str>,
    },
    /// A worker, by its own secret.
    Worker {
        /// The worker's id.
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
