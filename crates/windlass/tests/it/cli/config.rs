//! Settings: flags override variables, variables override files, files override defaults; errors in settings.

use std::fs;
use std::process::Command;

use insta::assert_snapshot;
use serde_json::Value;

use crate::support::program::FinishedProgram;
use crate::support::project_folder::{ProjectFolder, repository};

const FILE: &str = "\
serve:
  listen: 127.0.0.1:7001
  lease-ttl: 20s
  label: [ssd, rack=7]
  no-exec: true
  token-file: secret/token
client:
  to: http://me:hunter2@build.example:7700
";

/// The settings that are not defaults, with their values and sources.
fn set(command: &mut Command) -> String {
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{}", FinishedProgram::from(output).page());
    let lines = String::from_utf8(output.stdout).expect("it prints UTF-8");
    let rows = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("it is JSON"));
    let texts = rows.filter(|row| row["from"] != "default").map(|row| {
        let (name, file) = (row["setting"].as_str(), row["place"].as_str());
        let file = file.and_then(|path| path.rsplit('/').next());
        format!("{}={} {}", name.unwrap_or("?"), row["value"], file.unwrap_or("?"))
    });
    texts.collect::<Vec<_>>().join("\n")
}

#[test]
fn variables_come_before_the_named_file_and_that_before_the_usual_one() {
    let folder = ProjectFolder::empty()
        .with_file("../config/windlass/config.yml", FILE)
        .with_file("other.yml", "serve: { lease-ttl: 30s }\n");
    let show = "config show serve --json";
    let home = folder.config().with_file_name("").display().to_string();
    let without_path = |text: String| text.replace(home.trim_end_matches('/'), "");
    assert_snapshot!(without_path(set(&mut folder.command(show))), @r#"
    listen="127.0.0.1:7001" config.yml:2
    lease-ttl="20s" config.yml:3
    no-exec=true config.yml:5
    token-file="/config/windlass/secret/token" config.yml:6
    label=["ssd","rack=7"] config.yml:4
    "#);
    let by_variable =
        [("WINDLASS_LEASE_TTL", "1m"), ("WINDLASS_LABEL", "gpu"), ("WINDLASS_JOBS", "")];
    assert_snapshot!(without_path(set(folder.command(show).envs(by_variable))), @r#"
    listen="127.0.0.1:7001" config.yml:2
    lease-ttl="1m" WINDLASS_LEASE_TTL
    no-exec=true config.yml:5
    token-file="/config/windlass/secret/token" config.yml:6
    label=["gpu"] WINDLASS_LABEL
    "#);
    let named = format!("{show} --config other.yml");
    assert_snapshot!(set(folder.command(&named).env("WINDLASS_CONFIG", "absent.yml")), @r#"lease-ttl="30s" other.yml:1"#);
    assert_snapshot!(set(folder.command(show).env("WINDLASS_CONFIG", "other.yml")), @r#"lease-ttl="30s" other.yml:1"#);
}

#[test]
fn passwords_and_tokens_are_never_printed() {
    let folder = ProjectFolder::empty()
        .with_file("../config/windlass/config.yml", FILE)
        .with_file("../config/windlass/secret/token", "0123456789abcdef0123456789abcdef");
    for line in ["config show", "config show --json"] {
        let text = folder.page(line);
        assert!(!text.contains("hunter2") && !text.contains("0123456789abcdef"), "{text}");
        assert!(text.contains("config/windlass/secret/token"), "{text}");
    }
}

#[test]
fn invalid_settings_are_reported_with_their_source() {
    let wrong = "serve:\n  lease_ttl: 20s\n  listen: here\n  jobs: many\nworkers:\n  slots: 2\n";
    let folder = ProjectFolder::empty().with_file("wrong.yml", wrong);
    let project = folder.path().display().to_string();
    let text = folder.page("serve --config wrong.yml").replace(&project, "");
    assert_snapshot!(text, @r#"
    exit code 2
    --- said ---
    error[E041]: unknown setting `lease_ttl` in `serve`
     --> /wrong.yml:2:3
      |
    2 |   lease_ttl: 20s
      |   ^^^^^^^^^ did you mean `lease-ttl`?
      |
      = write:
    2 |   lease-ttl: 20s

    error[E042]: `listen` cannot be `here`: write it like 127.0.0.1:7700
     --> /wrong.yml:3:11
      |
    3 |   listen: here
      |           ^^^^

    error[E042]: `jobs` cannot be `many`: write a number from 0 to 10000
     --> /wrong.yml:4:9
      |
    4 |   jobs: many
      |         ^^^^

    error[E041]: unknown section `workers`
     --> /wrong.yml:5:1
      |
    5 | workers:
      | ^^^^^^^ did you mean `worker`?
      |
      = write:
    5 | worker:

    /wrong.yml: 4 errors; for details, run `windlass explain E041`
    "#);
}

#[test]
fn invalid_variable_is_named() {
    let folder = ProjectFolder::empty();
    let project = folder.path().display().to_string();
    let serve = |name: &str, value: &str| {
        let mut serve = folder.command("serve");
        serve.env(name, value);
        folder.start_command(serve).ended().page()
    };
    assert_snapshot!(serve("WINDLASS_LEASE_TTL", "15"), @r#"
    exit code 2
    --- said ---
    error: the environment variable WINDLASS_LEASE_TTL cannot be `15`: write it like 15s or 2m
    "#);
    assert_snapshot!(serve("WINDLASS_NO_EXEC", "1"), @r#"
    exit code 2
    --- said ---
    error: the environment variable WINDLASS_NO_EXEC cannot be `1`: use `true` or `false`
    "#);
    assert_snapshot!(serve("WINDLASS_LEASETTL", "15s"), @r#"
    exit code 2
    --- said ---
    error: no setting reads the environment variable WINDLASS_LEASETTL
      hint: did you mean WINDLASS_LEASE_TTL? `windlass config show` lists the variables
    "#);
    assert_snapshot!(serve("WINDLASS_CONFIG", "absent.yml").replace(&project, ""), @r#"
    exit code 2
    --- said ---
    error: the settings in /absent.yml cannot be read: No such file or directory (os error 2)
    "#);
    assert_snapshot!(folder.page("serve --lease-tll 15s"), @r#"
    exit code 2
    --- said ---
    error: unexpected argument '--lease-tll' found

      tip: a similar argument exists: '--lease-ttl'

    Usage: windlass serve --lease-ttl <DURATION>

    For more information, try '--help'.
    "#);
    let ended = folder.command("runs").env("WINDLASS_ULR", "http://a").output();
    let asked = FinishedProgram::from(ended.expect("the program starts")).page();
    assert_snapshot!(asked, @r#"
    exit code 2
    --- said ---
    error: no setting reads the environment variable WINDLASS_ULR
      hint: did you mean WINDLASS_URL? `windlass config show` lists the variables
    "#);
}

#[test]
fn setting_in_the_file_replaces_a_required_flag_and_can_be_overridden() {
    let folder = ProjectFolder::empty().with_file("worker.yml", "worker: { join: 'http://a/b' }\n");
    assert!(folder.page("worker").contains("--join <URL>"));
    assert!(folder.page("worker --config worker.yml").contains("`join` cannot be `http://a/b`"));
    let no_link = folder.page("worker --join ftp://a");
    assert!(no_link.contains("`ftp://a` is not the address of a controller"), "{no_link}");
    let folder = ProjectFolder::empty()
        .with_file("right.yml", "serve: { listen: '203.0.113.1:1', no-exec: true }\n");
    // The error comes from listening, after all settings were read.
    for flags in ["", "--no-exec", "--no-exec=false"] {
        let text = folder.page(&format!("serve --config right.yml {flags}"));
        assert!(text.contains("203.0.113.1:1 is reachable from other machines"), "{text}");
    }
    let text = folder.page("serve --config right.yml --listen 203.0.113.2:1");
    assert!(text.contains("203.0.113.2:1 is reachable"), "a flag comes first: {text}");
    assert!(folder.page("serve --no-exec=maybe").contains("'maybe'"));
}

#[test]
fn variables_of_steps_are_not_taken_for_settings() {
    let program = env!("CARGO_BIN_EXE_windlass");
    let step = format!(
        "steps:\n  a:\n    matrix: {{ listen: [x] }}\n    run: {program} config show client\n"
    );
    let ended = ProjectFolder::with(&step).page("run");
    assert!(ended.contains("client.to") && !ended.starts_with("exit code"), "{ended}");
}

#[test]
fn the_documentation_lists_every_setting() {
    let file = repository().join("docs/reference/configuration.md");
    let text = fs::read_to_string(file).expect("it is there");
    let (_, behind) = text.split_once("<!-- reference -->\n").expect("it begins");
    let (written, _) = behind.split_once("<!-- /reference -->").expect("it ends");
    let printed = ProjectFolder::empty().data("config reference");
    assert!(
        written.trim() == printed.trim(),
        "put what `windlass config reference` prints into docs/reference/configuration.md:\n{printed}"
    );
}
