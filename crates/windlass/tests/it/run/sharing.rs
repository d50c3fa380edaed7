//! Several processes in one folder: one leads, and each runs its own steps.

use rustix::process::Signal;

use crate::support::program::{RunningProgram, WINDLASS};
use crate::support::project_folder::ProjectFolder;
use crate::support::waiting::{is_deep, pause, random_below, until};

/// A step that works until a file exists, and one that comes after it. `NAME` is the name of the pipeline.
const GATED: &str = r#"
name: NAME
steps:
  gate: { run: "echo gate >> NAME.trace; until test -e NAME.go; do sleep 0.02; done" }
  last: { needs: gate, run: "echo last >> NAME.trace" }
"#;

/// The same, with a lock on the step that works.
const LOCKED: &str = r#"
name: NAME
steps:
  gate: { lock: database, run: "echo gate >> NAME.trace; until test -e NAME.go; do sleep 0.02; done" }
  last: { needs: gate, run: "echo last >> NAME.trace" }
"#;

/// A folder with two pipelines, `ann.yml` and `bob.yml`.
fn two(pipeline: &str) -> ProjectFolder {
    let file = |name: &str| pipeline.replace("NAME", name);
    ProjectFolder::empty().with_file("ann.yml", file("ann")).with_file("bob.yml", file("bob"))
}

/// Starts the pipeline of this name, and waits until its first step runs.
fn begin(project: &ProjectFolder, name: &str) -> RunningProgram {
    let running = project.start(&format!("run {name}.yml"));
    project.until_lines(&format!("{name}.trace"), 1);
    running
}

#[test]
fn second_run_in_a_folder_runs_beside_the_first() {
    let project = two(GATED);
    let ann = begin(&project, "ann");
    let bob = begin(&project, "bob");
    project.file("bob.go", "");
    let bob = bob.ended();
    assert_eq!(bob.code, Some(0), "{bob:?}");
    assert!(!bob.err.contains("ann"), "each process shows its own run: {bob:?}");
    project.file("ann.go", "");
    let ann = ann.ended();
    assert_eq!(ann.code, Some(0), "{ann:?}");
    for (name, ended) in [("ann", &ann), ("bob", &bob)] {
        assert_eq!(project.lines(&format!("{name}.trace")), ["gate", "last"]);
        assert!(!ended.err.contains("interrupted"), "{ended:?}");
    }
    let runs = project.data("runs");
    assert_eq!(runs.matches("succeeded").count(), 2, "{runs}");
}

#[test]
fn steps_have_the_environment_of_the_process_that_started_their_run() {
    let file = "name: NAME\nsteps:\n  a: { run: 'echo $SHADE >> NAME.trace; until test -e go; do sleep 0.02; done' }\n";
    let project = two(file);
    let start = |name: &str, shade: &str| {
        let mut command = project.command(&format!("run {name}.yml --jobs 4"));
        command.env("SHADE", shade);
        let running = project.start_command(command);
        project.until_lines(&format!("{name}.trace"), 1);
        running
    };
    let (ann, bob) = (start("ann", "red"), start("bob", "blue"));
    project.file("go", "");
    assert_eq!((ann.ended().code, bob.ended().code), (Some(0), Some(0)));
    assert_eq!(
        (project.read("ann.trace"), project.read("bob.trace")),
        ("red\n".into(), "blue\n".into())
    );
}

#[test]
fn lock_is_respected_by_other_processes_of_the_folder() {
    let project = two(LOCKED);
    let ann = begin(&project, "ann");
    let bob = project.start("run bob.yml");
    until("the second run waits for the lock", || {
        project.run("why latest gate").out.contains("database")
    });
    assert_eq!(project.read("bob.trace"), "");
    project.file("bob.go", "");
    project.file("ann.go", "");
    assert_eq!(ann.ended().code, Some(0));
    assert_eq!(bob.ended().code, Some(0));
    assert_eq!(project.lines("bob.trace"), ["gate", "last"]);
}

#[test]
fn run_goes_on_when_the_process_that_leads_has_finished() {
    let project = two(GATED);
    let ann = begin(&project, "ann");
    let bob = begin(&project, "bob");
    project.file("ann.go", "");
    assert_eq!(ann.ended().code, Some(0));
    project.file("bob.go", "");
    let bob = bob.ended();
    assert_eq!(bob.code, Some(0), "{bob:?}");
    assert_eq!(project.lines("bob.trace"), ["gate", "last"], "nothing is repeated");
    assert!(!bob.err.contains("interrupted"), "{bob:?}");
}

#[test]
fn run_goes_on_when_the_process_that_leads_is_killed_and_the_killed_run_can_be_resumed() {
    let project = two(LOCKED);
    let ann = begin(&project, "ann");
    let bob = project.start("run bob.yml");
    until("the second run waits for the lock", || {
        project.run("why latest gate").out.contains("database")
    });
    ann.signal(Signal::KILL);
    assert_eq!(ann.ended().code, None);
    project.until_lines("bob.trace", 1);
    let listed = project.data("runs");
    let first = listed.lines().nth(1).expect("a run");
    assert!(first.contains("ann") && first.contains("interrupted"), "{listed}");
    project.file("bob.go", "");
    let bob = bob.ended();
    assert_eq!(bob.code, Some(0), "{bob:?}");

    project.file("ann.go", "");
    let resumed = project.run("run --resume");
    assert_eq!(resumed.code, Some(0), "without a file, the newest one: {resumed:?}");
    assert!(resumed.err.contains("0 of 2 steps had ended"), "{resumed:?}");
    assert_eq!(project.lines("ann.trace"), ["gate", "gate", "last"]);
    assert!(!project.data("runs").contains("interrupted"));
}

#[test]
fn starting_a_pipeline_again_tells_how_to_resume_its_interrupted_run() {
    let project = two(GATED);
    let ann = begin(&project, "ann");
    ann.signal(Signal::KILL);
    assert_eq!(ann.ended().code, None);
    project.file("bob.go", "");
    let other = project.run("run bob.yml");
    assert_eq!(other.code, Some(0), "{other:?}");
    assert!(!other.err.contains("interrupted"), "another pipeline is not concerned: {other:?}");
    project.file("ann.go", "");
    let again = project.run("run ann.yml");
    assert_eq!(again.code, Some(0), "{again:?}");
    assert!(again.err.contains("was interrupted: 0 of 2 steps had ended"), "{again:?}");
    let resumed = project.pasted(&again.err, "`windlass run");
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    assert_eq!(project.lines("ann.trace"), ["gate", "gate", "last", "gate", "last"]);
}

#[test]
fn cancel_and_rerun_end_an_interrupted_run_and_nothing_else_does() {
    let project = two(GATED);
    for _ in 0..2 {
        let ann = begin(&project, "ann");
        ann.signal(Signal::KILL);
        assert_eq!(ann.ended().code, None);
        std::fs::remove_file(project.path().join("ann.trace")).expect("it is there");
    }
    let interrupted = || project.data("runs --status interrupted").lines().count() - 1;
    assert_eq!(interrupted(), 2);
    let cancelled = project.run("cancel latest");
    assert_eq!(cancelled.code, Some(0), "{cancelled:?}");
    assert_eq!(interrupted(), 1);
    assert_eq!(project.data("runs --status cancelled").lines().count(), 2);

    project.file("ann.go", "");
    let listed = project.data("runs --status interrupted");
    let run = listed.lines().nth(1).and_then(|line| line.split_whitespace().next()).expect("a run");
    let again = project.run(&format!("rerun {run}"));
    assert_eq!(again.code, Some(0), "{again:?}");
    let none = project.run("runs --status interrupted");
    assert_eq!(none.out, "", "{none:?}");
}

#[test]
fn twenty_interrupted_runs_can_be_resumed_and_older_ones_run_again() {
    let project = two(GATED);
    let mut runs = Vec::new();
    for _ in 0..21 {
        let ann = begin(&project, "ann");
        runs.push(project.show()["id"].as_str().expect("it has an id").to_owned());
        ann.signal(Signal::KILL);
        assert_eq!(ann.ended().code, None);
        std::fs::remove_file(project.path().join("ann.trace")).expect("it is there");
    }
    project.file("ann.go", "");
    project.file("bob.go", "");
    assert_eq!(project.run("run bob.yml").code, Some(0), "it records the last interruption");
    let oldest = project.run(&format!("run --resume={}", runs[0]));
    oldest.expect_error(2, "cannot be resumed any more");
    let again = project.pasted(&oldest.err, "`windlass rerun");
    assert_eq!(again.code, Some(0), "{again:?}");
    let next = project.run(&format!("run --resume={}", runs[1]));
    assert_eq!(next.code, Some(0), "{next:?}");
}

#[test]
fn commands_reach_a_run_of_any_process() {
    let project = two(GATED);
    let _ann = begin(&project, "ann");
    let bob = begin(&project, "bob");
    let run = project.show()["id"].as_str().expect("it has an id").to_owned();
    let why = project.run(&format!("why {run} last"));
    assert!(why.out.contains("gate"), "{why:?}");
    let watching = project.start(&format!("watch {run}"));
    let cancelled = project.run(&format!("cancel {run}"));
    assert_eq!(cancelled.code, Some(0), "{cancelled:?}");
    let bob = bob.ended();
    assert_eq!(bob.code, Some(6), "{bob:?}");
    let watched = watching.ended();
    assert_eq!(watched.code, Some(6), "{watched:?}");
    assert_eq!(project.lines("ann.trace"), ["gate"], "the other run goes on");
}

#[test]
fn run_inside_a_step_is_a_run_of_the_same_folder() {
    let project = ProjectFolder::with(&format!(
        "name: outer\nsteps:\n  before: {{ run: 'echo before >> trace' }}\n  inner: {{ needs: before, run: '{WINDLASS} run inner.yml' }}\n  after: {{ needs: inner, run: 'echo after >> trace' }}\n"
    ))
    .with_file("inner.yml", format!("name: inner\nsteps:\n  a: {{ run: 'echo a >> trace; {WINDLASS} run innermost.yml' }}\n"))
    .with_file("innermost.yml", "name: innermost\nsteps:\n  b: { lock: database, run: 'echo b >> trace' }\n");
    let ended = project.run("run");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(project.lines("trace"), ["before", "a", "b", "after"]);
    assert_eq!(project.data("runs").matches("succeeded").count(), 3);
}

#[test]
fn step_that_needs_a_lock_of_the_step_that_started_its_run_fails_at_once() {
    let project = ProjectFolder::with(&format!(
        "name: outer\nsteps:\n  inner: {{ lock: database, run: '{WINDLASS} run inner.yml' }}\n"
    ))
    .with_file(
        "inner.yml",
        "name: inner\nsteps:\n  a: { lock: database, run: 'echo a >> trace' }\n",
    );
    let ended = project.run("run");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    for text in ["database", "inner", "outer"] {
        assert!(ended.out.contains(text) || ended.err.contains(text), "{text}: {ended:?}");
    }
    assert_eq!(project.read("trace"), "");
}

#[test]
fn process_that_waits_for_a_stopped_leader_says_so_and_goes_on_with_it() {
    let project = two(GATED);
    let ann = begin(&project, "ann");
    let bob = begin(&project, "bob");
    ann.signal(Signal::STOP);
    bob.until_said("another process leads it and does not answer");
    project.file("bob.go", "");
    project.file("ann.go", "");
    ann.signal(Signal::CONT);
    let (ann, bob) = (ann.ended(), bob.ended());
    assert_eq!((ann.code, bob.code), (Some(0), Some(0)), "{ann:?} {bob:?}");
    assert_eq!(project.lines("bob.trace"), ["gate", "last"]);
}

/// A pipeline whose steps note their begin and their end, with a lock, a key, and a run inside a step.
fn busy(number: usize) -> String {
    let nested = if number.is_multiple_of(5) {
        format!("\n  nested: {{ run: '{WINDLASS} run nested-{number}.yml' }}")
    } else {
        String::new()
    };
    format!(
        r#"
name: busy-{number}
defaults: {{ retry: {{ lost: 10 }} }}
steps:
  a: {{ run: "echo {number} a >> done" }}
  locked:
    needs: a
    lock: database
    run: "echo + {number} >> locked; sleep 0.{delay:02}; echo - {number} >> locked; echo {number} locked >> done"
  keyed: {{ needs: a, idempotent: key-{number}, run: "echo {number} keyed >> done" }}
  z: {{ needs: [locked, keyed], run: "echo {number} z >> done" }}{nested}
"#,
        delay = (1 + number % 5) * if is_deep() { 10 } else { 1 }
    )
}

fn nested(number: usize, depth: usize) -> String {
    let more = if depth == 0 {
        "true".to_owned()
    } else {
        format!("{WINDLASS} run deep-{depth}-{number}.yml")
    };
    format!(
        "name: nested-{depth}-{number}\nsteps:\n  n: {{ lock: other, run: 'echo {number} n{depth} >> done' }}\n  m: {{ needs: n, run: '{more}' }}\n"
    )
}

/// Checks that between a `begin` and its `end` in the file `locked` no other step begins, unless its process was
/// killed.
fn assert_exclusive(project: &ProjectFolder, killed: &[usize]) {
    let mut holder: Option<usize> = None;
    for line in project.lines("locked") {
        let (sign, number) = line.split_once(' ').expect("two words");
        let number: usize = number.parse().expect("a number");
        match (sign, holder) {
            ("+", Some(other)) => assert!(killed.contains(&other), "{other} and {number}"),
            ("-", holder) => assert_eq!(holder, Some(number)),
            _ => {}
        }
        holder = (sign == "+").then_some(number);
    }
}

#[test]
fn many_processes_share_locks_and_keys_while_the_leading_one_is_killed() {
    let (processes, kills) = if is_deep() { (20, 50) } else { (8, 6) };
    let mut project = ProjectFolder::empty();
    for number in 0..processes {
        project = project.with_file(&format!("busy-{number}.yml"), busy(number));
        project = project.with_file(&format!("nested-{number}.yml"), nested(number, 2));
        project = project.with_file(&format!("deep-2-{number}.yml"), nested(number, 1));
        project = project.with_file(&format!("deep-1-{number}.yml"), nested(number, 0));
    }
    let mut killed = Vec::new();
    let mut running: Vec<(usize, RunningProgram)> = (0..processes)
        .map(|number| (number, project.start(&format!("run busy-{number}.yml --jobs 2"))))
        .collect();
    while killed.len() < kills && running.iter_mut().any(|(_, program)| !program.is_over()) {
        pause(std::time::Duration::from_millis(random_below(60) as u64));
        let leader = leader_of(&project);
        let at = running.iter().position(|(_, program)| Some(program.pid()) == leader);
        // A run inside a step may lead too.
        let Some(at) = at.filter(|at| !running[*at].1.is_over()) else { continue };
        let (number, program) = running.swap_remove(at);
        program.signal(Signal::KILL);
        drop(program.ended());
        killed.push(number);
        let resumes = project.start(&format!("run busy-{number}.yml --resume --jobs 2"));
        running.push((number, resumes));
    }
    assert!(!is_deep() || killed.len() == kills, "{} times", killed.len());
    for (number, program) in running {
        let ended = program.ended();
        let was_killed = killed.contains(&number);
        assert!(ended.code == Some(0) || was_killed, "{number}: {ended:?}");
    }
    finish_interrupted(&project);
    assert_exclusive(&project, &killed);
    let done = project.lines("done");
    for number in 0..processes {
        for step in ["a", "locked", "keyed", "z"] {
            let times = done.iter().filter(|line| **line == format!("{number} {step}")).count();
            // A process that was killed may not have submitted its run yet, or may have lost the outcome of a step.
            assert!(times == 1 || killed.contains(&number), "{number} {step}: {times} times");
        }
    }
    project.until_nothing_is_left(&[]);
}

/// Returns the process that leads, as the journal names it.
fn leader_of(project: &ProjectFolder) -> Option<u32> {
    let journal = project.path().join(".windlass/journal.db");
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let journal = rusqlite::Connection::open_with_flags(journal, flags).ok()?;
    journal.query_row("SELECT pid FROM leader", (), |row| row.get(0)).ok()
}

/// Resumes the interrupted runs until each has succeeded.
fn finish_interrupted(project: &ProjectFolder) {
    let listed = project.run("runs --status interrupted -n 100").out;
    for run in listed.lines().skip(1).filter_map(|line| line.split_whitespace().next()) {
        let resumed = project.run(&format!("run --resume={run}"));
        assert_eq!(resumed.code, Some(0), "{resumed:?}");
    }
}
