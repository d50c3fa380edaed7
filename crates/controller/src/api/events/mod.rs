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
//! | `stream_start` | from where on, and in which form |
//! | `filter` | which events of all |
//! | `all_events` | `GET /events` |
//! | `sse_reader` | what comes behind a position |
//! | `sse_producer` | that, and signs of life |
//! | `sse_body` | the body of an answer; how many there may be |

mod all_events;
mod filter;
mod sse_body;
mod sse_producer;
mod sse_reader;
mod stream_start;

pub(super) use all_events::all;
pub(super) use sse_body::{SseLimits, stream};
pub(super) use sse_reader::SseReader;
pub(super) use stream_start::{StreamStart, wants_stream};
