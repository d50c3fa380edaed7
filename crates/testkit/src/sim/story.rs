//! How the lines of a story are worded: short enough to read some hundred of them.

use windlass_core::session::{Exchange, LeaseRef, Phase, Reply, ReplyBody};

use super::world::World;

/// What happened, line by line; empty unless it was asked for.
pub type Story = Vec<String>;

impl World<'_> {
    pub(crate) fn tell_exchange(&mut self, worker: usize, leader: usize, exchange: &Exchange) {
        self.tell(|| {
            let finished = exchange.finished.iter();
            let finished = finished.map(|it| format!("{} {}", it.lease.fence, it.outcome.kind));
            let held = exchange.in_flight.iter().map(|it| match it.phase {
                Phase::Started => it.lease.fence.to_string(),
                Phase::Queued => format!("{} queued", it.lease.fence),
            });
            let Exchange { incarnation, seq, seen, want, term, .. } = exchange;
            format!(
                "worker {worker} → leader {leader}: {term} {incarnation} {seq} after {seen}, wants {want}"
            ) + &list("holds", held)
                + &list("finished", finished)
        });
    }

    pub(crate) fn tell_reply(&mut self, worker: usize, reply: &Reply) {
        self.tell(|| {
            let orders = match &reply.body {
                Ok(body) => orders(body),
                Err(refusal) => format!("; refused: {refusal}"),
            };
            let Reply { term, incarnation, seq, .. } = reply;
            format!("worker {worker} hears: {term} {incarnation} {seq}{orders}")
        });
    }
}

fn orders(body: &ReplyBody) -> String {
    let verdicts = body.verdicts.iter();
    let verdicts = verdicts.map(|(fence, verdict)| format!("{fence} {verdict:?}"));
    let stops = body.stops.iter();
    let stops = stops.map(|stop| format!("{} {:?} {}", stop.fence, stop.how, stop.why));
    list("verdicts", verdicts)
        + &list("grants", body.grants.iter().map(|grant| lease(grant.lease)))
        + &list("stops", stops)
        + &list("wants back", body.take_back.iter().map(ToString::to_string))
}

/// A list under its name; nothing if it is empty.
fn list(name: &str, items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    if items.is_empty() { String::new() } else { format!("; {name} {}", items.join(", ")) }
}

/// A lease with what it is for.
pub(crate) fn lease(lease: LeaseRef) -> String {
    format!("{} (run {} {} attempt {})", lease.fence, lease.run, lease.step, lease.attempt)
}
