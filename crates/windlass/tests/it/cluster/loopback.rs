//! A controller on a loopback address, which every user of the machine reaches.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use rustix::process::Signal;

use crate::support::cluster::free_port;
use crate::support::http_client::HttpRequest;
use crate::support::program::RunningProgram;
use crate::support::project_folder::ProjectFolder;
use crate::support::waiting::{PATIENCE, until};

const PIPELINE: &str = "name: s\nsteps: { s: { run: 'echo hi' } }\n";

fn status(port: u16, path: &str) -> Option<u16> {
    HttpRequest::get(path).send(port, PATIENCE).map(|answer| answer.status)
}

fn status_with(port: u16, token: &str) -> u16 {
    let authorization = format!("Bearer {token}");
    let request = HttpRequest::get("/runs").with_header("authorization", &authorization);
    request.send(port, PATIENCE).expect("the controller answers").status
}

fn serve(project: &ProjectFolder, port: u16, flags: &str) -> RunningProgram {
    let serve = project.start(&format!("serve --listen 127.0.0.1:{port} --no-exec {flags}"));
    until("it answers", || status(port, "/healthz") == Some(200));
    serve
}

#[test]
fn controller_on_loopback_serves_its_own_user_only() {
    let project = ProjectFolder::with(PIPELINE);
    let port = free_port();
    let controller = serve(&project, port, "");
    assert_eq!(status(port, "/runs"), Some(401));
    controller.until_said("a request from 127.0.0.1 was refused (401)");
    // Every command of the controller's own user works without a flag.
    let url = format!("http://localhost:{port}");
    let worker = project.start(&format!("worker --join {url} --name far"));
    project.data(&format!("submit --wait --to {url}"));
    // Another user uses another path, and does not trust files that others can write.
    let state = project.path().join("../state/windlass/loopback");
    let file = state.join(format!("127.0.0.1-{port}"));
    let token = fs::read_to_string(&file).expect("it is kept");
    let mode = |path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!((mode(&state), mode(&file)), (0o700, 0o600));
    let mut other = project.command(&format!("runs --to {url}"));
    let other = other.env("XDG_STATE_HOME", project.path()).output().expect("it starts");
    assert_eq!(other.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&other.stderr).contains("requires a token"), "{other:?}");
    // The token changes with a restart; commands and existing workers find the new one.
    controller.signal(Signal::TERM);
    drop(controller.ended());
    let _again = serve(&project, port, "");
    let newer = fs::read_to_string(&file).expect("it is kept");
    assert_ne!(newer, token);
    assert_eq!(status_with(port, token.trim()), 401, "what was shown before opens nothing");
    assert_eq!(status_with(port, newer.trim()), 200);
    project.data(&format!("submit --wait --to {url}"));
    assert!(project.data(&format!("runs --to {url}")).contains("succeeded"));
    worker.signal(Signal::TERM);
    assert_eq!(worker.ended().code, Some(0));
    // No other controller has it.
    let beside = ProjectFolder::with(PIPELINE);
    let second = free_port();
    let _second = serve(&beside, second, "");
    assert_eq!(project.run(&format!("runs --to http://127.0.0.1:{second}")).code, Some(2));
}

#[test]
fn commands_and_workers_that_outlive_a_controller_find_the_token_of_the_next() {
    let project = ProjectFolder::with(
        "name: s\nsteps: { s: { run: 'echo $$ >> begun; until [ -e enough ]; do sleep 0.02; done' } }\n",
    );
    let port = free_port();
    let controller = serve(&project, port, "");
    let url = format!("http://127.0.0.1:{port}");
    let worker = project.start(&format!("worker --join {url} --name far"));
    let submit = project.start(&format!("submit --wait --to {url}"));
    project.until_lines("begun", 1);
    controller.signal(Signal::TERM);
    drop(controller.ended());
    let _again = serve(&project, port, "");
    project.file("enough", "");
    let ended = submit.ended();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(project.lines("begun").len(), 1, "the worker went on");
    worker.signal(Signal::TERM);
    assert_eq!(worker.ended().code, Some(0));
}

#[test]
fn controller_without_tokens_reports_it() {
    let project = ProjectFolder::with(PIPELINE);
    let port = free_port();
    let controller = serve(&project, port, "--no-token");
    assert_eq!(status(port, "/runs"), Some(200));
    let said = controller.said();
    assert!(said.contains("every user of this machine can run commands here"), "{said}");
}
