//! Follows a run: events and output to the screen, wishes to the leader.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::block_in_place;
use tokio::time::{Instant, sleep, sleep_until};
use windlass_core::engine::{CancelLevel, Event, Request, Why};
use windlass_core::id::{RunId, StepIx};
use windlass_core::outcome::StepStatus;
use windlass_core::summary::{Durations, Summary};
use windlass_core::time::Span;

use super::earlier::earlier;
use super::finish::Finish;
use super::interrupts::{Interrupts, Wish};
use super::order::Order;
use crate::cli::error::CliError;
use crate::cli::exit;
use crate::cli::instances::{Leading, Post, PostNews};
use crate::cli::output::{self, Ink, Manner, OutputMode, Screen, ScreenOptions, Terminal, moment};
use crate::cli::written::{Notes, written};
use crate::controller::{Followed, Follower, Published};
use crate::journal::Position;
use crate::local::{Printed, Station, StationError, Stores, Tee, system_now};
use crate::logs::{self, LogId};
use crate::sdk::Report;
use crate::store::StoreError;
use crate::worker::executors;

/// Steps whose reasons are asked for when somebody wants to see what runs.
const ASKED_MAX: usize = 20;

/// How long events gather before they are looked at again: to be woken for each would take more from short steps than
/// anybody sees.
const GATHER: Duration = Duration::from_millis(2);

/// Whoever asks for the end a third time does not want to wait for the journal.
const ENDS_MAX: u32 = 3;

/// The run that is followed.
#[derive(Debug)]
pub(super) struct Watched {
    pub(super) run: RunId,
    /// What is known of it at the position.
    pub(super) summary: Summary,
    pub(super) from: Position,
}

/// Whoever follows it.
pub(super) struct Watch<'a> {
    pub(super) order: &'a Order,
    pub(super) stores: &'a Stores,
    pub(super) station: Station,
    pub(super) logs: Arc<Tee>,
    pub(super) printed: mpsc::Receiver<Printed>,
    pub(super) run: RunId,
    pub(super) interrupts: Interrupts,
    /// How long steps took before, if that comes to be known.
    pub(super) earlier: mpsc::Receiver<Durations>,
    /// The way to other instances, where there are any.
    pub(super) post: Option<Post>,
}

/// How far a run was followed.
enum Attended {
    /// It has ended, and was asked to so many times.
    ToItsEnd { ends: u32 },
    /// Whoever followed it does not wait for its end; the code says why.
    Left(u8),
}

/// The events, a few at a time.
struct Events {
    follower: Follower,
    /// No event is looked at before.
    not_before: Instant,
}

impl Events {
    async fn next(&mut self) -> Followed {
        sleep_until(self.not_before).await;
        let news = self.follower.next().await;
        self.not_before = Instant::now() + GATHER;
        news
    }
}

/// What happened.
enum News {
    Events(Position, Followed),
    Printed(Printed),
    Wish(Wish),
    Known(Durations),
    Failed(StationError),
    /// From other instances.
    Post(PostNews),
    Time,
}

impl Watch<'_> {
    /// Shows the run until it has ended, and what it came to.
    pub(super) async fn run(mut self, summary: Summary, from: Position) -> Result<u8, CliError> {
        let mut screen = self.screen(summary)?;
        let mut terminal = Terminal::new(self.order.look.manner);
        let ends = match self.attend(&mut screen, &mut terminal, from).await? {
            Attended::ToItsEnd { ends } => ends,
            Attended::Left(code) => return Ok(code),
        };
        if let Some(post) = self.post.take() {
            // Before anything else: others wait for it.
            post.end(screen.summary()).await;
        }
        self.hear_the_rest(&mut screen, &mut terminal);
        screen.close(system_now());
        drop(terminal.draw_now(&mut screen, system_now()));
        terminal.close();
        let Watch { order, stores, station, .. } = self;
        let summary = screen.summary();
        let finish = Finish {
            summary,
            look: order.look,
            named: &order.named,
            hints: &order.hints,
            written: &|| notes(order, stores, summary),
            junit: order.junit.as_deref(),
            interrupted: ends > 0,
        };
        let code = finish.tell(&mut |log, bytes| tail(stores, log, bytes));
        if let Some(leading) = &order.leading {
            if let Some(why) = leading.nobody_joined(station.handle(), summary) {
                output::talk(&format!("{} {why}", order.look.paint(Ink::Quiet, "note:")));
            }
            Leading::dismiss(station.handle()).await;
        }
        station.shut_down().await?;
        if !order.compiled.hooks.is_empty() {
            let report = Report::new(summary.clone(), Arc::clone(&stores.logs)).await;
            order.compiled.hooks.after_run(&report).await;
        }
        Ok(code)
    }

    fn screen(&mut self, summary: Summary) -> Result<Screen, CliError> {
        let screen = Screen::new(summary, self.options());
        if self.order.look.manner == Manner::Live {
            self.interrupts
                .listen_to_keys()
                .map_err(|error| CliError::unreachable(format!("keys cannot be heard: {error}")))?;
            self.earlier = earlier(self.stores, screen.summary().plan().pipeline());
        }
        Ok(screen)
    }

    /// Follows it until it has ended, or until nobody wants to any more.
    async fn attend(
        &mut self,
        screen: &mut Screen,
        terminal: &mut Terminal,
        from: Position,
    ) -> Result<Attended, CliError> {
        let follower = self.station.handle().views().follow(from);
        let mut events = Events { follower, not_before: Instant::now() };
        let (mut ends, mut stalled) = (0_u32, false);
        while !screen.summary().status().is_terminal() {
            let wait = draw(screen, terminal);
            match self.next(&mut events, wait).await {
                News::Events(behind, news) => {
                    self.hear_the_rest(screen, terminal);
                    self.learn(screen, &mut events.follower, behind, news).await?;
                }
                News::Printed(printed) => hear(screen, &printed),
                News::Wish(Wish::End) => {
                    ends += 1;
                    if self.is_over(ends)? {
                        return Ok(Attended::Left(exit::INTERRUPTED));
                    }
                    self.end_run(ends);
                }
                News::Wish(Wish::Show) => self.show(screen),
                News::Wish(Wish::Resumed) => terminal.resumed(),
                News::Known(earlier) => screen.expect(&earlier),
                News::Time => {
                    stalled = self.tell_stalled(screen, stalled);
                    if ends > 0 {
                        self.is_over(ends)?;
                    }
                }
                News::Failed(error) => return Err(self.failed(error).await),
                News::Post(PostNews::Cancel(level)) => self.cancel(level),
                News::Post(PostNews::Unread(why)) => screen.insert(&format!("warning: {why}")),
                News::Post(PostNews::Failed(error)) => return Err(self.hinted(error)),
            }
        }
        Ok(Attended::ToItsEnd { ends })
    }

    fn options(&self) -> ScreenOptions {
        let Order { look, slots, mode, json, .. } = self.order;
        let instances = self.order.leading.as_ref().map_or(1, |leading| leading.total);
        let slots_of_all = slots.saturating_mul(instances);
        let mode = mode.unwrap_or_else(|| OutputMode::default_for(look, slots_of_all));
        let mode = if *json { OutputMode::None } else { mode };
        ScreenOptions { look: *look, mode, slots: *slots, ctrl_c_ends: true }
    }

    async fn next(&mut self, events: &mut Events, wait: Span) -> News {
        let behind = events.follower.position();
        tokio::select! {
            biased;
            wish = self.interrupts.next() => News::Wish(wish),
            // Before events and output, of which there may be no end.
            news = of_post(&mut self.post) => News::Post(news),
            failed = self.station.fails() => News::Failed(failed),
            news = events.next() => News::Events(behind, news),
            Some(printed) = self.printed.recv() => News::Printed(printed),
            Some(earlier) = self.earlier.recv() => News::Known(earlier),
            () = sleep(Duration::from_millis(wait.as_millis())) => News::Time,
        }
    }

    async fn learn(
        &mut self,
        screen: &mut Screen,
        follower: &mut Follower,
        behind: Position,
        news: Followed,
    ) -> Result<(), CliError> {
        match news {
            Followed::Events(batches) => {
                for batch in &batches {
                    self.take_in(screen, batch, behind);
                }
            }
            Followed::Behind(from) => {
                for batch in self.stores.journal.tail(from, 16_384).await? {
                    let position = batch.position;
                    let events = batch.events.into_iter().map(|it| (it.at, it.event)).collect();
                    self.take_in(screen, &Published::new(position, events), behind);
                    follower.skip_to(position);
                }
            }
        }
        Ok(())
    }

    fn take_in(&self, screen: &mut Screen, batch: &Published, behind: Position) {
        for (position, (at, event)) in batch.numbered().filter(|(at, _)| *at > behind) {
            let own = event.run().is_none_or(|run| run == self.run);
            if !own || matches!(event, Event::RunSubmitted { .. }) && !self.order.json {
                continue;
            }
            if self.order.json && event.run().is_some() {
                output::event(screen.summary().plan(), (position, *at), event);
            }
            screen.learn(*at, event);
        }
    }

    /// What steps printed comes before what became of them. What they print meanwhile can wait: some print without end.
    fn hear_the_rest(&mut self, screen: &mut Screen, terminal: &mut Terminal) {
        for _ in 0..self.printed.len() {
            let Ok(printed) = self.printed.try_recv() else { return };
            hear(screen, &printed);
            draw(screen, terminal);
        }
    }

    /// The first time politely, the second time not.
    fn end_run(&self, times: u32) {
        self.cancel(if times == 1 { CancelLevel::Stop } else { CancelLevel::Kill });
    }

    fn cancel(&self, level: CancelLevel) {
        let run = self.run;
        let handle = self.station.handle().clone();
        // Nobody waits for the answer: it comes when it is durable, and a journal may have stopped.
        tokio::spawn(async move { drop(handle.ask(Request::Cancel { run, level }).await) });
    }

    /// Whether to end without waiting for the run. The guard ends what runs; the journal knows what was durable.
    fn is_over(&self, ends: u32) -> Result<bool, CliError> {
        match self.stalled() {
            // Nothing can be cancelled in good order.
            Some(error) => Err(error.into()),
            None => Ok(ends >= ENDS_MAX),
        }
    }

    /// What failed, and how to go on with what was durable. Without its link an instance has no guard either, and that is
    /// not what failed.
    async fn failed(&mut self, error: StationError) -> CliError {
        let of_link = match &mut self.post {
            Some(post) => post.failure().await,
            None => None,
        };
        self.hinted(of_link.unwrap_or_else(|| error.into()))
    }

    fn hinted(&self, error: CliError) -> CliError {
        match self.order.hints.resume(self.run) {
            Some(resume) => error.hint(format!("`{resume}` goes on where it was")),
            None => error,
        }
    }

    /// Why nothing becomes durable at the moment.
    fn stalled(&self) -> Option<StoreError> {
        let journal = self.station.handle().views().look(|view| view.stalled.clone());
        journal.or_else(|| self.logs.stalled())
    }

    /// Says once why nothing goes on, and once that it does again.
    fn tell_stalled(&self, screen: &mut Screen, told: bool) -> bool {
        let stalled = self.stalled();
        match &stalled {
            Some(error) if !told => screen.insert(&format!("waiting: {error}")),
            None if told => screen.insert("the store works again"),
            Some(_) | None => {}
        }
        stalled.is_some()
    }

    fn show(&self, screen: &mut Screen) {
        let summary = screen.summary();
        let waiting: Vec<StepIx> = summary
            .steps()
            .filter(|step| matches!(step.status(), StepStatus::Waiting | StepStatus::Ready))
            .take(ASKED_MAX)
            .map(|step| step.ix())
            .collect();
        let waits: Vec<(StepIx, Why)> = self.station.handle().views().look(|view| {
            let why = |step: &StepIx| Some((*step, view.engine.why(self.run, *step)?));
            waiting.iter().filter_map(why).collect()
        });
        let lines = moment(screen.look(), summary, system_now(), &waits);
        screen.insert(&lines.join("\n"));
    }
}

/// What comes of other instances; nothing ever where there are none.
async fn of_post(post: &mut Option<Post>) -> PostNews {
    match post {
        Some(post) => post.next().await,
        None => pending().await,
    }
}

/// What steps wrote for people: here, or beside the output that other instances sent.
fn notes(order: &Order, stores: &Stores, summary: &Summary) -> Vec<(String, String)> {
    if order.leading.is_none() {
        return written(|fence| executors::summary(&order.scratch(), fence), summary);
    }
    let sent = logs::notes(&*stores.logs, summary.run());
    let sent = block_in_place(|| Handle::current().block_on(sent)).unwrap_or_default();
    sent.into_iter().collect::<Notes>().written(summary)
}

/// The last bytes of a log.
fn tail(stores: &Stores, log: LogId, bytes: usize) -> Vec<u8> {
    let read = async {
        let size = stores.logs.read(log, 0..0).await?.size;
        stores.logs.read(log, size.saturating_sub(bytes as u64)..size).await
    };
    let read = block_in_place(|| Handle::current().block_on(read));
    read.map(|part| part.bytes).unwrap_or_default()
}

fn draw(screen: &mut Screen, terminal: &mut Terminal) -> Span {
    // A reader that has closed standard output has seen enough; the run goes on.
    terminal.draw(screen, system_now()).unwrap_or(Span::secs(1))
}

fn hear(screen: &mut Screen, printed: &Printed) {
    screen.hear(system_now(), printed.log, &printed.bytes);
}
