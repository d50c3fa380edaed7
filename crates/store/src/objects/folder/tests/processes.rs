//! Other processes: writers that are killed, and several at once.

use std::io::{BufRead as _, BufReader, Lines, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use super::fixtures::{TestObject, folder, object, open, put, put_large, read};
use crate::conformance::block_on as wait;
use crate::objects::{BLOCK, ObjectError, ObjectInventory as _, check_objects};

const ROLE: &str = "WINDLASS_OBJECTS_TEST_FOLDER";

/// Writes if a test has started this process for it; does nothing otherwise.
#[test]
#[expect(clippy::disallowed_methods, reason = "the test that starts this process set it")]
fn child() {
    let Ok(folder) = std::env::var(ROLE) else { return };
    let store = open(Path::new(&folder));
    for number in 0.. {
        store_numbered(&store, number).expect("the disk works");
        println!("stored {number}.");
        std::io::stdout().flush().expect("the test reads");
    }
}

/// The objects that have a number: some small ones, and now and then a large one.
fn numbered(number: u64) -> (Vec<TestObject>, Option<TestObject>) {
    let small = (0..20).map(|at| object(number * 100 + at, 700)).collect();
    (small, number.is_multiple_of(4).then(|| object(number * 100 + 99, 2 * BLOCK + 7)))
}

fn store_numbered(store: &crate::objects::FolderObjects, number: u64) -> Result<(), ObjectError> {
    let (small, large) = numbered(number);
    put(store, &small)?;
    match large.map(|large| put_large(store, &large)) {
        // Another process has finished or continued the same upload.
        Some(Err(ObjectError::Offset { .. })) => store_numbered(store, number),
        Some(put) => put,
        None => Ok(()),
    }
}

struct WriterProcess {
    child: Child,
    says: Lines<BufReader<ChildStdout>>,
}

impl WriterProcess {
    fn start(folder: &Path) -> Self {
        let executable = std::env::current_exe().expect("the test has a path");
        let name = "objects::folder::tests::processes::child";
        let mut command = Command::new(executable);
        command.args(["--exact", name, "--nocapture"]).env(ROLE, folder).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the executable starts");
        let says = BufReader::new(child.stdout.take().expect("it was asked for")).lines();
        Self { child, says }
    }

    /// Returns the next number whose objects are stored; `None` when the process has ended.
    fn next_number(&mut self) -> Option<u64> {
        self.says.by_ref().map_while(Result::ok).find_map(|line| {
            let (_, number) = line.split_once("stored ")?;
            // The last line may be cut off; an incomplete number does not count.
            number.strip_suffix('.')?.parse().ok()
        })
    }

    /// Kills the process, and returns the numbers that it has printed before.
    fn kill(mut self) -> Vec<u64> {
        self.child.kill().expect("it is this process's child");
        let rest = std::iter::from_fn(|| self.next_number()).collect();
        self.child.wait().expect("it was killed");
        rest
    }
}

/// Checks that all objects of these numbers are there, and that nothing is damaged.
fn examine(folder: &Path, stored: impl IntoIterator<Item = u64>) {
    let store = open(folder);
    for number in stored {
        let (small, large) = numbered(number);
        for (id, bytes) in small.iter().chain(&large) {
            assert!(read(&store, *id).as_ref() == Ok(bytes), "{id} of {number} was acknowledged");
        }
    }
    let check = wait(check_objects(&store)).unwrap();
    assert!(check.damaged.is_empty(), "{check:?}");
    assert_eq!(store.unreadable_packs(), Ok(vec![]));
}

/// Kills a writing process repeatedly on one store, each time after a different number of objects. Each continues the uploads
/// of the one before.
#[test]
#[expect(clippy::disallowed_methods, reason = "a switch of the tests, not of the program")]
fn what_was_acknowledged_survives_kills() {
    let rounds = if std::env::var("WINDLASS_DEEP").is_ok() { 100 } else { 12 };
    let folder = folder();
    let mut last = None;
    for round in 0..rounds {
        let mut writer = WriterProcess::start(folder.path());
        // Zero: the process is killed while it starts.
        let heard = (0..round * 7 % 12).map_while(|_| writer.next_number()).last();
        last = last.max(writer.kill().last().copied()).max(heard);
        examine(folder.path(), last);
    }
    let last = last.expect("some objects were stored");
    examine(folder.path(), 0..=last);
}

#[test]
fn processes_at_once_store_the_same_objects_once() {
    let folder = folder();
    let mut writers = [(); 3].map(|()| WriterProcess::start(folder.path()));
    for writer in &mut writers {
        while writer.next_number().expect("it writes for ever") < 8 {}
    }
    let store = open(folder.path());
    (0..8).for_each(|number| store_numbered(&store, number).unwrap());
    let stored = writers.map(|writer| writer.kill().last().copied().unwrap_or(8));
    examine(folder.path(), 0..=stored.into_iter().max().expect("three"));
    let listed = wait(store.list(None, usize::MAX)).unwrap();
    assert!(listed.is_sorted_by_key(|object| object.id), "each object is listed once");
}
