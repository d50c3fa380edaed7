//! The files of `deploy/`, compared with the program: flags and variables exist, files parse, probes name real routes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use windlass_controller::api::{RouteAccess, route_descriptions};

use crate::python::python;

const WINDLASS: &str = env!("CARGO_BIN_EXE_windlass");

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy")
}

fn read(file: &str) -> String {
    fs::read_to_string(deploy().join(file)).expect("it is there")
}

fn printed(arguments: &[&str]) -> String {
    let output = Command::new(WINDLASS).args(arguments).output().expect("it runs");
    assert!(output.status.success(), "{arguments:?}");
    String::from_utf8(output.stdout).expect("it is text")
}

/// Lines that are no comments.
fn said(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim_start().starts_with('#'))
}

/// Returns the words of a line with this prefix.
fn words<'a>(line: &'a str, begins: &'a str) -> impl Iterator<Item = &'a str> {
    let end = |c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_');
    let parts = line.split(|c: char| c.is_whitespace() || "\"'=:{},[]".contains(c));
    let parts = parts.filter(move |word| word.starts_with(begins));
    parts.map(move |word| word.split(end).next().unwrap_or(word))
}

/// The lines that start each command, by file.
fn lines() -> Vec<(&'static str, &'static str, String)> {
    let mut lines = vec![
        (
            "systemd/windlass-controller.service",
            "serve",
            read("systemd/windlass-controller.service"),
        ),
        ("systemd/windlass-worker.service", "worker", read("systemd/windlass-worker.service")),
        ("kubernetes/controllers.yml", "serve", read("kubernetes/controllers.yml")),
        ("kubernetes/workers.yml", "worker", read("kubernetes/workers.yml")),
    ];
    let compose = read("compose.yml");
    for command in ["serve", "worker"] {
        let of: Vec<&str> = said(&compose)
            .filter(|line| line.trim_start().starts_with(&format!("command: {command} ")))
            .collect();
        assert_eq!(of.len(), 2, "two of each");
        lines.push(("compose.yml", command, of.join("\n")));
    }
    lines
}

#[test]
fn every_flag_is_one_of_its_command() {
    for (file, command, text) in lines() {
        let help = printed(&[command, "--help"]);
        let flags: BTreeSet<&str> = said(&text).flat_map(|line| words(line, "--")).collect();
        let flags: BTreeSet<&str> = flags.into_iter().filter(|flag| flag.len() > 3).collect();
        assert!(flags.len() >= 3, "{file}: {flags:?}");
        for flag in flags {
            let listed = help.lines().any(|line| words(line, "--").any(|known| known == flag));
            assert!(listed, "{file}: `{command}` has no {flag}");
        }
    }
}

#[test]
fn every_variable_is_one_of_the_program() {
    let reference = printed(&["config", "reference"]);
    let known: BTreeSet<&str> =
        reference.split('`').filter(|it| it.starts_with("WINDLASS_")).collect();
    let mut found = BTreeSet::new();
    for file in
        ["compose.yml", "systemd/windlass-controller.service", "systemd/windlass-worker.service"]
            .into_iter()
            .chain(["kubernetes/controllers.yml", "kubernetes/workers.yml"])
    {
        let text = read(file);
        for variable in text.lines().flat_map(|line| words(line, "WINDLASS_")) {
            assert!(known.contains(variable), "{file}: {variable}");
            found.insert(variable.to_owned());
        }
    }
    assert!(found.contains("WINDLASS_STORE") && found.contains("WINDLASS_JOIN"), "{found:?}");
}

/// Every document of a file of YAML.
fn documents(file: &str) -> Option<Vec<Value>> {
    let script =
        "import json, sys, yaml; print(json.dumps(list(yaml.safe_load_all(open(sys.argv[1])))))";
    let mut python = python("yaml", "python3-yaml")?;
    let output = python.args(["-c", script]).arg(deploy().join(file)).output().expect("it runs");
    assert!(output.status.success(), "{file}: {}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).expect("it is JSON"))
}

#[test]
fn three_controllers_are_probed_without_a_token_and_restarted_one_at_a_time() {
    let Some(documents) = documents("kubernetes/controllers.yml") else { return };
    let of = |kind: &str| documents.iter().find(|it| it["kind"] == kind).expect("it is there");
    let set = of("StatefulSet");
    assert_eq!(set["spec"]["replicas"], 3);
    let container = &set["spec"]["template"]["spec"]["containers"][0];
    let open: Vec<&str> = route_descriptions()
        .iter()
        .filter(|it| it.needs == RouteAccess::Nothing)
        .map(|it| it.path)
        .collect();
    for (probe, path) in [("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")] {
        assert_eq!(container[probe]["httpGet"]["path"], path);
        assert!(open.contains(&path), "{path} asks for a token");
    }
    let store = &container["env"][1];
    assert_eq!(store["name"], "WINDLASS_STORE");
    assert!(store["valueFrom"]["secretKeyRef"].is_object(), "its password is a secret");
    let labels = &set["spec"]["template"]["metadata"]["labels"];
    let budget = &of("PodDisruptionBudget")["spec"];
    assert_eq!(
        (&budget["maxUnavailable"], &budget["selector"]["matchLabels"]),
        (&1.into(), labels)
    );
    let services = documents.iter().filter(|it| it["kind"] == "Service");
    let names: Vec<&Value> = services.map(|it| &it["metadata"]["name"]).collect();
    assert!(names.contains(&&set["spec"]["serviceName"]), "each has a name: {names:?}");
}

#[test]
fn workers_are_given_every_controller() {
    let Some(workers) = documents("kubernetes/workers.yml") else { return };
    let args = workers[0]["spec"]["template"]["spec"]["containers"][0]["args"].to_string();
    for at in 0..3 {
        assert!(
            args.contains(&format!("http://windlass-{at}.windlass-controllers:7700")),
            "{args}"
        );
    }
    let Some(compose) = documents("compose.yml") else { return };
    for (name, service) in compose[0]["services"].as_object().expect("it has services") {
        let command = service["command"].as_str().unwrap_or_default();
        let joins = command.contains("--join http://a:7700,http://b:7700 ");
        assert_eq!(joins, name.starts_with("worker-"), "{name}: {command}");
    }
}

#[test]
fn systemd_accepts_the_units() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    for unit in ["windlass-controller.service", "windlass-worker.service"] {
        let text = read(&format!("systemd/{unit}"));
        // The program is not installed here, and neither is its user.
        let text = text.replace("/usr/local/bin/windlass", WINDLASS);
        let text = text.replace("User=windlass", "User=root");
        let file = folder.path().join(unit);
        fs::write(&file, text).expect("it can be written");
        let verified =
            Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&file).output();
        let Ok(verified) = verified else { return not_here("systemd-analyze", "systemd") };
        let expected = String::from_utf8_lossy(&verified.stderr).into_owned();
        let ours: Vec<&str> = expected.lines().filter(|line| line.contains("windlass")).collect();
        assert_eq!(ours, Vec::<&str>::new(), "{unit}");
    }
}

/// A test without its program prints that and is skipped, but not in CI.
#[expect(clippy::print_stdout, reason = "a test that is skipped says so")]
fn not_here(program: &str, package: &str) {
    let help = format!("no {program}: apt-get install {package}");
    println!("skipped: {help}");
    assert!(!std::env::vars().any(|of| of == ("CI".into(), "true".into())), "{help}");
}
