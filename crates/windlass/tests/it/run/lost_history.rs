//! A store in a folder that has lost what it had acknowledged: nothing starts on it unless an operator accepts the loss.

use std::fs;

use crate::support::cluster::free_port;
use crate::support::http_client::HttpRequest;
use crate::support::program::RunningProgram;
use crate::support::project_folder::ProjectFolder;
use crate::support::waiting::{PATIENCE, until};

const PIPELINE: &str = "name: p\nsteps: { s: { run: 'echo ran >> ran' } }\n";

/// A store in which a run has ended and a token was created, without its journal and without the record of its last
/// position.
fn without_its_journal() -> ProjectFolder {
    let project = ProjectFolder::with(PIPELINE);
    assert_eq!(project.run("run").code, Some(0));
    assert_eq!(project.run("token create boss --scope admin").code, Some(0));
    for file in ["journal.db", "head"] {
        fs::remove_file(project.path().join(".windlass").join(file)).expect("it is there");
    }
    project
}

/// Tries a command without the flag.
fn is_refused(project: &ProjectFolder, line: &str) {
    let refused = project.run(line);
    assert_eq!(refused.code, Some(5), "{line}: {refused:?}");
    for word in ["has lost acknowledged events", "--accept-lost-history"] {
        assert!(refused.err.contains(word), "{line}: {refused:?}");
    }
    assert!(!project.path().join(".windlass/journal.db").exists(), "{line}: no journal is made");
}

/// A server that is to become ready.
fn answers(project: &ProjectFolder, port: u16, line: &str) -> RunningProgram {
    let running = project.start(line);
    until("the controller answers", || {
        HttpRequest::get("/runs").send(port, PATIENCE).is_some_and(|it| it.status == 200)
    });
    running
}

#[test]
fn run_starts_on_a_store_that_has_lost_its_journal_only_if_the_loss_is_accepted() {
    let project = without_its_journal();
    is_refused(&project, "run");
    let accepted = project.run("run --accept-lost-history");
    assert_eq!(accepted.code, Some(0), "{accepted:?}");
    assert_eq!(project.run("run").code, Some(0), "it is accepted once");
    assert_eq!(project.lines("ran").len(), 3);
}

/// Its tokens are lost too: started now, it would be open to every client.
#[test]
fn serve_starts_on_a_store_that_has_lost_its_journal_only_if_the_loss_is_accepted() {
    let project = without_its_journal();
    let port = free_port();
    let serve = format!("serve --listen 127.0.0.1:{port} --no-exec --no-token");
    is_refused(&project, &serve);
    drop(answers(&project, port, &format!("{serve} --accept-lost-history")));
    drop(answers(&project, port, &serve));
}

#[test]
fn dev_starts_on_a_store_that_has_lost_its_journal_only_if_the_loss_is_accepted() {
    let project = without_its_journal();
    let port = free_port();
    let dev = format!("dev --listen 127.0.0.1:{port} --workers 1 --no-token");
    is_refused(&project, &dev);
    drop(answers(&project, port, &format!("{dev} --accept-lost-history")));
    drop(answers(&project, port, &dev));
}
