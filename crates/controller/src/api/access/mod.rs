//! Authorization: tokens and their scopes, the secrets of workers, and the protocol version.
//!
//! ```text
//!  request ──► check: the route's rule, the credential ──► Authorization ──► handler ──► answer
//!                                                               └─ ends (revoked, expired) ─► 401, or the body is cut
//! ```
//!
//! A request holds an [`Authorization`](authorization::Authorization) until it is answered. When the authorization ends, its
//! request ends too, so a revocation takes effect at once on parked requests and on streams.
//!
//! | file | content |
//! |---|---|
//! | `check` | the check in front of every route |
//! | `authorization` | the authorization of a request, and its end |
//! | `token_file` | the tokens of the controller's token file |
//! | `worker_secret` | the identity of a worker |
//! | `principal`, `revocable_body` | the author of a request, for handlers; a body that ends with its authorization |

mod authorization;
mod check;
mod principal;
mod revocable_body;
mod token_file;
mod worker_secret;

pub(super) use check::{RouteGate, check};
pub(super) use principal::RequestPrincipal;
pub use token_file::{FileTokens, file_tokens};
pub(super) use worker_secret::{authenticate_worker, worker_secret};
