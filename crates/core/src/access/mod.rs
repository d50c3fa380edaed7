//! Who may do what, and who did.
//!
//! Tokens, the credentials of workers and the trail of what was asked for are state of the engine like runs are: they
//! change by events and nothing else, so a restart, a snapshot and whoever stands by know them too. Of a token and of a
//! worker's secret only a [`Digest`] is kept.
//!
//! | file | what it says |
//! |---|---|
//! | `scope` | what can be allowed |
//! | `digest`, `token`, `enrolment` | what is kept of a secret; a token; a worker's credential |
//! | `keyring` | all tokens and credentials, within bounds |
//! | `principal`, `act` | who asks; what was done on whose word |

mod act;
mod digest;
mod enrolment;
mod keyring;
mod principal;
mod scope;
mod token;

pub use act::{ACTS_MAX, About, Act, Acted, Acts};
pub use digest::Digest;
pub use enrolment::{ENROLLED_MAX, Enrolment};
pub use keyring::Keyring;
pub use principal::Principal;
pub use scope::{Scope, Scopes};
pub use token::{NewToken, Standing, TOKENS_MAX, TokenRecord};
