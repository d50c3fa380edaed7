//! Steps that print, fork and write without limit.

use std::fs;
use std::path::PathBuf;

use rustix::process::Signal;

use crate::support::project_folder::ProjectFolder;
use crate::support::waiting::{is_deep, until};

/// The memory limit of windlass in KiB, whatever steps print.
const PEAK: u64 = 100 << 10;

/// Runs it and returns the most memory that it had.
fn peak(project: &ProjectFolder, line: &str) -> u64 {
    let mut child = project.start(line);
    let mut peak = 0;
    until("it has ended", || {
        peak = peak.max(child.peak());
        child.is_over()
    });
    let ended = child.ended();
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    peak
}

fn only_log(project: &ProjectFolder) -> Vec<u8> {
    let mut folders = vec![project.path().join(".windlass/logs")];
    let mut files: Vec<PathBuf> = Vec::new();
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(folder).expect("it is there").flatten();
        for path in entries.map(|entry| entry.path()) {
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.retain(|file| file.extension().is_some_and(|extension| extension == "log"));
    assert_eq!(files.len(), 1, "{files:?}");
    fs::read(&files[0]).expect("it can be read")
}

/// The amount of output in each case: the program that shows it and the test read every line.
fn floods() -> [(&'static str, u64); 3] {
    let (kept, shown) = if is_deep() { (10 << 30, 1 << 30) } else { (1 << 30, 100 << 20) };
    [("none", kept), ("stream", shown), ("group", shown)]
}

#[test]
fn a_flood_of_output_costs_neither_memory_nor_disk() {
    for (mode, bytes) in floods() {
        let project = ProjectFolder::with(&format!(
            "name: flood\nsteps:\n  flood: {{ run: 'yes | head -c {bytes}; echo the end' }}\n"
        ));
        let peak = peak(&project, &format!("run --output {mode}"));
        assert!(peak < PEAK, "{mode}: {peak} KiB");
        let log = only_log(&project);
        assert!(log.len() < 70 << 20, "{mode}: {} bytes", log.len());
        // The note about omitted output precedes the last line.
        let end = String::from_utf8_lossy(&log[log.len() - (65 << 10)..]).into_owned();
        assert!(end.contains("bytes of output are left out here"), "{mode}: no marker");
        assert!(end.ends_with("the end\n"), "{mode}: {:?}", &end[end.len() - 100..]);
    }
}

#[test]
fn a_line_without_end_costs_no_memory() {
    for (mode, bytes) in floods() {
        // Ten times as much of one line tests no more than the largest realistic amount.
        let bytes = bytes.min(1 << 30);
        let project = ProjectFolder::with(&format!(
            "name: line\nsteps:\n  line: {{ run: \"head -c {bytes} /dev/zero | tr '\\\\0' a\" }}\n"
        ));
        let peak = peak(&project, &format!("run --output {mode}"));
        assert!(peak < PEAK, "{mode}: {peak} KiB");
    }
}

#[test]
fn endlessly_printing_step_can_be_stopped() {
    let project = ProjectFolder::with("name: yes\nsteps:\n  yes: { run: 'yes', timeout: 500ms }\n");
    for mode in ["stream", "none"] {
        let ended = project.run(&format!("run --output {mode}"));
        assert_eq!(ended.code, Some(1), "{}", ended.err);
        assert_eq!(project.status("yes"), "timed_out");
    }
    let project =
        ProjectFolder::with("name: yes\nsteps:\n  yes: { run: 'echo y >> trace; yes' }\n");
    let running = project.start("run --output stream");
    project.until_lines("trace", 1);
    running.signal(Signal::INT);
    assert_eq!(running.ended().code, Some(130));
    project.until_nothing_is_left(&[]);
}

#[test]
fn binary_output_and_escape_sequences_are_neutralized() {
    let project = ProjectFolder::with(
        r#"
name: bytes
steps:
  bytes: { run: "printf '\\377\\376 odd\\n\\033[2Jcleared\\033]0;title\\007 \\033[31mred\\033[0m\\n'; exit 3" }
"#,
    );
    let ended = project.run("run --output stream --junit report.xml");
    assert_eq!(ended.code, Some(1));
    for shown in [&ended.out, &ended.err, &project.read("report.xml")] {
        assert!(shown.contains("cleared"), "{shown}");
        assert!(!shown.contains('\u{1b}'), "{shown:?}");
    }
    assert!(
        only_log(&project).starts_with(b"\xff\xfe odd\n\x1b[2J"),
        "the log has what was printed"
    );
}

#[test]
fn daemons_and_closed_outputs_delay_no_step() {
    let project = ProjectFolder::with(
        r#"
name: daemons
defaults: { timeout: 1m, kill_grace: 1s }
steps:
  holds: { run: "sleep 1000 & echo $! >> pids; echo started" }
  leaves: { run: "setsid sh -c 'echo $$ >> pids; exec sleep 1000' & until test -s pids; do sleep 0.02; done" }
  stubborn: { run: "(trap '' TERM; echo go >> stubborn; while :; do sleep 0.05; done) & until test -e stubborn; do sleep 0.02; done" }
  closes: { run: "exec >&- 2>&-; sleep 0.3; echo alive >> trace" }
  closes-all: { run: "exec <&- >&- 2>&-; sleep 0.3; echo alive >> trace" }
"#,
    );
    let ended = project.run("run --jobs 8");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(project.lines("trace"), ["alive", "alive"]);
    assert_eq!(project.data("logs latest holds"), "started\n");
    project.until_nothing_is_left(&project.lines("pids"));
}

#[test]
fn malformed_output_file_is_reported_or_ignored() {
    let project = ProjectFolder::with(
        r#"
name: outputs
steps:
  deletes: { run: 'echo a=1 > "$WINDLASS_OUTPUT"; rm "$WINDLASS_OUTPUT"' }
  folder: { run: 'rm -f "$WINDLASS_OUTPUT"; mkdir -p "$WINDLASS_OUTPUT/deep"' }
  pipe: { run: 'rm -f "$WINDLASS_OUTPUT" "$WINDLASS_SUMMARY"; mkfifo "$WINDLASS_OUTPUT" "$WINDLASS_SUMMARY"' }
  endless: { run: 'ln -sf /dev/zero "$WINDLASS_OUTPUT"; ln -sf /dev/zero "$WINDLASS_SUMMARY"' }
  link: { run: 'ln -sf "$PWD/precious" "$WINDLASS_SUMMARY"' }
  bad-deletes: { outputs: [a], run: 'rm -f "$WINDLASS_OUTPUT"' }
  bad-folder: { outputs: [a], run: 'rm -f "$WINDLASS_OUTPUT"; mkdir "$WINDLASS_OUTPUT"' }
  bad-garbage: { run: 'printf "\377\000garbage\n" > "$WINDLASS_OUTPUT"' }
  bad-large: { run: 'printf a= > "$WINDLASS_OUTPUT"; head -c 1048576 /dev/zero | tr "\0" a >> "$WINDLASS_OUTPUT"' }
  bad-json: { run: 'echo "a:={" > "$WINDLASS_OUTPUT"' }
  bad-missing: { outputs: [a, b], run: 'echo a=1 > "$WINDLASS_OUTPUT"' }
"#,
    );
    project.file("precious", "p".repeat(100_000));
    let ended = project.run("run --keep-going");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let run = project.show();
    for step in run["steps"].as_array().expect("it lists steps") {
        let name = step["name"].as_str().expect("it has a name");
        let expected = if name.starts_with("bad-") { "failed" } else { "succeeded" };
        assert_eq!(step["status"], expected, "{step}");
        if expected == "failed" {
            let log = project.data(&format!("logs latest {name}"));
            assert!(log.starts_with("windlass: "), "{name}: {log}");
        }
    }
    assert_eq!(project.read("precious").len(), 100_000);
    let scratch =
        fs::read_dir(project.path().join(".windlass/workers/1/scratch")).expect("it is there");
    let left: Vec<PathBuf> = scratch.flatten().map(|entry| entry.path()).collect();
    let kept = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "summary");
    assert!(left.iter().all(kept), "{left:?}");
}
