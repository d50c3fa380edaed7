//! Who may ask: tokens and their scopes, workers and their secrets, and the version of the protocol.
//!
//! ```text
//!  request ──► check: what does the route need, what was shown? ──► Pass ──► handler ──► answer
//!                                                                    └─ ends (revoked, expired) ─► 401, or the body is cut
//! ```
//!
//! Whoever was let in holds a [`Pass`](pass::Pass) for as long as the request takes. A pass that ends takes its request
//! with it, so a revocation is felt at once by what waits and by what streams.
//!
//! | file | what it has |
//! |---|---|
//! | `check` | what stands before every route |
//! | `pass` | who was let in, by what, and whether that still opens |
//! | `file` | the tokens of the controller's own file |
//! | `worker` | who a worker is |
//! | `by`, `cut` | who asks, for handlers; a body that ends with its pass |

mod by;
mod check;
mod cut;
mod file;
mod pass;
mod worker;

pub(super) use by::By;
pub(super) use check::{Gate, check};
pub use file::{FileTokens, file_tokens};
pub(super) use worker::{secret, worker};
