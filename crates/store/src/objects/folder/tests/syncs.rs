//! Durable before it has its name, as the kernel sees it: the system calls of a process that stores objects, traced.
//!
//! A store that does not sync passes every test without a power failure.

use std::path::Path;
use std::process::Command;
use std::{fs, io};

use super::fixtures::{folder, object, open, put, put_large};
use crate::objects::BLOCK;

const FOLDER: &str = "WINDLASS_OBJECTS_TRACE_FOLDER";

/// Stores a pack and a large object if a test has started this process for it; does nothing otherwise.
#[test]
#[expect(clippy::disallowed_methods, reason = "the test that starts this process set it")]
fn child() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let store = open(Path::new(&folder));
    put(&store, &[object(1, 10), object(2, 20)]).unwrap();
    put_large(&store, &object(3, 2 * BLOCK)).unwrap();
}

/// Returns the new names of files that were renamed without a sync before or one of their folder after it, and the number of
/// renamed files.
fn unsynced(trace: &str) -> (Vec<String>, usize) {
    let lines: Vec<&str> = trace.lines().collect();
    let is_synced = |lines: &[&str], path: &str| {
        let of_file = format!("<{path}>");
        lines.iter().any(|line| line.contains("sync(") && line.contains(&of_file))
    };
    let (mut unsynced, mut renamed) = (Vec::new(), 0);
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| line.contains("rename")) {
        let names: Vec<&str> = line.split('"').skip(1).step_by(2).collect();
        let [from, to] = names[..] else { panic!("two names in {line}") };
        let parent = to.rsplit_once('/').expect("a path").0;
        renamed += 1;
        if !is_synced(&lines[..at], from) || !is_synced(&lines[at..], parent) {
            unsynced.push(to.to_owned());
        }
    }
    (unsynced, renamed)
}

/// Returns the syncs and renames of the child; `None` where calls cannot be traced. On CI a missing tracer is a failure.
#[expect(clippy::disallowed_methods, reason = "a switch of the tests, not of the program")]
fn trace() -> Option<String> {
    let folder = folder();
    let file = folder.path().join("trace");
    let calls = "trace=fsync,fdatasync,rename,renameat,renameat2";
    let name = "objects::folder::tests::syncs::child";
    let mut command = Command::new("strace");
    command
        .args(["-f", "-y", "-z", "-s", "999", "-e", calls, "-e", "signal=none", "-o"])
        .arg(&file);
    command.arg("--").arg(std::env::current_exe().expect("the test has a path"));
    command.args(["--exact", name]).env(FOLDER, folder.path());
    let failed = match command.output() {
        Ok(output) if output.status.success() => return fs::read_to_string(file).ok(),
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => "strace is missing".to_owned(),
        Err(error) => error.to_string(),
    };
    println!("skipped: syncs cannot be seen here: {failed}");
    assert!(std::env::var("CI").as_deref() != Ok("true"), "syncs cannot be seen: {failed}");
    None
}

#[test]
fn file_is_synced_before_its_name_and_its_folder_after_it() {
    if let Some(trace) = trace() {
        assert_eq!(unsynced(&trace), (vec![], 2), "{trace}");
    }
}

#[test]
fn missing_sync_is_found() {
    let lines = [
        "1 fsync(3</s/new/a>) = 0",
        "1 rename(\"/s/new/a\", \"/s/packs/b\") = 0",
        "1 fsync(4</s/packs>) = 0",
    ];
    assert_eq!(unsynced(&lines.join("\n")), (vec![], 1));
    for left_out in [0, 2] {
        let mut rest = lines.to_vec();
        rest.remove(left_out);
        assert_eq!(unsynced(&rest.join("\n")), (vec!["/s/packs/b".to_owned()], 1));
    }
}
