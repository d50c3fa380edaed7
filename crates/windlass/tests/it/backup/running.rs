//! Backups while runs go on, and after their controller was killed.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::sync::Arc;

use rustix::process::Signal;
use windlass::core::id::StepIx;
use windlass::core::outcome::RunStatus;
use windlass_store::archive::{Archive as _, RunQuery, RunRecord, SealedRun, SqliteArchive};
use windlass_store::conformance::block_on;
use windlass_store::journal::{Position, RecordedEvent};
use windlass_store::logs::{FileLogs, LogId, LogStore as _};

use super::restored_store::{
    back_up, events, has_logs_of_its_events, has_same_events, is_sound, logs,
};
use crate::support::cluster::TestCluster as _;
use crate::support::local_cluster::LocalCluster;
use crate::support::project_folder::ProjectFolder;
use crate::support::waiting::{is_deep, pause, random_below, until};

const STEPS: usize = 120;

/// Waits for a file from the fortieth step on, so that a run cannot end too soon.
const GATED: &str =
    "until test ${WINDLASS_STEP#s} -lt 40 || test -e free; do sleep 0.05; done; sleep 0.05";

/// Many short steps, each after another one, so that grants, ends and output are everywhere in the journal.
fn chains(command: &str) -> String {
    let mut text = "name: chains\nsteps:\n".to_owned();
    for number in 0..STEPS {
        let needs =
            number.checked_sub(4).map_or_else(String::new, |need| format!("needs: s{need}, "));
        let _ = writeln!(
            text,
            "  s{number}: {{ {needs}run: 'echo $WINDLASS_STEP begins; {command}; echo $WINDLASS_STEP >> trace; echo ends' }}"
        );
    }
    text
}

#[test]
fn backup_of_a_store_in_use_has_everything_up_to_one_position_and_its_run_continues() {
    let project = ProjectFolder::with(&chains("sleep 0.02"));
    let running = project.start("run --jobs 4");
    let mut positions = Vec::new();
    for (number, lines) in [10, 40, 70].into_iter().enumerate() {
        project.until_lines("trace", lines);
        positions.push(back_up(&project, &format!("backups/{number}")));
    }
    assert_eq!(running.ended().code, Some(0));
    assert!(positions.is_sorted(), "{positions:?}");
    let source = project.path().join(".windlass");
    for (number, position) in positions.into_iter().enumerate() {
        let (backup, store) = (format!("backups/{number}"), format!("restored-{number}"));
        is_sound(&project, &backup);
        project.data(&format!("store restore {backup} --store {store}"));
        let restored = project.path().join(&store);
        has_same_events(&source, &restored, position);
        has_logs_of_its_events(&source, &restored);
        is_sound(&project, &store);
        is_sound(&project, &backup);
    }
    // The run had an owner, which is no process of the restored store: it is interrupted, and continues where it was.
    let first = project.path().join("restored-0");
    let done = logs(&first).values().filter(|log| log.ends_with(b"ends\n")).count();
    assert!(done > 0 && done < STEPS, "{done} of {STEPS} steps had ended");
    fs::remove_file(project.path().join("trace")).expect("it is there");
    let resumed = project.run("run --resume --jobs 4 --store restored-0");
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
    let again = project.lines("trace").len();
    assert!(again < STEPS && again <= STEPS - done + 4, "{again} steps ran, {done} had ended");
    is_sound(&project, "restored-0");
    // Every step has the whole output of its last delivery: no log is taken for one that was there already.
    let ended = logs(&first).into_iter().filter(|(_, log)| log.ends_with(b"ends\n"));
    let step = |name: String| name.split_once('.').map(|(step, _)| step.to_owned());
    let steps: BTreeSet<String> = ended.filter_map(|(name, _)| step(name)).collect();
    assert_eq!(steps.len(), STEPS);
}

#[test]
fn backup_of_a_controller_that_is_killed_is_restored_with_its_cluster_and_withholds_locks() {
    let locks = "name: lock\nsteps:\n  s: { lock: quay, run: 'echo $WINDLASS_FENCE >> held; until test -e go; do sleep 0.05; done' }\n";
    let flags = "--store source --no-token --lease-ttl 3s --jobs 3";
    let mut cluster = LocalCluster::start_in(ProjectFolder::empty(), flags);
    let held = cluster.submit(locks);
    cluster.project.until_lines("held", 1);
    let long = cluster.submit(&chains(GATED));
    cluster.project.until_lines("trace", 40);
    let while_led = back_up(&cluster.project, "first --store source");
    cluster.project.file("free", "");
    cluster.project.until_lines("trace", 45);
    cluster.kill();
    let after = back_up(&cluster.project, "second --store source");
    assert!(after > while_led, "the run went on meanwhile");
    let source = cluster.project.path().join("source");
    for (backup, position) in [("first", while_led), ("second", after)] {
        cluster.project.data(&format!("store restore {backup} --store of-{backup}"));
        let restored = cluster.project.path().join(format!("of-{backup}"));
        has_same_events(&source, &restored, position);
        has_logs_of_its_events(&source, &restored);
        is_sound(&cluster.project, &format!("of-{backup}"));
        let id = |store: &str| cluster.project.read(&format!("{store}/cluster"));
        assert_eq!(id(&format!("of-{backup}")), id("source"));
    }
    cluster.project.file("go", "");
    cluster.restart_on("of-first");
    let generation = |cluster: &LocalCluster| {
        let led = cluster.get("/events?after=0&type=led");
        let last = led.as_array().and_then(|led| led.last()).cloned();
        last.expect("a controller leads")["data"]["generation"].clone()
    };
    assert_eq!(generation(&cluster), 1);
    assert_eq!(cluster.status_at_end(&long), "succeeded");
    let second = cluster.submit(locks);
    let waits = || cluster.run(&format!("why {second} s")).out;
    until("it says why it waits", || {
        waits().contains("a lock holder of an earlier leader may still run")
    });
    until("its lock is withheld", || cluster.run("locks").out.contains("withheld until 20"));
    assert_ne!(cluster.show(&held)["status"], "succeeded", "its lock waits too");
    // The loss is noticed once: the next start continues the history of this one.
    cluster.kill();
    cluster.restart_on("of-first");
    assert_eq!(generation(&cluster), 1);
    assert!(cluster.run(&format!("why {second} s")).out.contains("a lock holder"));
}

/// A store with an archived run and much output: its backup takes a while.
fn large() -> ProjectFolder {
    let project = ProjectFolder::with("name: p\nsteps: { s: { run: 'echo ran' } }\n");
    assert_eq!(project.run("run").code, Some(0));
    let store = project.path().join(".windlass");
    let events = events(&store);
    let run = events.iter().find_map(|it| it.event.run()).expect("it has a run");
    let record = RunRecord {
        run,
        pipeline: "p".to_owned(),
        status: RunStatus::Succeeded,
        submitted_at: events[0].at,
        ended_at: events[0].at,
        steps: 1,
        workers: Vec::new(),
    };
    let of_run = events.into_iter().filter(|it| it.event.run() == Some(run));
    let archive = SqliteArchive::open(&store).expect("it opens");
    block_on(archive.keep(SealedRun { record, events: of_run.collect() })).expect("it is kept");
    let output = FileLogs::open(&store).expect("it opens");
    for (step, at) in (1..9).flat_map(|step| (0..8_u8).map(move |at| (step, at))) {
        let log = LogId::new(run, StepIx(step), 1, 1);
        let bytes = vec![at; 1 << 20];
        block_on(output.append(log, u64::from(at) << 20, bytes)).expect("it is written");
    }
    project
}

/// The archived events of the store of a project.
fn archived(project: &ProjectFolder, store: &str) -> Vec<Arc<RecordedEvent>> {
    let archive = SqliteArchive::read(project.path().join(store)).expect("it opens");
    let query = RunQuery { most: 9, ..RunQuery::default() };
    let runs = block_on(archive.runs(query)).expect("it answers");
    block_on(archive.events(runs[0].run, Position(0), usize::MAX)).expect("it is there")
}

#[test]
fn backup_that_is_killed_leaves_nothing_that_looks_whole_and_the_next_one_works() {
    let project = large();
    let (partial, whole) = (project.path().join("to.partial"), project.path().join("to"));
    let mut killed = 0;
    for _ in 0..if is_deep() { 60 } else { 6 } {
        let running = project.start("store backup to");
        until("it has begun", || partial.exists() || whole.exists());
        pause(std::time::Duration::from_micros(random_below(400_000) as u64));
        running.signal(Signal::KILL);
        drop(running);
        if whole.exists() {
            // It was faster: what has the final name is whole.
            is_sound(&project, "to");
            fs::remove_dir_all(&whole).expect("it can be removed");
            continue;
        }
        killed += 1;
        if partial.join("backup.json").exists() {
            // Only the name was missing: the manifest is written last.
            is_sound(&project, "to.partial");
            continue;
        }
        let refused = project.run("store restore to.partial --store other");
        refused.expect_error(2, "there is no backup in");
        assert!(!project.path().join("other").exists());
    }
    assert!(killed > 0, "no backup was killed before its end");
    back_up(&project, "to");
    assert!(!partial.exists());
    is_sound(&project, "to");
    project.data("store restore to --store other");
    assert_eq!(logs(&project.path().join("other")), logs(&project.path().join(".windlass")));
    assert_eq!(archived(&project, "other"), archived(&project, ".windlass"));
    assert!(archived(&project, "other").len() > 3);
}

#[test]
fn restore_that_is_killed_is_no_store_and_starts_over() {
    let project = large();
    back_up(&project, "to");
    let mut killed = 0;
    for _ in 0..if is_deep() { 40 } else { 4 } {
        let running = project.start("store restore to --store other");
        let mark = project.path().join("other/copying");
        let mut running = running;
        until("it has begun", || mark.exists() || running.is_over());
        pause(std::time::Duration::from_micros(random_below(200_000) as u64));
        running.kill();
        if mark.exists() {
            killed += 1;
            for line in ["runs --store other", "run --store other"] {
                let refused = project.run(line);
                assert!(refused.err.contains("a copy to it was not finished"), "{refused:?}");
            }
        } else {
            fs::remove_dir_all(project.path().join("other")).expect("it can be removed");
        }
    }
    assert!(killed > 0, "no restore was killed before its end");
    project.data("store restore to --store other");
    is_sound(&project, "other");
    assert_eq!(project.run("run --store other").code, Some(0));
}
