//! Tokens as operators use them: created in a store without a leader, given to workers, revoked.

use serde_json::Value;

use crate::support::cluster::free_port;
use crate::support::program::RunningProgram;
use crate::support::project_folder::ProjectFolder;
use crate::support::waiting::until;

const LOCKED: &str = "name: ship\nsteps:\n  s: { lock: press, run: 'echo >> began; until test -e go; do sleep 0.02; done' }\n";

/// A controller on a public address, whose only tokens are in its store.
struct TokenController {
    project: ProjectFolder,
    _controller: RunningProgram,
    to: String,
}

impl TokenController {
    fn start() -> Self {
        let project = ProjectFolder::with(LOCKED);
        token(&project, "create boss --scope admin", "admin-token");
        let port = free_port();
        let serve = format!("serve --listen 0.0.0.0:{port} --no-exec --lease-ttl 2s");
        let controller = project.start(&serve);
        controller.until_said("leads cluster");
        Self { project, _controller: controller, to: format!("--to http://127.0.0.1:{port}") }
    }

    /// The command line of a request to the controller with a token.
    fn line(&self, command: &str, token: &str) -> String {
        format!("{command} {} --token-file {token}", self.to)
    }

    fn worker(&self, token: &str) -> RunningProgram {
        let join = self.to.replace("--to", "--join");
        let worker = self.project.start(&format!("worker {join} --name one --token-file {token}"));
        until("it has joined", || self.status() == "online");
        worker
    }

    /// The status of the worker, read over the controller's socket.
    fn status(&self) -> String {
        let ended = self.project.run(&self.line("workers --json", "admin-token"));
        let lines = ended.out.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let one = lines.into_iter().find(|it| it["name"] == "one");
        one.map_or_else(String::new, |it| it["status"].as_str().unwrap_or_default().to_owned())
    }
}

/// Creates a token and writes it to a file.
fn token(project: &ProjectFolder, line: &str, file: &str) {
    let made = project.run(&format!("token {line}"));
    assert_eq!(made.code, Some(0), "{made:?}");
    let text = made.out.trim();
    assert!(text.starts_with("wl_") && text.len() == 46, "{made:?}");
    assert!(!made.err.contains(text), "what is said beside it is not secret: {made:?}");
    project.file(file, &made.out);
}

#[test]
fn first_token_can_be_created_without_a_controller() {
    let guarded = TokenController::start();
    let TokenController { project, to, .. } = &guarded;
    let refused = project.run(&format!("runs {to}"));
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("requires a token"), "{}", refused.err);
    assert_eq!(project.run(&guarded.line("runs", "admin-token")).code, Some(0));
    // The socket of the store, which only its owner can use.
    token(project, "create ci --scope read --expires 30d", "read-token");
    let wrong = project.run(&guarded.line("submit --keep-going", "read-token"));
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(wrong.err.contains("scope `submit`"), "{}", wrong.err);
    let listed = project.data("token list --json");
    let listed: Vec<Value> =
        listed.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let names: Vec<_> = listed.iter().map(|it| (&it["name"], &it["status"])).collect();
    assert_eq!(names, [(&"boss".into(), &"valid".into()), (&"ci".into(), &"valid".into())]);
    assert_eq!(project.run("token revoke ci").code, Some(0));
    let revoked = project.run(&guarded.line("runs", "read-token"));
    assert!(revoked.err.contains("revoked"), "{revoked:?}");
    assert!(project.data("token list").contains("revoked"));
    assert!(project.run("token revoke nobody").err.contains("no valid token"));
}

#[test]
fn worker_outlives_its_join_token_and_not_its_own_revocation() {
    let guarded = TokenController::start();
    let project = &guarded.project;
    token(project, "create fleet --scope worker", "fleet-token");
    let mut worker = guarded.worker("fleet-token");
    assert_eq!(project.run("token revoke fleet").code, Some(0));
    let run = project.data(&guarded.line("submit", "admin-token"));
    until("the step has begun", || project.path().join("began").exists());
    let released = project.run("locks release press");
    assert_eq!(released.code, Some(0), "{released:?}");
    assert!(released.err.contains("its step continues"), "{}", released.err);
    let revoked = project.run("worker revoke one");
    assert_eq!(revoked.code, Some(0), "{revoked:?}");
    until("the worker has ended", || worker.is_over());
    let ended = worker.ended();
    assert_eq!(ended.code, Some(5), "{ended:?}");
    assert!(ended.err.contains("it was revoked"), "{}", ended.err);
    let join = guarded.to.replace("--to", "--join");
    let again = project.run(&format!("worker {join} --name one --token-file admin-token"));
    assert!(again.err.contains("revoked"), "its credential is over, whatever it shows: {again:?}");
    until("its lease has ended", || guarded.status() == "lost");
    let text = project.data("audit");
    for line in ["create_token", "join", "submit", "revoke_token", "force_release", "revoke_worker"]
    {
        assert!(text.contains(line), "{line}: {text}");
    }
    let events = project.data(&guarded.line("audit --json", "admin-token"));
    assert!(events.contains(run.trim()), "whose word the run was: {events}");
}

#[test]
fn the_file_of_a_controller_is_reread_when_it_changes() {
    let (old, new) = ("0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210");
    let project = ProjectFolder::with(LOCKED);
    project.file("old", old);
    project.file("new", new);
    project.file("tokens", old);
    let port = free_port();
    let serve = format!("serve --listen 127.0.0.1:{port} --no-exec --token-file tokens");
    let controller = project.start(&serve);
    controller.until_said("leads cluster");
    let opens = |token: &str| {
        let line = format!("runs --to http://127.0.0.1:{port} --token-file {token}");
        project.run(&line).code == Some(0)
    };
    assert!(opens("old") && !opens("new"));
    project.file("tokens", format!("{new}\n{old}\n"));
    until("both are taken", || opens("old") && opens("new"));
    project.file("tokens", "not a token\n");
    controller.until_said("is not readable as a token file");
    assert!(opens("old") && opens("new"), "a file that is half written closes nothing");
    project.file("tokens", new);
    until("the old one is refused", || !opens("old"));
    assert!(opens("new"));
    project.file("tokens", "");
    until("an emptied file opens nothing", || !opens("new"));
    assert!(project.run(&format!("runs --to http://127.0.0.1:{port}")).code == Some(2));
}
