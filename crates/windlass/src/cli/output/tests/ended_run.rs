//! A run that has ended, and a status of one that has not.

use windlass_core::id::{Fence, RunId, Term};
use windlass_core::outcome::StepStatus;
use windlass_core::report::{LockHolder, LockWait, WhyReport};
use windlass_core::time::Span;
use windlass_store::logs::LogId;

use super::scripted_run::{RUN, START, ScriptedRun, caps, film, hints, visible};
use crate::cli::output::{
    ColorMode, DisplayKind, EndedRun, OutputMode, TerminalCaps, ending, live_status,
};

fn ended(film: &ScriptedRun, caps: TerminalCaps) -> String {
    let summary = film.ended();
    let now = START + Span::secs(20);
    let mut logs = |log: LogId, _: usize| film.log(log);
    let ended = EndedRun { caps: &caps, summary: &summary, now, hints: &hints(), tests: &[] };
    visible(&ending(&ended, &mut logs).join("\n"))
}

#[test]
fn failure_is_last_with_its_details() {
    insta::assert_snapshot!(ended(&film(), caps(DisplayKind::Live, 100)), @r"

    step           status       tries   wait   time  worker
    fetch          ✓ succeeded      1   10ms   1.2s  alpha
    lint           ✓ succeeded      1   10ms   3.0s  alpha
    build          ✓ succeeded      1          5.4s  alpha
    test[linux]    ✓ succeeded      1          6.0s  alpha
    test[macos]    ✓ succeeded      1          2.6s  alpha
    test[windows]  - skipped
    unit           ✓ succeeded      2   2.0s   4.6s  alpha
    docs           ■ cancelled      1   10ms  15.1s  alpha
    bundle         ✗ failed         1          2.3s  alpha
    soak           ○ blocked
    deploy         ○ blocked
    tell           ✓ succeeded      1  200ms  820ms  alpha

    critical path fetch → build → test[linux] → bundle → tell  15.8s, 98% of the time

    1 step was skipped: no worker here can run it
    - test[windows]  needs windows

    ✗ bundle  exit 101 after 2.3s
      │ packing dist/
      │ thread 'main' panicked at src/bundle.rs:41:9:
      │ no such file: dist/app.wasm
      │ note: run with `RUST_BACKTRACE=1` to see where
      run it again  windlass run ship.yml bundle
      whole log     windlass logs 6e2mhxk2000 bundle
      because of it 2 steps blocked, 1 cancelled

    ✗ ship failed in 16.0s: 7 succeeded, 1 failed, 1 cancelled, 1 skipped, 2 blocked
    ");
}

#[test]
fn narrow_terminal_has_fewer_columns() {
    insta::assert_snapshot!(ended(&film(), caps(DisplayKind::Live, 40)), @r"

    step           status       tries   time
    fetch          ✓ succeeded      1   1.2s
    lint           ✓ succeeded      1   3.0s
    build          ✓ succeeded      1   5.4s
    test[linux]    ✓ succeeded      1   6.0s
    test[macos]    ✓ succeeded      1   2.6s
    test[windows]  - skipped
    unit           ✓ succeeded      2   4.6s
    docs           ■ cancelled      1  15.1s
    bundle         ✗ failed         1   2.3s
    soak           ○ blocked
    deploy         ○ blocked
    tell           ✓ succeeded      1  820ms

    critical path fetch → build →
      test[linux] → bundle → tell  15.8s,
      98% of the time

    1 step was skipped: no worker here can
      run it
    - test[windows]  needs windows

    ✗ bundle  exit 101 after 2.3s
      │ packing dist/
      │ thread 'main' panicked at src/bundle.rs:41:9:
      │ no such file: dist/app.wasm
      │ note: run with `RUST_BACKTRACE=1` to see where
      run it again
        windlass run ship.yml bundle
      whole log
        windlass logs 6e2mhxk2000 bundle
      because of it
        2 steps blocked, 1 cancelled

    ✗ ship failed in 16.0s: 7 succeeded, 1
      failed, 1 cancelled, 1 skipped, 2
      blocked
    ");
}

#[test]
fn only_statuses_that_need_attention_have_a_bright_color() {
    let caps = TerminalCaps { color: ColorMode::On, ..caps(DisplayKind::Live, 100) };
    insta::assert_snapshot!(ended(&film(), caps), @r"

    ␛[2mstep␛[0m           ␛[2mstatus␛[0m       ␛[2mtries␛[0m   ␛[2mwait␛[0m   ␛[2mtime␛[0m  ␛[2mworker␛[0m
    fetch          ␛[32m✓␛[0m ␛[2msucceeded␛[0m      ␛[2m1␛[0m   ␛[2m10ms␛[0m   1.2s  ␛[2malpha␛[0m
    lint           ␛[32m✓␛[0m ␛[2msucceeded␛[0m      ␛[2m1␛[0m   ␛[2m10ms␛[0m   3.0s  ␛[2malpha␛[0m
    build          ␛[32m✓␛[0m ␛[2msucceeded␛[0m      ␛[2m1␛[0m          5.4s  ␛[2malpha␛[0m
    test[linux]    ␛[32m✓␛[0m ␛[2msucceeded␛[0m      ␛[2m1␛[0m          6.0s  ␛[2malpha␛[0m
    test[macos]    ␛[32m✓␛[0m ␛[2msucceeded␛[0m      ␛[2m1␛[0m          2.6s  ␛[2malpha␛[0m
    test[windows]  ␛[2m-␛[0m ␛[2mskipped␛[0m
    unit           ␛[32m✓␛[0m ␛[2msucceeded␛[0m      ␛[33m2␛[0m   ␛[2m2.0s␛[0m   4.6s  ␛[2malpha␛[0m
    docs           ␛[33m■␛[0m ␛[33mcancelled␛[0m      ␛[2m1␛[0m   ␛[2m10ms␛[0m  15.1s  ␛[2malpha␛[0m
    bundle         ␛[31m✗␛[0m ␛[31mfailed␛[0m         ␛[2m1␛[0m          2.3s  ␛[2malpha␛[0m
    soak           ␛[33m○␛[0m ␛[33mblocked␛[0m
    deploy         ␛[33m○␛[0m ␛[33mblocked␛[0m
    tell           ␛[32m✓␛[0m ␛[2msucceeded␛[0m      ␛[2m1␛[0m  ␛[2m200ms␛[0m  820ms  ␛[2malpha␛[0m

    ␛[2mcritical path␛[0m fetch → build → test[linux] → bundle → tell  ␛[2m15.8s, 98% of the time␛[0m

    ␛[33m1 step was skipped: no worker here can run it␛[0m
    ␛[2m-␛[0m test[windows]  needs windows

    ␛[31m✗␛[0m ␛[31mbundle␛[0m  exit 101 after 2.3s
      ␛[2m│␛[0m packing dist/
      ␛[2m│␛[0m thread 'main' panicked at src/bundle.rs:41:9:
      ␛[2m│␛[0m no such file: dist/app.wasm
      ␛[2m│␛[0m note: run with `RUST_BACKTRACE=1` to see where
      ␛[2mrun it again ␛[0m windlass run ship.yml bundle
      ␛[2mwhole log    ␛[0m windlass logs 6e2mhxk2000 bundle
      ␛[2mbecause of it␛[0m 2 steps blocked, 1 cancelled

    ␛[31m✗␛[0m ␛[31mship failed␛[0m in 16.0s: 7 succeeded, 1 failed, 1 cancelled, 1 skipped, 2 blocked
    ");
}

#[test]
fn interruption_is_reported() {
    let mut film = film();
    let (_, last) = film.takes.pop().expect("the end");
    film.at(3_616_020).event(windlass_core::engine::Event::Led(
        windlass_core::engine::event::Led {
            term: Term(2),
            ttl: Span::secs(15),
            generation: 0,
            own: None,
            embargo: None,
            proven: windlass_core::engine::ProvenTime::NONE,
        },
    ));
    film.takes.push((START + Span::millis(3_616_020), last));
    let text = ended(&film, caps(DisplayKind::Plain, 100));
    let line = "interrupted once, for 1h 00m; finished steps were not run again";
    assert!(text.contains(line), "{text}");
    assert!(text.contains("98% of the time"), "{text}");
    assert!(
        text.contains("ship failed in 16.0s:"),
        "the interruption is not part of the duration: {text}"
    );
}

#[test]
fn status_lines_show_running_steps_and_what_others_wait_for() {
    let film = film();
    let mut screen = film.screen(caps(DisplayKind::Live, 100), OutputMode::None);
    film.play(&mut screen, 4_000);
    let now = START + Span::secs(4);
    let own = live_status(screen.caps(), screen.summary(), now, &[]).join("\n");
    let step = |name| film.step(name);
    let holder = |run, fence| LockHolder {
        run,
        step: step("docs"),
        name: "docs".into(),
        worker: "alpha".into(),
        fence,
        since: START,
    };
    let lock = LockWait {
        lock: "device-farm".into(),
        slots: 1,
        holders: vec![holder(RUN, Fence(3)), holder(RunId(77), Fence(9))],
        reserved: false,
    };
    let waits = [
        (step("unit"), WhyReport::BackingOff { until: START + Span::secs(5), attempt: 2 }),
        (step("bundle"), WhyReport::Needs { waiting: vec![(step("build"), StepStatus::Running)] }),
        (step("soak"), WhyReport::Locks { waiting: vec![lock] }),
        (step("deploy"), WhyReport::Queue { ahead: 3, workers: Vec::new() }),
    ];
    let line = live_status(screen.caps(), screen.summary(), now, &waits).join("\n");
    insta::assert_snapshot!(format!("{own}\n---\n{line}"), @r"
    ship running: 2 of 12 ended after 4s
    ● build              2s  on alpha
    ● docs               3s  on alpha
    · test[linux]            waits for build (running)
    · test[macos]            waits for build (running)
    · test[windows]          waits for build (running)
    · unit                   waits for its next try
    · bundle                 waits for test, unit
    · soak                   waits for bundle
    · deploy                 waits for soak
    · tell                   waits for deploy
    ---
    ship running: 2 of 12 ended after 4s
    ● build       2s  on alpha
    ● docs        3s  on alpha
    · unit            waits for its try 2 in 1.0s
    · bundle          waits for build (running)
    · soak            waits for lock device-farm, held by docs, run 2d
    · deploy          waits for a free slot, 3 before it
    ");
}
