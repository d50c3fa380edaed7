//! A scripted run: twelve steps with a matrix, a retry, a skip without a matching worker, and a failure with its
//! consequences.

use std::sync::Arc;

use windlass_core::engine::{Event, LeaseEndKind, RunOptions, StepFollowUp, StepSettlement, event};
use windlass_core::id::{Fence, Incarnation, RunId, Seq, StepIx, Term, WorkerId};
use windlass_core::outcome::{Outcome, OutcomeKind, RunStatus, StepOutput, StepStatus};
use windlass_core::plan::{Placement, Plan, PlanBuilder, RetryPolicy, StatusCondition, StepSpec};
use windlass_core::requirement::{Labels, Requirement};
use windlass_core::session::WorkerLocality;
use windlass_core::summary::{RunSummary, StepDurations};
use windlass_core::time::{Span, Time};
use windlass_store::logs::LogId;

use crate::cli::output::screen::ScreenLine;
use crate::cli::output::{
    ColorMode, CommandHints, DisplayKind, GlyphSet, OutputMode, Screen, ScreenOptions, TerminalCaps,
};

/// A start time that prints well.
pub(super) const START: Time = Time::from_millis(1_790_000_000_000);
pub(super) const RUN: RunId = RunId(0x0019_c2a4_7b31_0000);

/// The hints of `windlass run ship.yml` with the default store.
pub(super) fn hints() -> CommandHints {
    CommandHints {
        run: Some("windlass run ship.yml".to_owned()),
        store: Some(String::new()),
        controller: None,
    }
}

/// An event of the script.
#[derive(Clone, Debug)]
pub(super) enum ScriptedEvent {
    Event(Event),
    Output(LogId, Vec<u8>),
}

/// The events of the script, from the submission on.
pub(super) struct ScriptedRun {
    pub(super) plan: Arc<Plan>,
    pub(super) takes: Vec<(Time, ScriptedEvent)>,
    pub(super) options: RunOptions,
    now: Time,
    fences: u64,
}

impl ScriptedRun {
    /// An empty script of a plan.
    pub(super) fn new(plan: Plan) -> Self {
        let (options, now) = (RunOptions::default(), START);
        let mut film = Self { plan: Arc::new(plan), takes: Vec::new(), options, now, fences: 0 };
        film.event(Event::WorkerRegistered(event::WorkerRegistered {
            worker: WorkerId(1),
            name: "alpha".into(),
            incarnation: Incarnation(1),
            labels: Labels::new(["linux", "os=linux", "macos"]),
            slots: 4,
            locality: WorkerLocality::SharedFate,
            scope: windlass_core::requirement::WorkerScope::AllRuns,
        }));
        film
    }

    pub(super) fn at(&mut self, ms: u64) -> &mut Self {
        self.now = START + Span::millis(ms);
        self
    }

    pub(super) fn event(&mut self, event: Event) -> &mut Self {
        self.takes.push((self.now, ScriptedEvent::Event(event)));
        self
    }

    pub(super) fn step(&self, name: &str) -> StepIx {
        self.plan.find(name).expect("a step of the script")
    }

    /// Starts a step on a worker.
    pub(super) fn begin(&mut self, name: &str, attempt: u16) -> &mut Self {
        self.fences += 1;
        let (run, step, fence) = (RUN, self.step(name), Fence(self.fences));
        let (worker, delivery, seq) = (WorkerId(1), 1, Seq(1));
        self.event(Event::Granted(event::Granted {
            run,
            step,
            attempt,
            delivery,
            worker,
            fence,
            seq,
            expires: None,
        }));
        self.event(Event::Started(event::Started { run, step, fence }))
    }

    pub(super) fn says(&mut self, name: &str, attempt: u16, text: &str) -> &mut Self {
        let log = LogId::new(RUN, self.step(name), attempt, 1);
        self.takes.push((self.now, ScriptedEvent::Output(log, text.as_bytes().to_vec())));
        self
    }

    /// Ends its lease.
    pub(super) fn end(&mut self, name: &str, outcome: Outcome, next: StepFollowUp) -> &mut Self {
        let (run, step, fence) = (RUN, self.step(name), Fence(0));
        self.event(Event::LeaseEnded(event::LeaseEnded {
            run,
            step,
            fence,
            outcome,
            next,
            ended: LeaseEndKind::Reported,
        }))
    }

    pub(super) fn succeeds(&mut self, name: &str) -> &mut Self {
        self.end(name, Outcome::exit(0), StepFollowUp::Done(StepStatus::Succeeded))
    }

    pub(super) fn fails(&mut self, name: &str, code: i32) -> &mut Self {
        self.end(name, Outcome::exit(code), StepFollowUp::Done(StepStatus::Failed))
    }

    pub(super) fn settles(&mut self, name: &str, settled: StepSettlement) -> &mut Self {
        let step = self.step(name);
        self.event(Event::StepSettled(event::StepSettled { run: RUN, step, settled }))
    }

    pub(super) fn ends(&mut self, status: RunStatus) -> &mut Self {
        self.event(Event::RunEnded(event::RunEnded { run: RUN, status }))
    }

    /// The summary before the first event.
    pub(super) fn summary(&self) -> RunSummary {
        let mut summary = RunSummary::new(START, RUN, Arc::clone(&self.plan), self.options);
        summary.set_leader(Term(1), None);
        summary
    }

    /// The screen before the first event, with four slots.
    pub(super) fn screen(&self, caps: TerminalCaps, mode: OutputMode) -> Screen {
        let earlier: StepDurations =
            [("bundle", 4), ("docs", 9), ("test[linux]", 6), ("deploy", 3)]
                .map(|(name, secs)| (name.into(), Span::secs(secs)))
                .into();
        let mut screen =
            Screen::new(self.summary(), ScreenOptions { caps, mode, slots: 4, ctrl_c_ends: true });
        screen.set_past_durations(&earlier);
        screen
    }

    /// Plays events up to a time and returns the lines.
    pub(super) fn play(&self, screen: &mut Screen, until_ms: u64) -> Vec<ScreenLine> {
        let until = START + Span::millis(until_ms);
        for (at, take) in self.takes.iter().take_while(|(at, _)| *at <= until) {
            show(screen, *at, take);
        }
        screen.tick(until);
        screen.take()
    }

    /// The summary after the last event.
    pub(super) fn ended(&self) -> RunSummary {
        let mut summary = self.summary();
        for (at, take) in &self.takes {
            if let ScriptedEvent::Event(event) = take {
                summary.apply_event(*at, event);
            }
        }
        summary
    }

    /// The output of a step, as a store would read it.
    pub(super) fn log(&self, log: LogId) -> Vec<u8> {
        let said = self.takes.iter().filter_map(|(_, take)| match take {
            ScriptedEvent::Output(of, bytes) if *of == log => Some(bytes.clone()),
            ScriptedEvent::Output(..) | ScriptedEvent::Event(_) => None,
        });
        said.flatten().collect()
    }
}

pub(super) fn show(screen: &mut Screen, at: Time, take: &ScriptedEvent) {
    screen.tick(at);
    match take {
        ScriptedEvent::Event(event) => screen.apply_event(at, event),
        ScriptedEvent::Output(log, bytes) => screen.feed_output(at, *log, bytes),
    }
}

/// A terminal of this width without colors.
pub(super) fn caps(manner: DisplayKind, width: usize) -> TerminalCaps {
    TerminalCaps { color: ColorMode::Off, glyphs: GlyphSet::Unicode, display: manner, width }
}

/// The lines as text, with visible color codes.
pub(super) fn text(lines: &[ScreenLine]) -> String {
    let texts: Vec<&str> = lines.iter().map(|line| &*line.text).collect();
    visible(&texts.join("\n"))
}

pub(super) fn visible(text: &str) -> String {
    text.replace('\x1b', "␛")
}

fn ship() -> Plan {
    let mut plan = PlanBuilder::new("ship");
    let usual = StepSpec::default;
    let fetch = plan.step("fetch", usual());
    plan.step("lint", usual());
    let build = plan.step("build", usual());
    let cells = ["linux", "macos", "windows"].map(|os| {
        let requirement = Requirement::all([os]);
        let placement = Placement { requirement, ..Placement::default() };
        (os.to_owned(), StepSpec { placement, ..usual() })
    });
    let test = plan.matrix("test", cells);
    let unit = plan.step("unit", StepSpec { retry: RetryPolicy::times(2), ..usual() });
    plan.step("docs", usual());
    let bundle = plan.step("bundle", StepSpec { timeout: Some(Span::mins(5)), ..usual() });
    let soak = plan.step("soak", usual());
    let deploy = plan.step("deploy", usual());
    let tell = plan.step("tell", StepSpec { condition: StatusCondition::Always, ..usual() });
    let needs = [(build, fetch), (unit, fetch), (bundle, test), (bundle, unit)];
    // The cells of a matrix are before the node that joins them.
    for cell in 1..=3 {
        plan.needs(StepIx(test.0 - cell), build);
    }
    for (step, need) in needs.into_iter().chain([(soak, bundle), (deploy, soak), (tell, deploy)]) {
        plan.needs(step, need);
    }
    plan.build().expect("the scripted plan is valid")
}

/// The scripted run.
pub(super) fn film() -> ScriptedRun {
    let mut film = ScriptedRun::new(ship());
    film.at(10).begin("fetch", 1).begin("lint", 1).begin("docs", 1);
    film.at(300).says("fetch", 1, "fetching 12 crates\n").says(
        "lint",
        1,
        "\x1b[32mChecking\x1b[0m app\n",
    );
    film.at(900).says("fetch", 1, " 10%\r 60%\r100%\nfetched\n");
    film.at(1_240).succeeds("fetch").begin("build", 1).begin("unit", 1);
    film.at(1_500).says("docs", 1, "rendering 40 pages\n");
    film.at(2_900).says("unit", 1, "connecting to db\nconnection refused\n");
    let retry = StepFollowUp::Retry { at: START + Span::millis(5_000), avoid: None };
    film.at(3_000).end("unit", Outcome::exit(7), retry);
    film.at(3_100).says("lint", 1, "no problems\n").succeeds("lint");
    film.at(3_600).says("build", 1, "Compiling app v0.1.0\n");
    let unit = film.step("unit");
    film.at(5_000)
        .event(Event::BackoffEnded(event::BackoffEnded { run: RUN, step: unit }))
        .begin("unit", 2);
    film.at(6_700).says("build", 1, "Finished\n").succeeds("build");
    film.settles("test[windows]", StepSettlement::SkippedUnplaceable);
    film.begin("test[linux]", 1).begin("test[macos]", 1);
    film.at(7_900).says("unit", 2, "41 tests passed\n").succeeds("unit");
    film.at(9_300).says("test[macos]", 1, "test result: ok\n").succeeds("test[macos]");
    film.at(12_700).says("test[linux]", 1, "test result: ok\n").succeeds("test[linux]");
    film.begin("bundle", 1);
    film.at(13_200).says("bundle", 1, "packing dist/\n");
    film.at(15_000).says("bundle", 1, BUNDLE_SAYS).fails("bundle", 101);
    let cause = film.step("bundle");
    film.settles("soak", StepSettlement::Blocked { cause })
        .settles("deploy", StepSettlement::Blocked { cause });
    let stopped = Outcome::plain(OutcomeKind::Cancelled);
    film.at(15_200)
        .end("docs", stopped, StepFollowUp::Done(StepStatus::Cancelled))
        .begin("tell", 1);
    film.at(15_900).says("tell", 1, "sent the report");
    let outcome = Outcome { output: StepOutput::inline(r#"{"sent":3}"#), ..Outcome::exit(0) };
    film.at(16_020).end("tell", outcome, StepFollowUp::Done(StepStatus::Succeeded));
    film.ends(RunStatus::Failed);
    film
}

const BUNDLE_SAYS: &str = "\
thread 'main' panicked at src/bundle.rs:41:9:
no such file: dist/app.wasm
note: run with `RUST_BACKTRACE=1` to see where
";
