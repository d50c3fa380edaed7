//! A run while it runs.

use windlass_core::engine::{CancelLevel, CancelReason, Event, event};
use windlass_core::time::Span;

use super::scripted_run::{START, caps, film, text, visible};
use crate::cli::output::{
    ColorMode, DisplayKind, GlyphSet, OutputMode, Screen, ScreenOptions, TerminalCaps,
};

/// The lines up to a time, and the block below them.
fn picture(caps: TerminalCaps, mode: OutputMode, ms: u64) -> String {
    let film = film();
    let mut screen = film.screen(caps, mode);
    let lines = film.play(&mut screen, ms);
    let block = screen.block(START + Span::millis(ms), 24);
    format!("{}\n---\n{}", text(&lines), visible(&block.join("\n")))
}

#[test]
fn wide_terminal_has_lines_above_a_block() {
    insta::assert_snapshot!(picture(caps(DisplayKind::Live, 100), OutputMode::Failures, 7_000), @r"
    ✓ fetch            1.2s
    ↻ unit             1.7s  exit 7; try 2 of 3 in 2.0s
    ✓ lint             3.0s
    ✓ build            5.4s
    - test[windows]          skipped: needs windows, which no worker here has
    ---
    ● docs               6s of 9s  rendering 40 pages
    ● unit               2s  try 2
    ● test[linux]        0s of 6s
    ● test[macos]        0s of 6s
    ━━━━━━──────────────  4/12  4 running  7s  about 20s left
    ");
}

#[test]
fn narrow_terminal_omits_the_least_important_parts() {
    insta::assert_snapshot!(picture(caps(DisplayKind::Live, 40), OutputMode::Failures, 7_000), @r"
    ✓ fetch            1.2s
    ↻ unit             1.7s
        exit 7; try 2 of 3 in 2.0s
    ✓ lint             3.0s
    ✓ build            5.4s
    - test[windows]
        skipped: needs windows, which no
        worker here has
    ---
    ● docs               6s of 9s
    ● unit               2s  try 2
    ● test[linux]        0s of 6s
    ● test[macos]        0s of 6s
    4/12  4 running  7s  about 20s left
    ");
}

#[test]
fn colors_have_a_meaning() {
    let caps = TerminalCaps { color: ColorMode::On, ..caps(DisplayKind::Live, 80) };
    insta::assert_snapshot!(picture(caps, OutputMode::Stream, 15_500), @r"
    ␛[36mfetch        ␛[0m ␛[2m│␛[0m fetching 12 crates
    ␛[35mlint         ␛[0m ␛[2m│␛[0m ␛[32mChecking␛[0m app␛[0m
    ␛[36mfetch        ␛[0m ␛[2m│␛[0m 100%
    ␛[36mfetch        ␛[0m ␛[2m│␛[0m fetched
    ␛[32m✓␛[0m fetch         ␛[2m   1.2s␛[0m
    ␛[34mdocs         ␛[0m ␛[2m│␛[0m rendering 40 pages
    ␛[35munit         ␛[0m ␛[2m│␛[0m connecting to db
    ␛[35munit         ␛[0m ␛[2m│␛[0m connection refused
    ␛[33m↻␛[0m unit          ␛[2m   1.7s␛[0m  exit 7; try 2 of 3 in 2.0s
    ␛[35mlint         ␛[0m ␛[2m│␛[0m no problems
    ␛[32m✓␛[0m lint          ␛[2m   3.0s␛[0m
    ␛[34mbuild        ␛[0m ␛[2m│␛[0m Compiling app v0.1.0
    ␛[34mbuild        ␛[0m ␛[2m│␛[0m Finished
    ␛[32m✓␛[0m build         ␛[2m   5.4s␛[0m
    ␛[2m-␛[0m test[windows] ␛[2m       ␛[0m  skipped: needs windows, which no worker here has
    ␛[35munit         ␛[0m ␛[2m│␛[0m 41 tests passed
    ␛[32m✓␛[0m unit          ␛[2m   4.6s␛[0m
    ␛[95mtest[macos]  ␛[0m ␛[2m│␛[0m test result: ok
    ␛[32m✓␛[0m test[macos]   ␛[2m   2.6s␛[0m
    ␛[96mtest[linux]  ␛[0m ␛[2m│␛[0m test result: ok
    ␛[32m✓␛[0m test[linux]   ␛[2m   6.0s␛[0m
    ␛[96mbundle       ␛[0m ␛[2m│␛[0m packing dist/
    ␛[96mbundle       ␛[0m ␛[2m│␛[0m thread 'main' panicked at src/bundle.rs:41:9:
    ␛[96mbundle       ␛[0m ␛[2m│␛[0m no such file: dist/app.wasm
    ␛[96mbundle       ␛[0m ␛[2m│␛[0m note: run with `RUST_BACKTRACE=1` to see where
    ␛[31m✗␛[0m bundle        ␛[2m   2.3s␛[0m  exit 101
    ---
    ␛[1m●␛[0m tell               0s
    ␛[31m━━━━━━━━━━━━━━━━━━␛[0m␛[2m──␛[0m  ␛[1m11/12␛[0m  1 running  ␛[31m1 failed␛[0m  15s
    ");
}

#[test]
fn terminal_without_unicode_gets_ascii_glyphs() {
    let caps = TerminalCaps { glyphs: GlyphSet::Ascii, ..caps(DisplayKind::Live, 80) };
    insta::assert_snapshot!(picture(caps, OutputMode::Failures, 15_500), @r"
    + fetch            1.2s
    ~ unit             1.7s  exit 7; try 2 of 3 in 2.0s
    + lint             3.0s
    + build            5.4s
    - test[windows]          skipped: needs windows, which no worker here has
    + unit             4.6s
    + test[macos]      2.6s
    + test[linux]      6.0s
    x bundle           2.3s  exit 101
    ---
    * tell               0s
    ##################--  11/12  1 running  1 failed  15s
    ");
}

#[test]
fn log_has_complete_lines_and_a_counter() {
    let film = film();
    let mut screen = film.screen(caps(DisplayKind::Plain, 100), OutputMode::Group);
    insta::assert_snapshot!(text(&film.play(&mut screen, 20_000)), @r"
     1/12  ✓ fetch            1.2s
        fetching 12 crates
        100%
        fetched
           ↻ unit             1.7s  exit 7; try 2 of 3 in 2.0s
        connecting to db
        connection refused
     2/12  ✓ lint             3.0s
        Checking app
        no problems
     3/12  ✓ build            5.4s
        Compiling app v0.1.0
        Finished
     4/12  - test[windows]          skipped: needs windows, which no worker here has
     5/12  ✓ unit             4.6s
        41 tests passed
     6/12  ✓ test[macos]      2.6s
        test result: ok
     7/12  ✓ test[linux]      6.0s
        test result: ok
     8/12  ✗ bundle           2.3s  exit 101
        packing dist/
        thread 'main' panicked at src/bundle.rs:41:9:
        no such file: dist/app.wasm
        note: run with `RUST_BACKTRACE=1` to see where
    12/12  ✓ tell            820ms
        sent the report
    ");
}

#[test]
fn stream_has_the_step_before_each_line() {
    let film = film();
    let mut screen = film.screen(caps(DisplayKind::Plain, 100), OutputMode::Stream);
    insta::assert_snapshot!(text(&film.play(&mut screen, 20_000)), @r"
    fetch         │ fetching 12 crates
    lint          │ Checking app
    fetch         │ 100%
    fetch         │ fetched
     1/12  ✓ fetch            1.2s
    docs          │ rendering 40 pages
    unit          │ connecting to db
    unit          │ connection refused
           ↻ unit             1.7s  exit 7; try 2 of 3 in 2.0s
    lint          │ no problems
     2/12  ✓ lint             3.0s
    build         │ Compiling app v0.1.0
    build         │ Finished
     3/12  ✓ build            5.4s
     4/12  - test[windows]          skipped: needs windows, which no worker here has
    unit          │ 41 tests passed
     5/12  ✓ unit             4.6s
    test[macos]   │ test result: ok
     6/12  ✓ test[macos]      2.6s
    test[linux]   │ test result: ok
     7/12  ✓ test[linux]      6.0s
    bundle        │ packing dist/
    bundle        │ thread 'main' panicked at src/bundle.rs:41:9:
    bundle        │ no such file: dist/app.wasm
    bundle        │ note: run with `RUST_BACKTRACE=1` to see where
     8/12  ✗ bundle           2.3s  exit 101
    tell          │ sent the report
    12/12  ✓ tell            820ms
    ");
}

#[test]
fn block_fits_the_width_and_a_third_of_the_height() {
    let film = film();
    for (width, rows) in [(1, 1), (7, 3), (20, 6), (69, 24), (70, 24), (200, 100)] {
        let mut screen = film.screen(caps(DisplayKind::Live, width), OutputMode::Group);
        for ms in (0..17_000).step_by(500) {
            film.play(&mut screen, ms);
            let block = screen.block(START + Span::millis(ms), rows);
            assert!(block.iter().all(|line| crate::cli::output::columns(line) <= width));
            assert!(block.len() <= (rows / 3).max(1) + 1, "{block:?} in {rows} rows");
        }
    }
}

#[test]
fn ctrl_c_hint_is_shown_only_where_ctrl_c_ends_the_run() {
    let (level, reason) = (CancelLevel::Stop, CancelReason::Asked);
    let said = |ctrl_c_ends| {
        let (caps, mode) = (caps(DisplayKind::Live, 100), OutputMode::Failures);
        let summary = film().summary();
        let cancelled =
            Event::RunCancelled(event::RunCancelled { run: summary.run(), level, reason });
        let mut screen = Screen::new(summary, ScreenOptions { caps, mode, slots: 4, ctrl_c_ends });
        screen.apply_event(START, &cancelled);
        visible(&text(&screen.take()))
    };
    assert_eq!(
        said(true).trim(),
        "cancelling: running steps are being stopped (Ctrl-C kills them)"
    );
    assert_eq!(said(false).trim(), "cancelling: running steps are being stopped");
}
