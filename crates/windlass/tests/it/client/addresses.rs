//! The address that a command uses, and the tokens that a controller accepts.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::support::local_cluster::LocalCluster;
use crate::support::project_folder::ProjectFolder;

const ONE: &str = "name: one\nsteps:\n  a: { run: 'true' }\n";
const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// Two controllers, and a folder with a run of its own. Each knows one run, of a pipeline with its name.
struct TwoControllers {
    there: LocalCluster,
    saved: LocalCluster,
    here: ProjectFolder,
}

impl TwoControllers {
    fn new() -> Self {
        let cluster = |name: &str| {
            let cluster = LocalCluster::start_in(
                ProjectFolder::with(&ONE.replace("one", name)),
                "--jobs 4 --no-token",
            );
            cluster.submit_project();
            cluster
        };
        let (there, saved) = (cluster("there"), cluster("saved"));
        let here = ProjectFolder::with(&ONE.replace("one", "here"));
        here.data("run");
        Self { there, saved, here }
    }

    /// Returns the address that a command uses with these flags and this variable, and its message about that.
    fn looks(&self, flags: &str, url: Option<&str>) -> (String, String) {
        let mut command = self.here.command(&format!("runs --json {flags}"));
        command.envs(url.map(|url| ("WINDLASS_URL", url)));
        let ended = self.here.start_command(command).ended();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let run: serde_json::Value = serde_json::from_str(&ended.out).expect("one run");
        (run["pipeline"].as_str().expect("it has one").to_owned(), ended.err)
    }
}

#[test]
fn most_specific_setting_selects_the_address() {
    let world = TwoControllers::new();
    let project = |project: &str, said: &str| (project.to_owned(), said.to_owned());
    let (there, saved) = (world.there.url.as_str(), world.saved.url.as_str());
    assert_eq!(world.looks("", None), project("here", ""));
    let ended = world.here.run(&format!("context {saved}"));
    assert_eq!(ended.err, format!("saved: commands that read runs use {saved}\n"));
    assert_eq!(
        world.looks("", None),
        project("saved", &format!("using {saved} (saved context)\n"))
    );
    let by_variable = project("there", &format!("using {there} (WINDLASS_URL)\n"));
    assert_eq!(world.looks("", Some(there)), by_variable);
    assert_eq!(world.looks(&format!("--to {there}"), Some(saved)), project("there", ""));
    assert_eq!(world.looks("--store .windlass", Some(there)), project("here", ""));
    assert_eq!(world.here.data("context"), format!("{saved}\n"));
    assert_eq!(world.here.run("context --none").err, "the saved context is deleted\n");
    assert_eq!(world.looks("", None), project("here", ""));
    let both = world.here.run(&format!("runs --store .windlass --to {there}"));
    assert_eq!(both.code, Some(2), "two places at once make no sense: {both:?}");
    let rerun = world.here.run(&format!("rerun latest --jobs 2 --to {there}"));
    assert_eq!(rerun.code, Some(2));
    assert!(rerun.err.contains("--jobs applies to steps that run here"), "{}", rerun.err);
}

#[test]
fn missing_token_error_names_the_flag() {
    let project = ProjectFolder::with(ONE);
    project.file("token", format!("{TOKEN}\n"));
    project.file("other", "fedcba9876543210fedcba9876543210");
    let cluster = LocalCluster::start_in(project, "--jobs 4 --token-file token");
    let none = cluster.run("runs");
    assert_eq!(none.code, Some(2), "{none:?}");
    assert!(none.err.contains("requires a token") && none.err.contains("--token-file"), "{none:?}");
    let wrong = cluster.run("runs --token-file other");
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(wrong.err.contains("does not accept this token"), "{wrong:?}");
    let absent = cluster.run("runs --token-file absent");
    assert_eq!(absent.code, Some(2), "{absent:?}");
    assert!(absent.err.contains("absent"), "{absent:?}");
    let right = cluster.run("submit --wait --token-file token");
    assert_eq!(right.code, Some(0), "{right:?}");
    for text in [none.err, wrong.err, right.err] {
        assert!(!text.contains(TOKEN), "a token is never shown: {text}");
    }
}

#[test]
fn context_stores_the_path_of_the_token_and_not_the_token() {
    let project = ProjectFolder::with(ONE);
    project.file("token", TOKEN);
    let cluster = LocalCluster::start_in(project, "--jobs 4 --token-file token");
    let project = &cluster.project;
    assert_eq!(project.run(&format!("context {} --token-file token", cluster.url)).code, Some(0));
    assert_eq!(project.run("submit --wait").code, Some(0));
    assert_eq!(cluster.run("runs").code, Some(0), "it is the token of that controller");
    let file = project.config().join("windlass/context");
    let text = fs::read_to_string(&file).expect("it was written");
    assert!(!text.contains(TOKEN) && text.contains("token"), "{text}");
    let mode = fs::metadata(&file).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let other = LocalCluster::start_in(ProjectFolder::with(ONE), "--jobs 4 --no-token");
    let ended = project.run(&format!("runs --to {}", other.url));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    project.file("../config/windlass/context", "{ nonsense");
    let broken = project.run("runs");
    assert_eq!(broken.code, Some(2));
    assert!(broken.err.contains("`windlass context --none` removes it"), "{}", broken.err);
}

#[test]
fn address_without_a_controller_is_reported() {
    let project = ProjectFolder::with(ONE);
    for (url, code, words) in [
        ("ftp://a", 2, "the scheme must be http:// or https://"),
        ("http://a/b", 2, "a host and a port only"),
        ("http://127.0.0.1:1", 5, "cannot be reached"),
        ("http://no-such-host.invalid:7700", 5, "cannot be reached"),
    ] {
        let ended = project.run(&format!("runs --to {url}"));
        assert_eq!(ended.code, Some(code), "{url}: {ended:?}");
        assert!(ended.err.contains(words), "{url}: {}", ended.err);
    }
    let ended = project.set("WINDLASS_URL", "http://a:b").run("runs");
    assert_eq!(ended.code, Some(2));
    assert!(ended.err.contains("it comes from WINDLASS_URL"), "{}", ended.err);
}
