//! The file and the root folder: found, named, missing, and invalid.

use std::fs;

use insta::assert_snapshot;

use crate::support::program::FinishedProgram;
use crate::support::project_folder::ProjectFolder;

const HELLO: &str = "steps: { hello: { run: echo hi } }\n";

#[test]
fn the_file_is_found_upwards() {
    let folder = ProjectFolder::with(HELLO).with_file("src/deep/x", "");
    let output =
        folder.command("validate").current_dir(folder.path().join("src/deep")).output().unwrap();
    assert_snapshot!(FinishedProgram::from(output).page(), @r#"../../windlass.yml is valid: 1 step"#);
}

#[test]
fn missing_default_file_is_reported() {
    let said = ProjectFolder::empty().page("plan");
    let folder = said.split("yml in ").nth(1).and_then(|rest| rest.split(" or").next());
    assert_snapshot!(said.replace(folder.unwrap(), "HERE"), @r#"
    exit code 2
    --- said ---
    error: no windlass.yml in HERE or its parent folders
      hint: create one with `windlass init`, or name a file
    "#);
}

#[test]
fn file_with_another_ending_is_suggested() {
    let said = ProjectFolder::empty().with_file("windlass.yaml", HELLO).page("plan");
    assert!(said.contains("there is windlass.yaml: rename it"), "{said}");
}

#[test]
fn missing_file_is_reported() {
    assert_snapshot!(ProjectFolder::empty().page("validate ci.yml"), @r#"
    exit code 3
    --- said ---
    error: there is no file ci.yml
    "#);
}

#[test]
fn directory_is_refused() {
    assert_snapshot!(ProjectFolder::empty().with_file("ci/x", "").page("plan ci/"), @r#"
    exit code 3
    --- said ---
    error: ci/ is a directory, not a file
      hint: name the file in it: ci/windlass.yml
    "#);
}

#[test]
fn directory_of_the_right_name_is_refused() {
    let folder = ProjectFolder::empty();
    fs::create_dir(folder.path().join("windlass.yml")).unwrap();
    assert_snapshot!(folder.page("validate"), @r#"
    exit code 3
    --- said ---
    error: windlass.yml is a directory, not a file
    "#);
}

#[cfg(unix)]
#[test]
fn file_without_permission_is_reported() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::os::unix::process::CommandExt as _;
    let folder = ProjectFolder::with(HELLO);
    let path = folder.path().join("windlass.yml");
    let allow = |path: &std::path::Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    allow(&path, 0o000);
    let mut command = folder.command("validate");
    // Root may read every file, so the test runs as another user, if that user may execute the program.
    if fs::metadata(&path).unwrap().uid() == 0 {
        allow(folder.path().parent().unwrap(), 0o755);
        command.uid(65534);
    }
    let Ok(output) = command.output() else { return };
    assert_snapshot!(FinishedProgram::from(output).page(), @r"
    exit code 3
    --- said ---
    error: no permission to read windlass.yml
      hint: check its permissions with `ls -l windlass.yml`
    ");
}

#[test]
fn every_unusable_file_has_the_same_exit_code() {
    let bomb: String =
        (1..12).fold("x-0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".into(), |all, n| {
            let items = vec![format!("*a{}", n - 1); 10].join(", ");
            format!("{all}x-{n}: &a{n} [{items}]\n")
        });
    let wrong: [(&str, Vec<u8>, &str); 10] = [
        ("nothing", b"".into(), "E010"),
        ("blanks", b" \n\t\n".into(), "E010"),
        ("a program", b"\x7fELF\0".into(), "E001"),
        ("UTF-16", b"\xff\xfes\0".into(), "E001"),
        ("deep", "[".repeat(100_000).into(), "E002"),
        (
            "deep in lines",
            (0..200).map(|n| " ".repeat(n) + "a:\n").collect::<String>().into(),
            "E002",
        ),
        ("a bomb", format!("{bomb}{HELLO}").into(), "E002"),
        ("tabs", b"steps:\n\ta: { run: make }\n".into(), "E011"),
        ("one line", vec![b'a'; 8 << 20], "E042"),
        ("beyond", vec![b'a'; (8 << 20) + 1], "E002"),
    ];
    for (what, bytes, code) in wrong {
        for command in ["validate", "plan", "expand", "graph", "run"] {
            let output = ProjectFolder::empty().with_file("windlass.yml", &bytes).run(command);
            let said = output.out + &output.err;
            assert_eq!(output.code, Some(3), "{command} of {what}: {said}");
            assert!(said.contains(&format!("error[{code}]")), "{command} of {what}: {said}");
            assert!(said.len() < 4_000, "{command} of {what} says too much: {}", said.len());
        }
    }
}

#[test]
fn bom_and_crlf_are_accepted() {
    let sound: [(&str, String); 6] = [
        ("CRLF", HELLO.replace('\n', "\r\n")),
        ("CRLF in a block", "steps:\r\n  a:\r\n    run: |\r\n      true\r\n      true\r\n".into()),
        ("a byte order mark", format!("\u{feff}{HELLO}")),
        ("tabs between", "steps:\n  a:\t{ run:\ttrue }\t# so\n".into()),
        (
            "odd letters",
            "steps: { a: { about: \"\u{202e}\u{1f600}e\u{301}\u{a0}漢\", run: echo é } }".into(),
        ),
        ("8 MiB", format!("{HELLO}#{}\n", "x".repeat((8 << 20) - HELLO.len() - 2))),
    ];
    for (what, text) in sound {
        let folder = ProjectFolder::with(&text);
        assert!(folder.data("validate").contains("is valid"), "{what}");
        folder.data("run");
    }
}

#[test]
fn empty_file_is_reported() {
    assert_snapshot!(ProjectFolder::with("").page("validate"), @r#"
    exit code 3
    error[E010]: the file is empty
     --> windlass.yml:1:1
      |
    1 |
      | ^
      |
      = help: write at least `steps: { hello: { run: echo hi } }`, or create a file with `windlass init`

    windlass.yml: 1 error; for details, run `windlass explain E010`
    "#);
}

#[test]
fn binary_file_is_reported() {
    let folder = ProjectFolder::empty().with_file("windlass.yml", b"\x7fELF\x02\x01\x01\0\0\0");
    assert_snapshot!(folder.page("validate"), @r#"
    exit code 3
    error[E001]: the file is not text
     --> windlass.yml:1:8
      |
    1 | �ELF���
      |        ^ byte 7 is 0x00
      |
      = help: a pipeline is YAML in UTF-8: check that the path names the right file

    windlass.yml: 1 error; for details, run `windlass explain E001`
    "#);
}

#[test]
fn file_beyond_the_size_limit_is_refused() {
    let folder = ProjectFolder::with(&"#".repeat(8 * 1024 * 1024 + 1));
    assert_snapshot!(folder.page("validate"), @r#"
    exit code 3
    error[E002]: the file is larger than 8 MiB
     --> windlass.yml:1:1
      |
    1 |
      | ^
      |
      = help: check that the path names a pipeline file

    windlass.yml: 1 error; for details, run `windlass explain E002`
    "#);
}
