//! Formats for other programs: GitHub Actions and `JUnit` XML.

use windlass_core::time::Span;
use windlass_store::logs::LogId;

use super::scripted_run::{START, caps, film, text};
use crate::cli::output::{DisplayKind, OutputMode, annotations, junit, markdown};

#[test]
fn groups_stream_and_never_mix() {
    let film = film();
    let mut screen = film.screen(caps(DisplayKind::GitHub, 100), OutputMode::Group);
    let mut lines = film.play(&mut screen, 9_000);
    screen.close(START + Span::secs(9));
    lines.extend(screen.take());
    insta::assert_snapshot!(text(&lines), @r"
    ::group::fetch
    fetching 12 crates
    100%
    fetched
    ::endgroup::
     1/12  ✓ fetch            1.2s
    ::group::lint
    Checking app
    no problems
    ::endgroup::
    ::group::unit
    connecting to db
    connection refused
    ::endgroup::
           ↻ unit             1.7s  exit 7; try 2 of 3 in 2.0s
     2/12  ✓ lint             3.0s
    ::group::docs
    rendering 40 pages
    ::endgroup::
    ::group::build
    Compiling app v0.1.0
    Finished
    ::endgroup::
     3/12  ✓ build            5.4s
     4/12  - test[windows]          skipped: needs windows, which no worker here has
    ::group::unit
    41 tests passed
    ::endgroup::
     5/12  ✓ unit             4.6s
    ");
}

#[test]
fn root_cause_is_annotated() {
    let film = film();
    let mut logs = |log: LogId, _: usize| film.log(log);
    let lines = annotations(&film.ended(), START, &mut logs).join("\n");
    insta::assert_snapshot!(lines, @r"
    ::error title=bundle failed::exit 101 after 2.3s%0Apacking dist/%0Athread 'main' panicked at src/bundle.rs:41:9:%0Ano such file: dist/app.wasm%0Anote: run with `RUST_BACKTRACE=1` to see where
    ");
}

#[test]
fn summary_page_is_markdown() {
    let film = film();
    let mut logs = |log: LogId, _: usize| film.log(log);
    let written = [("test[linux]".to_owned(), "**41** tests\n\n".to_owned())];
    insta::assert_snapshot!(markdown(&film.ended(), START, &mut logs, &written), @r"
    ### ❌ ship failed

    7 succeeded, 1 failed, 1 cancelled, 1 skipped, 2 blocked in 16.0s.

    **bundle** exit 101 after 2.3s; 2 steps blocked, 1 cancelled because of it

    ```text
    packing dist/
    thread 'main' panicked at src/bundle.rs:41:9:
    no such file: dist/app.wasm
    note: run with `RUST_BACKTRACE=1` to see where
    ```

    | step | status | tries | wait | time | worker |
    |---|---|--:|--:|--:|---|
    | fetch | succeeded | 1 | 10ms | 1.2s | alpha |
    | lint | succeeded | 1 | 10ms | 3.0s | alpha |
    | build | succeeded | 1 | 0ms | 5.4s | alpha |
    | test\[linux\] | succeeded | 1 | 0ms | 6.0s | alpha |
    | test\[macos\] | succeeded | 1 | 0ms | 2.6s | alpha |
    | test\[windows\] | skipped: needs windows, which no worker here has | | | | |
    | unit | succeeded | 2 | 2.0s | 4.6s | alpha |
    | docs | cancelled | 1 | 10ms | 15.1s | alpha |
    | bundle | failed | 1 | 0ms | 2.3s | alpha |
    | soak | blocked: because of bundle | | | | |
    | deploy | blocked: because of bundle | | | | |
    | tell | succeeded | 1 | 200ms | 820ms | alpha |

    #### test\[linux\]

    **41** tests
    ");
}

#[test]
fn junit_has_every_step_and_the_logs_of_failures() {
    let film = film();
    let mut logs = |log: LogId, _: usize| {
        let mut bytes = film.log(log);
        bytes.extend(b"<&>\x00\x1b[31m]]>\xff\n");
        bytes
    };
    insta::assert_snapshot!(junit(&film.ended(), START, &mut logs), @r#"
    <?xml version="1.0" encoding="UTF-8"?>
    <testsuites name="ship" tests="12" failures="1" errors="0" skipped="4" time="16.020">
      <testsuite name="ship" tests="12" failures="1" errors="0" skipped="4" time="16.020" timestamp="2026-09-21T14:13:20.000Z" id="6e2mhxk2000">
        <testcase name="fetch" classname="ship" time="1.230"/>
        <testcase name="lint" classname="ship" time="3.090"/>
        <testcase name="build" classname="ship" time="5.460"/>
        <testcase name="test[linux]" classname="ship" time="6.000"/>
        <testcase name="test[macos]" classname="ship" time="2.600"/>
        <testcase name="test[windows]" classname="ship" time="0.000">
          <skipped message="skipped: needs windows, which no worker here has"/>
        </testcase>
        <testcase name="unit" classname="ship" time="4.660">
          <flakyFailure message="exit 7" type="failed">connecting to db
    connection refused
    &lt;&amp;&gt;]]&gt;�</flakyFailure>
        </testcase>
        <testcase name="docs" classname="ship" time="15.190">
          <skipped message="cancelled: stopped because another step failed"/>
        </testcase>
        <testcase name="bundle" classname="ship" time="2.300">
          <failure message="exit 101" type="failed">packing dist/
    thread 'main' panicked at src/bundle.rs:41:9:
    no such file: dist/app.wasm
    note: run with `RUST_BACKTRACE=1` to see where
    &lt;&amp;&gt;]]&gt;�</failure>
        </testcase>
        <testcase name="soak" classname="ship" time="0.000">
          <skipped message="blocked: because of bundle"/>
        </testcase>
        <testcase name="deploy" classname="ship" time="0.000">
          <skipped message="blocked: because of bundle"/>
        </testcase>
        <testcase name="tell" classname="ship" time="0.820"/>
      </testsuite>
    </testsuites>
    "#);
}
