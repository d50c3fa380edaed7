//! A leader may begin anywhere in a journal: after each event, with a newer term and whatever time has passed.

use windlass_core::engine::{
    Engine, EngineAnswer, EngineConfig, EngineRequest, Event, ProvenTime, StoreHistory, event,
};
use windlass_core::id::Term;
use windlass_core::planted_bugs::PlantedBugs;
use windlass_core::time::{Span, Time};
use windlass_testkit::sim::play;

const SEEDS: std::ops::Range<u64> = 300..320;

/// So many events lie between two places at which a leader begins.
const EVERY: usize = 10;

/// How far a leader is followed: each tick is at the engine's next deadline.
const TICKS: usize = 8;

fn engine() -> Engine {
    Engine::new(EngineConfig::default())
}

fn assert_sound(engine: &Engine, place: &str) {
    let broken = engine.check();
    assert!(broken.is_empty(), "{place}: {broken:?}");
}

/// The generation of the store at the end of a journal: each loss of history that it records begins another one.
fn generation(journal: &[(Time, Event)]) -> u16 {
    let led = journal.iter().rev().find_map(|(_, event)| match event {
        Event::Led(event::Led { generation, .. }) => Some(*generation),
        _ => None,
    });
    led.unwrap_or(0)
}

/// Begins to lead where a journal ends, and lets time pass. Returns every event of the new leader.
fn lead(journal: &[(Time, Event)], place: &str) -> Vec<(Time, Event)> {
    let mut engine = folded(journal, place);
    let at = journal.last().map_or(Time::ZERO, |(at, _)| *at);
    let (term, ttl, generation) = (Term(engine.term().0 + 1), Span::secs(10), generation(journal));
    let mut now = at + Span::millis(1);
    let mut events = Vec::new();
    let history = StoreHistory::Unbroken;
    let mut request =
        EngineRequest::Lead { term, ttl, generation, own: None, history, proven: ProvenTime::ALL };
    for tick in 0..=TICKS {
        let decision = engine.decide(request, now, 7);
        assert_eq!(decision.answer, EngineAnswer::Done, "{place}, tick {tick}");
        assert_sound(&engine, &format!("{place}, tick {tick}"));
        events.extend(decision.events.into_iter().map(|event| (decision.at, event)));
        let Some(next) = engine.next_deadline() else { break };
        now = next.max(now + Span::millis(1));
        request = EngineRequest::Tick;
    }
    events
}

fn folded(journal: &[(Time, Event)], place: &str) -> Engine {
    let mut engine = engine();
    for (at, event) in journal {
        engine.apply(*at, event).unwrap_or_else(|error| panic!("{place}: {error}: {event:?}"));
    }
    engine
}

#[test]
fn every_prefix_of_a_journal_is_sound() {
    for seed in SEEDS {
        let journal = play(seed, PlantedBugs::NONE, true).journal;
        let mut engine = engine();
        for (index, (at, event)) in journal.iter().enumerate() {
            let place = format!("seed {seed}, event {index} {event:?}");
            engine.apply(*at, event).unwrap_or_else(|error| panic!("{place}: {error}"));
            assert_sound(&engine, &place);
        }
    }
}

#[test]
fn a_leader_may_begin_after_any_event() {
    for seed in SEEDS {
        let journal = play(seed, PlantedBugs::NONE, true).journal;
        for end in (0..=journal.len()).step_by(EVERY) {
            let (place, prefix) = (format!("seed {seed} after {end} events"), &journal[..end]);
            let more = lead(prefix, &place);
            // The leader after this one reads what it wrote.
            let mut whole = prefix.to_vec();
            whole.extend(more);
            assert_sound(&folded(&whole, &place), &place);
        }
    }
}
