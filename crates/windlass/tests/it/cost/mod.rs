//! The cost gate: adversarial pipelines and requests against a controller with 1 GiB of memory delay no other client.
//!
//! Each round starts a controller, limits its memory, and lets the `Adversary` that a number chooses attack it. Meanwhile
//! `Bystander`s measure how long the answers to them take: `/healthz`, a small submission, and the heartbeat of a worker that
//! holds a lock. A controller that is not attacked is asked beside them: its delay is that of the machine, and is allowed for
//! up to two seconds. What the adversary itself is accepted with is timed too. A controller that accepted anything is killed and
//! starts again under the same limit.
//!
//! - `WINDLASS_COST=7` replays round 7. The rounds of a test run take a minute and a half; `WINDLASS_DEEP=1` plays rounds for an hour.
//! - A new adversary is a variant of `Adversary` with an arm in `attack`. The size of an attack follows from the number.

mod adversaries;
mod bystanders;
mod rounds;
