//! Many steps: the output and its cost stay small.

use windlass_core::engine::StepSettlement;
use windlass_core::outcome::RunStatus;
use windlass_core::plan::{PlanBuilder, StepSpec};
use windlass_core::time::Span;
use windlass_store::logs::LogId;

use super::scripted_run::{START, ScriptedRun, caps, film, hints};
use crate::cli::output::{DisplayKind, EndedRun, OutputMode, ending};

fn said(film: &ScriptedRun) -> String {
    let mut logs = |_: LogId, _: usize| Vec::new();
    let now = START + Span::hours(1);
    let (caps, summary) = (caps(DisplayKind::Live, 100), film.ended());
    let ended = EndedRun { caps: &caps, summary: &summary, now, hints: &hints(), tests: &[] };
    ending(&ended, &mut logs).join("\n")
}

/// A matrix of this many cells, and a step that needs it.
fn wide(cells: u32) -> ScriptedRun {
    let mut plan = PlanBuilder::new("wide");
    let all = (0..cells).map(|cell| (format!("c{cell}"), StepSpec::default()));
    let cells = plan.matrix("cell", all);
    let last = plan.step("last", StepSpec::default());
    plan.needs(last, cells);
    ScriptedRun::new(plan.build().expect("the plan is valid"))
}

#[test]
fn cells_with_equal_results_are_one_row() {
    let mut film = wide(40);
    for cell in 0..40 {
        let name = format!("cell[c{cell}]");
        film.at(cell * 100).begin(&name, 1).at(cell * 100 + 1_000 + cell);
        if cell == 7 {
            film.fails(&name, 3)
        } else {
            film.succeeds(&name)
        };
    }
    let cause = film.step("cell[c7]");
    film.settles("last", StepSettlement::Blocked { cause }).ends(RunStatus::Failed);
    insta::assert_snapshot!(said(&film), @r"

    step            status       tries   wait  time  worker
    cell[39 cells]  ✓ succeeded      1   3.9s  1.0s  alpha
    cell[c7]        ✗ failed         1  700ms  1.0s  alpha
    last            ○ blocked

    ✗ cell[c7]  exit 3 after 1.0s
      run it again  windlass run ship.yml cell
      whole log     windlass logs 6e2mhxk2000 'cell[c7]'
      because of it 1 step blocked

    ✗ wide failed in 4.9s: 39 succeeded, 1 failed, 1 blocked
    ");
}

#[test]
fn long_table_shows_only_notable_steps() {
    let mut plan = PlanBuilder::new("many");
    for step in 0..1_000 {
        plan.step(&format!("s{step}"), StepSpec::default());
    }
    let mut film = ScriptedRun::new(plan.build().expect("the plan is valid"));
    for step in 0..1_000_u64 {
        let name = format!("s{step}");
        film.at(step * 10).begin(&name, 1).at(step * 10 + 1_000 + step % 97);
        if step % 100 == 50 {
            film.fails(&name, 1)
        } else {
            film.succeeds(&name)
        };
    }
    film.ends(RunStatus::Failed);
    let said = said(&film);
    let lines: Vec<&str> = said.lines().collect();
    let (head, tail) = (&lines[..17], &lines[lines.len() - 7..]);
    insta::assert_snapshot!(format!("{}\n---\n{}", head.join("\n"), tail.join("\n")), @r"

    step  status       tries   wait  time  worker
    s50   ✗ failed         1  500ms  1.0s  alpha
    s150  ✗ failed         1   1.5s  1.0s  alpha
    s250  ✗ failed         1   2.5s  1.0s  alpha
    s350  ✗ failed         1   3.5s  1.0s  alpha
    s450  ✗ failed         1   4.5s  1.0s  alpha
    s550  ✗ failed         1   5.5s  1.0s  alpha
    s650  ✗ failed         1   6.5s  1.0s  alpha
    s750  ✗ failed         1   7.5s  1.0s  alpha
    s850  ✗ failed         1   8.5s  1.0s  alpha
    s950  ✗ failed         1   9.5s  1.0s  alpha
    s96   ✓ succeeded      1  960ms  1.0s  alpha
    s193  ✓ succeeded      1   1.9s  1.0s  alpha
    s290  ✓ succeeded      1   2.9s  1.0s  alpha
    s387  ✓ succeeded      1   3.8s  1.0s  alpha
    s484  ✓ succeeded      1   4.8s  1.0s  alpha
    ---
    ✗ s750  exit 1 after 1.0s
      run it again  windlass run ship.yml s750
      whole log     windlass logs 6e2mhxk2000 s750

    2 other steps also failed on their own: s850, s950

    ✗ many failed in 11.0s: 990 succeeded, 10 failed
    ");
}

#[test]
fn flood_is_cut_at_little_cost() {
    let film = film();
    let mut screen = film.screen(caps(DisplayKind::Live, 80), OutputMode::Stream);
    film.play(&mut screen, 500);
    let log = LogId::new(screen.summary().run(), film.step("docs"), 1, 1);
    let chunk = b"a line of a flood\n".repeat(4_096);
    for _ in 0..100 {
        screen.feed_output(START, log, &chunk);
    }
    assert!(screen.pending() < 5 << 20, "{} bytes wait", screen.pending());
    let lines = screen.take();
    assert!(lines.last().is_some_and(|line| line.text.contains("lines were dropped")));
    assert_eq!(screen.pending(), 0);
}
