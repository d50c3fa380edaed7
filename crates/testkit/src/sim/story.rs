//! The wording of the lines of a story: short enough to read some hundred of them.

use windlass_core::session::{Exchange, ExchangeReply, ExchangeReplyBody, LeasePhase, LeaseRef};

use super::world::SimWorld;

/// The events of a schedule, line by line; empty unless the story was requested.
pub type StoryLines = Vec<String>;

impl SimWorld<'_> {
    pub(crate) fn add_exchange_to_story(
        &mut self,
        worker: usize,
        leader: usize,
        exchange: &Exchange,
    ) {
        self.add_to_story(|| {
            let finished = exchange.finished.iter();
            let finished = finished.map(|it| format!("{} {}", it.lease.fence, it.outcome.kind));
            let held = exchange.in_flight.iter().map(|it| match it.phase {
                LeasePhase::Started => it.lease.fence.to_string(),
                LeasePhase::Queued => format!("{} queued", it.lease.fence),
            });
            let Exchange { incarnation, seq, seen, want, term, .. } = exchange;
            format!(
                "worker {worker} → leader {leader}: {term} {incarnation} {seq} after {seen}, wants {want}"
            ) + &named_list("holds", held)
                + &named_list("finished", finished)
        });
    }

    pub(crate) fn add_reply_to_story(&mut self, worker: usize, reply: &ExchangeReply) {
        self.add_to_story(|| {
            let orders = match &reply.body {
                Ok(body) => reply_text(body),
                Err(refusal) => format!("; refused: {refusal}"),
            };
            let ExchangeReply { term, incarnation, seq, .. } = reply;
            format!("worker {worker} hears: {term} {incarnation} {seq}{orders}")
        });
    }
}

fn reply_text(body: &ExchangeReplyBody) -> String {
    let verdicts = body.verdicts.iter();
    let verdicts = verdicts.map(|(fence, verdict)| format!("{fence} {verdict:?}"));
    let stops = body.stops.iter();
    let stops = stops.map(|stop| format!("{} {:?} {}", stop.fence, stop.how, stop.why));
    named_list("verdicts", verdicts)
        + &named_list("grants", body.grants.iter().map(|grant| lease_text(grant.lease)))
        + &named_list("stops", stops)
        + &named_list("wants back", body.take_back.iter().map(ToString::to_string))
}

/// Returns a list after its name; nothing if it is empty.
fn named_list(name: &str, items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    if items.is_empty() { String::new() } else { format!("; {name} {}", items.join(", ")) }
}

/// Returns a lease with its step.
pub(crate) fn lease_text(lease: LeaseRef) -> String {
    format!("{} (run {} {} attempt {})", lease.fence, lease.run, lease.step, lease.attempt)
}
