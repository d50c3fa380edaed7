//! Who may ask: tokens and their scopes, workers and their secrets, and the version of the protocol.
//!
//! ```text
//!  request ──► check: what does the route need, what was shown? ──► Pass ──► handler ──► answer
//!                                                                    └─ ends (revoked, expired) ─► 401, or the body is cut
//! ```
//!
//! Whoever was let in holds a [`Authorization`](pass::Pass) for as long as the request takes. A pass that ends takes its request
//! with it, so a revocation is felt at once by what waits and by what streams.
//!
//! | file | what it has |
//! |---|---|
//! | `check` | what stands before every route |
//! | `authorization` | who was let in, by what, and whether that still opens |
//! | `token_file` | the tokens of the controller's own file |
//! | `worker_secret` | who a worker is |
//! | `principal`, `revocable_body` | who asks, for handlers; a body that ends with its pass |

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
