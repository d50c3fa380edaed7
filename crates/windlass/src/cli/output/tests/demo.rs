//! The scripted run in real time, for manual review: `cargo test -p windlass --lib demo -- --ignored --nocapture`.
//!
//! `WINDLASS_DEMO=stream|group|failures|none` chooses the mode, `panic` ends it early with a panic; `t` shows the
//! running steps.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use windlass_core::time::{Span, Time};
use windlass_store::logs::LogId;

use super::scripted_run::{START, film, hints, show};
use crate::cli::output::{
    EndedRun, KeyInput, OutputMode, Terminal, TerminalCaps, ending, live_status,
};

#[expect(clippy::disallowed_methods, reason = "for manual review")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[expect(clippy::disallowed_methods, reason = "for manual review")]
fn clock() -> impl Fn() -> Time {
    let began = Instant::now();
    move || START + Span::millis(u64::try_from(began.elapsed().as_millis()).unwrap())
}

#[test]
#[ignore = "draws for the eyes of a reader in a terminal and asserts nothing: cargo test -p windlass --lib demo -- --ignored --nocapture"]
#[expect(clippy::disallowed_methods, reason = "for manual review")]
fn demo() {
    let film = film();
    let width = Terminal::size().columns;
    let caps = TerminalCaps::detect(&variable, std::io::stderr().is_terminal(), Some(width));
    let mode = match variable("WINDLASS_DEMO").as_deref() {
        Some("stream") => OutputMode::Stream,
        Some("group") => OutputMode::Group,
        Some("none") => OutputMode::None,
        Some("failures") => OutputMode::Failures,
        _ => OutputMode::default_for(&caps, 4),
    };
    let mut screen = film.screen(caps, mode);
    let mut terminal = Terminal::new(caps.display);
    let keys = KeyInput::listen();
    let now = clock();
    for (at, take) in &film.takes {
        while now() < *at {
            terminal.draw(&mut screen, now()).unwrap();
            match &keys {
                Some(keys) if keys.next(Span::millis(20)) == Some(b't') => {
                    let text = live_status(screen.caps(), screen.summary(), now(), &[]);
                    screen.insert(&text.join("\n"));
                }
                Some(_) => {}
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        }
        let early = variable("WINDLASS_DEMO").is_some_and(|mode| mode == "panic");
        assert!(!early || *at < START + Span::secs(2), "the terminal is restored");
        show(&mut screen, *at, take);
    }
    screen.close(now());
    let mut logs = |log: LogId, _: usize| film.log(log);
    let text = ending(
        &EndedRun {
            caps: screen.caps(),
            summary: screen.summary(),
            now: now(),
            hints: &hints(),
            tests: &[],
        },
        &mut logs,
    );
    screen.insert(&text.join("\n"));
    terminal.draw_now(&mut screen, now()).unwrap();
}
