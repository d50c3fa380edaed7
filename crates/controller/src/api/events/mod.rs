//! Event streams: `text/event-stream`, for one run and for the cluster.
//!
//! ```text
//!  leader_loop: LeaderEffect::Publish ──► SharedView
//!
//!  EventFollower: view, otherwise journal ──┐
//!  histories, archive (past of a run) ──────┴──► SseReader ──► SseProducer (keep-alives) ──► SseBody ──► socket
//! ```
//!
//! No client has a queue. A client that is ready for more gets the next events after its position. A client that lags
//! behind gets them from histories, archive or journal, a page at a time. A client that reads nothing for half a minute is
//! disconnected and resumes by the id of its last event. Only durable events are sent, and positions survive a restart, so
//! a client that reconnects gets each event once.
//!
//! | file | content |
//! |---|---|
//! | `stream_start` | the first position, and whether the client wants a stream |
//! | `filter` | the filter of the cluster's events |
//! | `all_events` | `GET /events` |
//! | `sse_reader` | the events after a position |
//! | `sse_producer` | the frames of one client, with keep-alives |
//! | `sse_body` | the body of a stream; the limit of streams |

mod all_events;
mod filter;
mod sse_body;
mod sse_producer;
mod sse_reader;
mod stream_start;

pub(super) use all_events::{EventsQuery, all};
pub(super) use sse_body::{SseLimits, stream};
pub(super) use sse_reader::SseReader;
pub(super) use stream_start::{StreamStart, wants_stream};
