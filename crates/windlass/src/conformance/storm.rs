//! A leader and workers over the link, in weather that a link may have: a run ends well all the same.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use windlass_core::engine::{Config, Request, Submit};
use windlass_core::id::{Fence, RunId};
use windlass_core::outcome::{Outcome, RunStatus};
use windlass_core::plan::{Plan, PlanBuilder, Retry, StepSpec};
use windlass_core::session::Grant;
use windlass_core::time::{Span, Time};

use super::harness::{Fresh, Harness};
use super::links::story;
use super::mate::mate;
use super::report::{Checked, Difference, holds, same};
use super::weather::{Stormy, Weather};
use crate::clock::Clock;
use crate::controller::post::{Desk, Epitaph, Terms};
use crate::controller::{Handle, Histories, Intake, Node, NodeConfig, StandBy};
use crate::journal::{Candidate, Journal, MemoryJournal};
use crate::link::WorkerSecret;
use crate::link::post::{Key, Mailboxes, PostLink};
use crate::logs::MemoryLogs;
use crate::shutdown::ShutdownSender;
use crate::worker::{Attempt, Executor, Orders, WorkerError};

type Place<'a> = Fresh<'a, dyn Mailboxes>;

const STEPS: usize = 40;

/// Short, so that what gets lost costs little time.
const TTL: Span = Span::secs(2);

/// A binding that lapses while a check waits for it, and outlasts [`CUT`].
const TERM: Duration = Duration::from_secs(3);

/// How long nothing is reached: renewals of the binding are lost, and it does not lapse.
const CUT: Duration = Duration::from_secs(1);

/// How long a run may take whatever the weather.
const ENDS_WITHIN: Duration = Duration::from_secs(40);

const RUN: RunId = RunId(7);

pub(super) fn a_run_ends_well_in_good_weather(fresh: &Place<'_>) -> Checked {
    in_weather(fresh, Weather::default())
}

pub(super) fn a_run_ends_well_though_letters_get_lost(fresh: &Place<'_>) -> Checked {
    in_weather(fresh, Weather { lost: 15, ..Weather::default() })
}

pub(super) fn a_run_ends_well_though_letters_come_twice(fresh: &Place<'_>) -> Checked {
    in_weather(fresh, Weather { doubled: 60, ..Weather::default() })
}

pub(super) fn a_run_ends_well_though_letters_come_late_and_out_of_order(
    fresh: &Place<'_>,
) -> Checked {
    let longest = Duration::from_millis(700);
    in_weather(fresh, Weather { delayed: 50, longest, ..Weather::default() })
}

fn in_weather(fresh: &Place<'_>, weather: Weather) -> Checked {
    story(fresh, async |place| {
        let crew = Crew::gather(place, weather)?;
        let leader = Leader::begin(&crew.over(place), &journal()).await?;
        leader.submit().await?;
        leader.ends_well(&crew).await
    })
}

pub(super) fn a_run_ends_well_though_everybody_was_cut_off(fresh: &Place<'_>) -> Checked {
    story(fresh, async |place| {
        let crew = Crew::gather(place, Weather::default())?;
        let leader = Leader::begin(&crew.over(place), &journal()).await?;
        leader.submit().await?;
        crew.has_begun().await?;
        crew.cut(true);
        sleep(CUT).await;
        crew.cut(false);
        leader.ends_well(&crew).await
    })
}

pub(super) fn the_next_leader_goes_on_with_a_run(fresh: &Place<'_>) -> Checked {
    story(fresh, async |place| {
        let (journal, crew) = (journal(), Crew::gather(place, Weather::default())?);
        let leader = Leader::begin(&crew.over(place), &journal).await?;
        leader.submit().await?;
        crew.has_begun().await?;
        leader.vanish(&*journal).await;
        let next = Leader::begin(&crew.over(place), &journal).await?;
        next.ends_well(&crew).await
    })
}

pub(super) fn an_epitaph_ends_every_worker(fresh: &Place<'_>) -> Checked {
    story(fresh, async |place| {
        let mut crew = Crew::gather(place, Weather::default())?;
        let leader = Leader::begin(&crew.over(place), &journal()).await?;
        leader.submit().await?;
        leader.ends_well(&crew).await?;
        leader.epitaph.write("succeeded");
        leader.shutdown.shut_down();
        drop(leader.desk.await);
        let over = Err(WorkerError::Over("succeeded".to_owned()));
        for worker in crew.workers.drain(..) {
            let ended = worker.await.map_err(|error| Difference::new(error.to_string()))?;
            same("how a worker ended", &ended, &over)?;
        }
        Ok(())
    })
}

fn journal() -> Arc<dyn Journal> {
    Arc::new(MemoryJournal::new(|| Time::from_millis(1_790_000_000_000)))
}

fn plan() -> Arc<Plan> {
    let mut plan = PlanBuilder::new("storm");
    for step in 0..STEPS {
        let retry = Retry { lost: 100, ..Retry::default() };
        plan.step(&format!("step-{step}"), StepSpec { retry, ..StepSpec::default() });
    }
    Arc::new(plan.build().expect("a valid plan"))
}

fn key() -> Key {
    Key::new("storm", Some("secret"))
}

/// A leader at the place.
struct Leader {
    handle: Handle,
    epitaph: Epitaph,
    node: JoinHandle<()>,
    desk: JoinHandle<()>,
    shutdown: ShutdownSender,
}

impl Leader {
    async fn begin(
        mailboxes: &Arc<dyn Mailboxes>,
        journal: &Arc<dyn Journal>,
    ) -> Result<Self, Difference> {
        let config = NodeConfig {
            candidate: Candidate { node: "leader".to_owned(), address: None },
            engine: Config::default(),
            ttl: TTL,
            own: None,
            stand_by: StandBy::Wait,
            clock: Clock::of_runtime(),
        };
        let node = Node::open(Arc::clone(journal), config).await;
        let (node, handle) = node.map_err(|error| Difference::new(error.to_string()))?;
        let (shutdown, ends) = ShutdownSender::new();
        let node = node.run(ends.clone());
        let node = tokio::spawn(async move { drop(node.await) });
        let histories = Arc::new(Histories::default());
        let intake = Intake::new(handle.clone(), histories, Arc::new(MemoryLogs::new()));
        let terms = Terms { term: TERM, ..Terms::of("leader".to_owned()) };
        let place = (Arc::clone(mailboxes), key());
        let desk = Desk::bind(place, terms, "storm".to_owned(), (handle.clone(), intake)).await;
        let desk = desk.map_err(|error| Difference::new(error.to_string()))?;
        let epitaph = desk.epitaph();
        let desk = tokio::spawn(async move { drop(desk.run(ends).await) });
        Ok(Self { handle, epitaph, node, desk, shutdown })
    }

    async fn submit(&self) -> Checked {
        let submit = Request::Submit(Submit::new(RUN, plan()));
        let submitted = self.handle.ask(submit).await;
        holds("the leader does not lead", submitted.is_ok())
    }

    /// Waits for the end of the run, which must be the right one.
    async fn ends_well(&self, crew: &Crew) -> Checked {
        let began = Instant::now();
        let ended = loop {
            let status = self.handle.views().look(|view| view.engine.run_status(RUN));
            if status.is_some_and(RunStatus::is_terminal) || began.elapsed() > ENDS_WITHIN {
                break status;
            }
            sleep(Duration::from_millis(5)).await;
        };
        same("how the run ended", &ended, &Some(RunStatus::Succeeded))?;
        let seen = crew.witness.seen();
        same("steps that were started", &seen.steps.len(), &STEPS)?;
        same("leases that were started twice", &seen.twice, &0)
    }

    /// Ends as a crash would: nobody is told, and the place is bound until its term is over.
    async fn vanish(self, journal: &dyn Journal) {
        let term = self.handle.views().look(|view| view.engine.term());
        self.desk.abort();
        self.node.abort();
        drop((self.desk.await, self.node.await));
        // In a journal in memory a term ends with its process.
        drop(journal.resign(term).await);
    }
}

/// Three workers, and the weather between them and who leads.
struct Crew {
    storms: Mutex<Vec<Stormy>>,
    weather: Weather,
    witness: Arc<Witness>,
    workers: Vec<JoinHandle<Result<(), WorkerError>>>,
}

impl Crew {
    fn gather(place: &dyn Harness<dyn Mailboxes>, weather: Weather) -> Result<Self, Difference> {
        let (storms, witness) = (Mutex::default(), Arc::new(Witness::default()));
        let mut crew = Self { storms, weather, witness, workers: Vec::new() };
        for number in 0..3 {
            let worker = join(&crew.over(place), number, &crew.witness)
                .map_err(|error| Difference::new(error.to_string()))?;
            crew.workers.push(worker);
        }
        Ok(crew)
    }

    /// Another handle on the place, in the same weather.
    fn over(&self, place: &dyn Harness<dyn Mailboxes>) -> Arc<dyn Mailboxes> {
        let mut storms = self.storms.lock().unwrap_or_else(PoisonError::into_inner);
        let storm = Stormy::new(place.open(), self.weather, storms.len() as u64);
        storms.push(storm.clone());
        Arc::new(storm)
    }

    fn cut(&self, is_cut: bool) {
        let storms = self.storms.lock().unwrap_or_else(PoisonError::into_inner);
        storms.iter().for_each(|storm| storm.cut(is_cut));
    }

    async fn has_begun(&self) -> Checked {
        let began = Instant::now();
        while self.witness.seen().steps.len() < 3 {
            holds("no step was started", began.elapsed() < ENDS_WITHIN)?;
            sleep(Duration::from_millis(2)).await;
        }
        Ok(())
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.workers.iter().for_each(JoinHandle::abort);
    }
}

fn join(
    mailboxes: &Arc<dyn Mailboxes>,
    number: usize,
    witness: &Arc<Witness>,
) -> std::io::Result<JoinHandle<Result<(), WorkerError>>> {
    let secret = WorkerSecret::generate()?;
    let (link, postman) = PostLink::new(Arc::clone(mailboxes), key(), &secret)?;
    let hands = Hands(Arc::clone(witness));
    let worker = mate(&secret, number, (Arc::new(link), Arc::new(hands)));
    Ok(tokio::spawn(async move {
        let (_open, ends) = ShutdownSender::new();
        let postman = tokio::spawn(postman.run(ends.clone()));
        let ended = worker.run(ends).await;
        postman.abort();
        ended
    }))
}

/// Sees what workers do.
#[derive(Debug, Default)]
struct Witness(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    fences: BTreeSet<Fence>,
    twice: usize,
    steps: BTreeMap<Box<str>, usize>,
}

impl Witness {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Runs steps that take a moment.
#[derive(Debug)]
struct Hands(Arc<Witness>);

impl Executor for Hands {
    fn start(&self, grant: Grant, _: watch::Receiver<Orders>) -> Attempt {
        let mut seen = self.0.seen();
        let is_new = seen.fences.insert(grant.lease.fence);
        seen.twice += usize::from(!is_new);
        *seen.steps.entry(grant.name).or_default() += 1;
        Box::pin(async {
            sleep(Duration::from_millis(20)).await;
            Outcome::exit(0)
        })
    }
}
