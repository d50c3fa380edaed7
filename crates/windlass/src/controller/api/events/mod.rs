//! What happens, told as it happens: `text/event-stream`, for one run and for all.
//!
//! ```text
//!  Views: the newest batches, each with its text ──┐ near the end
//!  histories, archive (of a run)                   ├──► Reader ──► Teller (keep-alives) ──► Told, the body ──► socket
//!  journal (of all) ───────────────────────────────┘ further behind
//! ```
//!
//! Nobody has a queue: a client that is ready for more is given what comes next behind its position, and one that is not
//! is asked nothing. Who lags reads what is kept for everybody, a page at a time; who takes nothing for half a minute is
//! [cut off](super::patience) and goes on by the id of its last event. Only durable events are told, and positions
//! outlive a restart, so a client that comes back hears of each event once.
//!
//! | file | what it has |
//! |---|---|
//! | `asked` | from where on, and in which form |
//! | `filter` | which events of all |
//! | `all` | `GET /events` |
//! | `reader` | what comes behind a position |
//! | `teller` | that, and signs of life |
//! | `told` | the body of an answer; how many there may be |

mod all;
mod asked;
mod filter;
mod reader;
mod teller;
mod told;

pub(super) use all::all;
pub(super) use asked::{Start, wants_stream};
pub(super) use reader::Reader;
pub(super) use told::{Streams, stream};
