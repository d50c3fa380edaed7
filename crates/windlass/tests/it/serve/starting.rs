//! The conditions under which a controller starts, and those under which it refuses.

use std::fs;

use crate::support::cluster::free_port;
use crate::support::local_cluster::LocalCluster;
use crate::support::program::WINDLASS;
use crate::support::project_folder::ProjectFolder;

const LIMITS: &str = "name: limits\nsteps: { s: { run: 'ulimit -Sn >> limits' } }\n";

#[test]
fn controller_raises_its_descriptor_limit_and_steps_keep_the_original_one() {
    let project = ProjectFolder::with(LIMITS);
    let port = free_port();
    let serve = format!("serve --listen 127.0.0.1:{port} --jobs 1 --no-token");
    let script = format!("ulimit -Sn 300; exec {WINDLASS} {serve}");
    let mut command = project.program("sh");
    command.args(["-c", &script]);
    let cluster = LocalCluster::start_by(project, (WINDLASS.as_ref(), port, "--jobs 1"), command);
    let pid = cluster.controller.pid();
    let limits = fs::read_to_string(format!("/proc/{pid}/limits")).expect("this is Linux");
    let line = limits.lines().find(|line| line.starts_with("Max open files")).expect("it is there");
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words[3], words[4], "the soft limit is the hard one: {line}");
    assert_ne!(words[3], "300", "{line}");
    cluster.project.data(&format!("submit --wait --to {}", cluster.url));
    assert_eq!(cluster.project.lines("limits"), ["300"]);
}

#[test]
fn invalid_flags_are_refused_before_any_file_is_created() {
    let project = ProjectFolder::with(LIMITS);
    let refused = [
        ("--advertise build.example:7700", "write it like http://build.example:7700"),
        ("--advertise http://build.example/windlass", "a host and a port only"),
        ("--advertise ftp://build.example", "`ftp://build.example` is not the address"),
        ("--advertise http://0.0.0.0:7700", "it is a wildcard address"),
        ("--allow-host http://build.example", "write it like build.example, without a port"),
        ("--allow-host build.example:80", "write it like build.example, without a port"),
        ("--store postgres://db:port/windlass", "its address cannot be read"),
        ("--listen 0.0.0.0:0", "no token exists"),
    ];
    for (flags, words) in refused {
        let ended = project.run(&format!("serve {flags}"));
        assert_eq!(ended.code, Some(2), "{flags}: {ended:?}");
        assert!(ended.err.contains(words), "{flags}: {}", ended.err);
    }
    let made = fs::read_dir(project.path()).expect("it is there").count();
    assert_eq!(made, 1, "there is windlass.yml and nothing else");
}
