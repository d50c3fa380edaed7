//! windlass is killed at random moments, and stopped for a while.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use rustix::process::Signal;

use crate::support::processes::is_alive;
use crate::support::project_folder::ProjectFolder;
use crate::support::waiting::{is_deep, pause, random_below};

const STEPS: usize = 200;

/// Twenty chains of ten steps. Some leave daemons behind that leave their session, or clear their environment.
fn chains() -> String {
    let mut text = "name: chains\ndefaults: { retry: { lost: 1 } }\nsteps:\n".to_owned();
    for number in 0..STEPS {
        let _ = writeln!(text, "  s{number}:");
        if number >= 20 {
            let _ = writeln!(text, "    needs: s{}", number - 20);
        }
        let daemon = match number % 10 {
            3 => "setsid sh -c 'echo $$ >> pids; exec sleep 1000' &",
            7 => "(setsid env -i sh -c 'echo $$ >> pids; exec sleep 1000' &)",
            _ => ":",
        };
        let _ = writeln!(
            text,
            "    run: |\n      echo \"+ $WINDLASS_STEP\" >> trace\n      echo $$ >> pids\n      {daemon}\n      sleep 0.02\n      echo \"- $WINDLASS_STEP\" >> trace"
        );
    }
    text
}

/// How often each step began.
fn begun(trace: &[String]) -> BTreeMap<&str, usize> {
    let mut begun = BTreeMap::new();
    for step in trace.iter().filter_map(|line| line.strip_prefix("+ ")) {
        *begun.entry(step).or_default() += 1;
    }
    begun
}

#[test]
fn run_resumes_after_windlass_was_killed() {
    let pipeline = chains();
    for _ in 0..if is_deep() { 50 } else { 5 } {
        let project = ProjectFolder::with(&pipeline);
        let mut running = project.start("run --jobs 8");
        // Steps with a recorded outcome, each with the length of the trace at that time.
        let mut recorded: Vec<(String, usize)> = Vec::new();
        for _ in 0..2 {
            project
                .until_lines("trace", project.lines("trace").len() + 1 + random_below(STEPS / 2));
            pause(Duration::from_micros(random_below(20_000) as u64));
            running.signal(Signal::KILL);
            assert_eq!(running.ended().code, None);
            project.until_nothing_is_left(&project.lines("pids"));
            let until_now = project.lines("trace").len();
            recorded.extend(ended_well(&project).into_iter().map(|step| (step, until_now)));
            running = project.start("run --resume --jobs 8");
        }
        let ended = running.ended();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.err.contains("interrupted"), "{}", ended.err);
        let trace = project.lines("trace");
        for (step, until_then) in &recorded {
            let again = begun(&trace[*until_then..]);
            assert!(!again.contains_key(step.as_str()), "{step} had ended and ran again");
        }
        assert_eq!(begun(&trace).len(), STEPS, "each step has run");
        assert_eq!(ended_well(&project).len(), STEPS);
        assert_eq!(project.show()["interruptions"], 2);
        project.until_nothing_is_left(&project.lines("pids"));
    }
}

fn ended_well(project: &ProjectFolder) -> Vec<String> {
    let run = project.show();
    let steps = run["steps"].as_array().expect("it lists steps").iter();
    let ended = steps.filter(|step| step["status"] == "succeeded");
    ended.filter_map(|step| step["name"].as_str().map(str::to_owned)).collect()
}

#[test]
fn death_of_windlass_costs_no_delivery_unless_the_step_must_not_run_twice() {
    let project = ProjectFolder::with(
        r#"
name: gates
defaults: { retry: { lost: 1 } }
steps:
  gate:
    run: |
      grep -q ') [^ZX]' "/proc/$(cat pid)/stat" 2>/dev/null && echo both >> bad
      echo $$ > pid
      echo "gate $WINDLASS_ATTEMPT $WINDLASS_IDEMPOTENCY_KEY" >> trace
      until test -e go; do sleep 0.02; done
  once: { retry: { lost: 0 }, run: "echo once >> trace; until test -e go; do sleep 0.02; done" }
  never: { needs: once, run: "echo never >> trace" }
"#,
    );
    let mut running = project.start("run --keep-going --jobs 4");
    project.until_lines("trace", 2);
    for start in 1..4 {
        running.signal(Signal::KILL);
        assert_eq!(running.ended().code, None);
        running = project.start("run --resume --jobs 4");
        project.until_lines("trace", 2 + start);
    }
    project.file("go", "");
    let ended = running.ended();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let trace = project.lines("trace");
    assert_eq!(trace.iter().filter(|line| *line == "once").count(), 1, "{trace:?}");
    let gates: Vec<&String> = trace.iter().filter(|line| line.starts_with("gate 1 ")).collect();
    assert_eq!(gates.len(), 4, "one attempt, handed out again and again: {trace:?}");
    assert!(gates.iter().all(|gate| *gate == gates[0]), "with one key: {gates:?}");
    assert_eq!(project.read("bad"), "", "no attempt ran beside its former self");
    assert_eq!(project.status("gate"), "succeeded");
    let once = project.step("once");
    assert_eq!(once["attempts"][0]["outcome"], "lost", "{once}");
    assert_eq!(project.status("never"), "blocked");
}

#[test]
fn run_continues_after_the_death_of_its_guard() {
    let project = ProjectFolder::with(
        r#"
name: guardless
steps:
  murderer: { run: "echo m >> trace; test -e go || { until test -e other; do sleep 0.02; done; kill -9 $PPID; sleep 1000; }" }
  victim: { run: "echo v >> trace; touch other; until test -e go; do sleep 0.02; done" }
  later: { needs: victim, run: "echo later >> trace" }
"#,
    );
    let ended = project.run("run --jobs 4");
    assert_eq!(ended.code, Some(5), "{ended:?}");
    assert!(ended.err.contains("--resume"), "{}", ended.err);
    project.until_nothing_is_left(&[]);
    project.file("go", "");
    let resumed = project.run("run --resume --jobs 4");
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    let mut trace = project.lines("trace");
    trace.sort();
    assert_eq!(trace, ["later", "m", "m", "v", "v"]);
}

#[test]
fn steps_of_an_abandoned_run_do_not_restart() {
    let project = ProjectFolder::with(
        "name: old\nsteps:\n  done: { run: 'echo done >> trace' }\n  a: { needs: done, run: 'echo a >> trace; until test -e go; do sleep 0.05; done' }\n",
    );
    project.file("new.yml", "name: new\nsteps:\n  b: { run: 'echo b >> trace' }\n");
    let running = project.start("run");
    project.until_lines("trace", 2);
    running.signal(Signal::KILL);
    assert_eq!(running.ended().code, None);
    assert!(project.data("runs --status interrupted").contains("old  "));
    assert_eq!(project.run("runs --status running").out, "", "nobody works on it");
    let resumed = project.run("run new.yml --resume");
    assert_eq!(resumed.code, Some(0), "there was none before: {resumed:?}");
    assert_eq!(project.lines("trace"), ["done", "a"], "what is not resumed does not run");
    let ended = project.run("run new.yml");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!ended.err.contains("interrupted"), "another pipeline is not concerned: {}", ended.err);
    assert_eq!(project.lines("trace"), ["done", "a", "b"]);
    project.until_nothing_is_left(&[]);
    project.file("go", "");
    let listed = project.data("runs --status interrupted");
    let run = listed.lines().nth(1).and_then(|line| line.split_whitespace().next());
    let run = run.expect("it still waits to be resumed");
    let again = project.run(&format!("rerun {run} --failed"));
    assert_eq!(again.code, Some(0), "{again:?}");
    assert_eq!(project.lines("trace"), ["done", "a", "b", "a"]);
    assert_eq!(project.run("runs --status interrupted").out, "", "the rerun has ended it");
}

#[test]
fn suspended_windlass_repeats_no_step() {
    let still = if is_deep() { 30 } else { 5 };
    let project = ProjectFolder::with(
        r#"
name: still
steps:
  short: { run: "echo short >> trace; sleep 1" }
  long: { run: "echo long >> trace; until test -e go; do sleep 0.05; done" }
  after: { needs: [short, long], run: "echo after >> trace" }
"#,
    );
    let running = project.start("run --jobs 4");
    project.until_lines("trace", 2);
    running.signal(Signal::STOP);
    pause(Duration::from_secs(still));
    running.signal(Signal::CONT);
    project.file("go", "");
    let ended = running.ended();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let mut trace = project.lines("trace");
    trace.sort();
    assert_eq!(trace, ["after", "long", "short"]);
    assert_eq!(project.show()["interruptions"], 0);
}

#[test]
fn processes_of_a_step_end_with_windlass() {
    let project = ProjectFolder::with(
        r#"
name: escape
steps:
  plain: { run: "echo $$ >> pids; exec sleep 1000" }
  stubborn: { run: "trap '' TERM INT HUP; echo $$ >> pids; while :; do sleep 0.05; done" }
  session: { run: "setsid sh -c 'echo $$ >> pids; exec sleep 1000' & wait" }
  daemon: { run: "(setsid env -i sh -c 'echo $$ >> pids; exec sleep 1000' &); exec sleep 1000" }
"#,
    );
    let running = project.start("run --jobs 8");
    project.until_lines("pids", 4);
    running.signal(Signal::KILL);
    assert_eq!(running.ended().code, None);
    let pids = project.lines("pids");
    project.until_nothing_is_left(&pids);
    assert!(!pids.iter().any(|pid| is_alive(pid)));
}

#[test]
fn watch_of_a_run_ends_when_its_process_is_dead() {
    let project = ProjectFolder::with("steps:\n  a: { run: 'echo a >> trace; sleep 1000' }\n");
    let running = project.start("run");
    project.until_lines("trace", 1);
    running.signal(Signal::KILL);
    assert_eq!(running.ended().code, None);
    assert!(project.data("runs").contains("interrupted"));
    assert_eq!(project.show()["interrupted"], true);
    let shown = project.run("show");
    assert!(shown.out.contains("not finished in"), "{shown:?}");
    assert!(shown.err.contains("windlass run --resume="), "{shown:?}");
    for line in ["watch latest", "logs latest a -f"] {
        let ended = project.run(line);
        assert_eq!(ended.code, Some(5), "{line}: {ended:?}");
        assert!(ended.err.contains("windlass run --resume"), "{}", ended.err);
    }
    project.until_nothing_is_left(&[]);
}
