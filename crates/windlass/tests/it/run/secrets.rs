//! Secrets of steps that print them in every way do not appear anywhere.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rustix::process::Signal;

use crate::support::project_folder::ProjectFolder;

const SECRET: &str = "hunter2/\"käse\"+zz top";
const BASE64: &str = "aHVudGVyMi8ia8Okc2UiK3p6IHRvcA==";
const FOR_URLS: &str = "hunter2%2F%22k%C3%A4se%22%2Bzz%20top";
const IN_JSON: &str = "hunter2/\\\"käse\\\"+zz top";

const LEAKY: &str = r#"
name: leaky
steps:
  prints: { secrets: [TOKEN], run: 'printf "%s\n" "$TOKEN"; cat forms; printf "%s" "$TOKEN" | base64 -w 0; printf "%s" "$TOKEN" >&2' }
  pauses: { secrets: [TOKEN], run: 'cat first; sleep 0.3; cat second; echo' }
  fails: { secrets: [TOKEN], run: 'echo "x=$TOKEN" > "$WINDLASS_OUTPUT"; echo "**$TOKEN**" > "$WINDLASS_SUMMARY"; echo "no $TOKEN"; exit 9' }
  hands-on: { secrets: [TOKEN], outputs: [t], run: 'echo "t=$TOKEN" > "$WINDLASS_OUTPUT"; echo "**$TOKEN**" > "$WINDLASS_SUMMARY"' }
  takes: { needs: hands-on, run: 'echo "got ${{ steps.hands-on.outputs.t }}"' }
  garbage: { secrets: [TOKEN], run: 'echo "this is a long line that ends in the secret $TOKEN" > "$WINDLASS_OUTPUT"' }
  hangs: { secrets: [TOKEN], timeout: 500ms, run: 'echo "x=$TOKEN" > "$WINDLASS_OUTPUT"; echo "$TOKEN"; sleep 1000' }
"#;

fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).expect("it is there").flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            files_below(&path, found);
        } else if path.is_file() {
            // Sockets have no content.
            found.push(path);
        }
    }
}

/// The bytes contain no form of the secret.
fn clean(bytes: &[u8], project: &str) {
    let forms = [SECRET, BASE64.trim_end_matches('='), FOR_URLS, IN_JSON, "hunter2"];
    for form in forms {
        let found = bytes.windows(form.len()).any(|window| window == form.as_bytes());
        assert!(!found, "{form} in {project}: {}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn secret_appears_nowhere() {
    for mode in ["--output stream", "--output group", "--json"] {
        let project = ProjectFolder::with(LEAKY).set("TOKEN", SECRET);
        project.file("forms", format!("{BASE64}\n{FOR_URLS}\n{IN_JSON}\n"));
        let middle = SECRET.len() / 2;
        project.file("first", &SECRET.as_bytes()[..middle]);
        project.file("second", &SECRET.as_bytes()[middle..]);
        let ended = project.run(&format!("run --keep-going --junit report.xml {mode}"));
        assert_eq!(ended.code, Some(1), "{ended:?}");
        clean(ended.out.as_bytes(), "standard output");
        clean(ended.err.as_bytes(), "standard error");
        clean(project.read("report.xml").as_bytes(), "the report");
        for line in ["show latest --json", "show latest", "logs latest", "runs --json"] {
            let program = project.run(line);
            clean(program.out.as_bytes(), line);
            clean(program.err.as_bytes(), line);
        }
        let mut files = Vec::new();
        files_below(&project.path().join(".windlass"), &mut files);
        for file in files {
            clean(&fs::read(&file).expect("it can be read"), &file.display().to_string());
        }
        assert_eq!(project.data("logs latest pauses"), "***\n");
        assert_eq!(project.data("logs latest takes"), "got ***\n");
        assert!(project.data("logs latest prints").starts_with("***\n***"));
    }
}

/// Two steps that read the same variables, and only one of them lists the secret.
const LISTED_ONCE: &str = r#"
name: once
steps:
  deploy: { secrets: [DEPLOY], run: 'echo "deploy has ${DEPLOY:-nothing}"' }
  test: { needs: deploy, run: 'echo "test has ${DEPLOY:-nothing}"; cat elsewhere' }
"#;

#[test]
fn a_secret_is_not_in_the_environment_of_steps_that_do_not_list_it() {
    let project = ProjectFolder::with(LISTED_ONCE).set("DEPLOY", SECRET);
    project.file("elsewhere", SECRET);
    for line in ["run", "run --only test"] {
        assert_eq!(project.run(line).code, Some(0), "{line}");
        assert_eq!(project.data("logs latest test"), "test has nothing\n***", "{line}");
    }
}

#[test]
fn a_missing_secret_refuses_the_run_before_anything_starts() {
    let pipeline = r"
name: s
params: { deploy: { type: boolean, default: false } }
steps:
  first: { run: 'echo ran >> trace' }
  s: { needs: first, secrets: [TOKEN], run: 'echo ran >> trace' }
  optional: { if: params.deploy, secrets: [OTHER], run: 'true' }
  elsewhere: { requires: moon, secrets: [MOON], run: 'true' }
";
    for project in [ProjectFolder::with(pipeline), ProjectFolder::with(pipeline).set("TOKEN", "")] {
        let ended = project.run("run");
        assert_eq!(ended.code, Some(2), "{ended:?}");
        let said = "secret TOKEN is not set (step `s`)";
        assert!(ended.err.contains(said), "{}", ended.err);
        assert!(!ended.err.contains("OTHER") && !ended.err.contains("MOON"), "{}", ended.err);
        assert_eq!(project.read("trace"), "");
    }
    let project = ProjectFolder::with(pipeline).set("TOKEN", SECRET);
    assert_eq!(project.run("run").code, Some(0));
    let ended = project.run("run -p deploy=true");
    assert!(ended.code == Some(2) && ended.err.contains("OTHER"), "{ended:?}");
}

/// Steps that may not need their secret, depending on the results of others.
#[test]
fn secret_of_a_step_that_only_params_could_exclude_is_missed_before_anything_starts() {
    let steps =
        ["if: steps.first.outputs.go == 'yes'", "if: failure()", "if: always()", "idempotent: v1"];
    for condition in steps {
        let pipeline = format!(
            r#"
name: s
steps:
  first: {{ outputs: [go], run: 'echo ran >> trace; echo go=no > "$WINDLASS_OUTPUT"' }}
  s:
    needs: first
    {condition}
    secrets: [TOKEN]
    run: 'true'
"#
        );
        let project = ProjectFolder::with(&pipeline);
        let ended = project.run("run");
        assert_eq!(ended.code, Some(2), "{condition}: {ended:?}");
        assert!(ended.err.contains("secret TOKEN is not set (step `s`)"), "{}", ended.err);
        assert_eq!(project.read("trace"), "", "{condition}");
        let project = ProjectFolder::with(&pipeline).set("TOKEN", SECRET);
        assert_eq!(project.run("run").code, Some(0), "{condition}");
    }
}

#[test]
fn run_with_a_missing_secret_is_not_resumed_until_it_is_set() {
    let pipeline = r"
name: s
steps:
  first: { secrets: [ONCE], run: 'echo first >> trace' }
  waits: { needs: first, run: 'echo waits >> trace; until [ -e enough ]; do sleep 0.02; done' }
  s: { needs: waits, secrets: [TOKEN], run: 'echo s >> trace' }
";
    let project = ProjectFolder::with(pipeline);
    let mut command = project.command("run");
    command.env("TOKEN", SECRET).env("ONCE", SECRET);
    let interrupted = project.start_command(command);
    project.until_lines("trace", 2);
    interrupted.signal(Signal::KILL);
    drop(interrupted);
    project.file("enough", "");
    let ended = project.run("run --resume");
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let said = "the run was not resumed: secret TOKEN is not set (step `s`)";
    assert!(ended.err.contains(said), "{}", ended.err);
    assert!(!ended.err.contains("ONCE"), "that step has ended: {}", ended.err);
    assert_eq!(project.lines("trace"), ["first", "waits"], "nothing has started");
    let project = project.set("TOKEN", SECRET);
    assert_eq!(project.run("run --resume").code, Some(0));
    assert_eq!(project.lines("trace"), ["first", "waits", "waits", "s"]);
}

#[test]
fn a_secret_that_is_too_short_to_be_masked_is_named_once() {
    let pipeline = "name: s\nsteps:\n  a: { secrets: [PIN], run: 'echo $PIN' }\n  b: { needs: a, secrets: [PIN], run: 'echo $PIN' }\n";
    let project = ProjectFolder::with(pipeline).set("PIN", "12345");
    assert_eq!(project.run("run").code, Some(0));
    let warning = "windlass: warning: not masked in the output of this run, since shorter than 6 bytes: PIN\n";
    assert_eq!(project.data("logs latest a"), format!("{warning}12345\n"));
    assert_eq!(project.data("logs latest b"), "12345\n");
}

/// Fails if users other than the owner can access anything below a folder.
fn private(folder: &Path) {
    let mut left = vec![folder.to_owned()];
    while let Some(path) = left.pop() {
        let metadata = fs::symlink_metadata(&path).expect("it is there");
        let mode = metadata.permissions().mode() & 0o777;
        assert_eq!(mode & 0o077, 0, "{} has {mode:o}", path.display());
        if metadata.is_dir() {
            left.extend(fs::read_dir(&path).expect("it is there").flatten().map(|it| it.path()));
        }
    }
}

#[test]
fn run_files_are_private_whatever_the_umask() {
    let pipeline = "name: s\nsteps:\n  s: { run: 'echo text; echo note >> $WINDLASS_SUMMARY' }\n";
    let project = ProjectFolder::with(pipeline);
    let windlass = env!("CARGO_BIN_EXE_windlass");
    let script = format!("umask 0; exec '{windlass}' run");
    let ran = |project: &ProjectFolder| {
        let ended = project.program("sh").args(["-c", &script]).status().expect("it starts");
        assert!(ended.success());
    };
    ran(&project);
    let store = project.path().join(".windlass");
    private(&store);
    // Files that an earlier version left accessible are restricted.
    for path in [store.clone(), store.join("journal.db"), store.join("archive.db")] {
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).expect("it is ours");
    }
    ran(&project);
    private(&store);
}
