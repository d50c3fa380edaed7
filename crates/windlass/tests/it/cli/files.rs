//! The file and the root: found, named, missing, and not what it should be.

use std::fs;

use insta::assert_snapshot;

use super::crew::{Folder, command, shown};

const HELLO: &str = "steps: { hello: { run: echo hi } }\n";

#[test]
fn the_file_is_found_upwards() {
    let folder = Folder::with(HELLO).file("src/deep/x", "");
    let output = command(&folder.path().join("src/deep"), "validate").output().unwrap();
    assert_snapshot!(shown(&output), @r#"../../windlass.yml is valid: 1 step"#);
}

#[test]
fn no_file_anywhere() {
    let said = Folder::empty().run("plan");
    let folder = said.split("yml in ").nth(1).and_then(|rest| rest.split(" or").next());
    assert_snapshot!(said.replace(folder.unwrap(), "HERE"), @r#"
    exit code 2
    --- said ---
    error: there is no windlass.yml in HERE or above it
      hint: `windlass init` writes one; or name a file
    "#);
}

#[test]
fn a_file_with_another_ending() {
    let said = Folder::empty().file("windlass.yaml", HELLO).run("plan");
    assert!(said.contains("there is windlass.yaml: rename it"), "{said}");
}

#[test]
fn a_missing_file() {
    assert_snapshot!(Folder::empty().run("validate ci.yml"), @r#"
    exit code 3
    --- said ---
    error: there is no file ci.yml
    "#);
}

#[test]
fn a_directory() {
    assert_snapshot!(Folder::empty().file("ci/x", "").run("plan ci/"), @r#"
    exit code 3
    --- said ---
    error: ci/ is a directory, not a file
      hint: name the file in it: ci/windlass.yml
    "#);
}

#[test]
fn a_directory_of_the_right_name() {
    let folder = Folder::empty();
    fs::create_dir(folder.path().join("windlass.yml")).unwrap();
    assert_snapshot!(folder.run("validate"), @r#"
    exit code 3
    --- said ---
    error: windlass.yml is a directory, not a file
    "#);
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Folder::with(HELLO);
    let path = folder.path().join("windlass.yml");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    // Root may read everything.
    if fs::read(&path).is_err() {
        assert_snapshot!(folder.run("validate"), @r"
        exit code 3
        --- said ---
        error: windlass.yml may not be read
          hint: ask for permission, or see it with `ls -l windlass.yml`
        ");
    }
}

#[test]
fn an_empty_file() {
    assert_snapshot!(Folder::with("").run("validate"), @r#"
    exit code 3
    error[E010]: the file is empty
     --> windlass.yml:1:1
      |
    1 |
      | ^
      |
      = help: the smallest pipeline is `steps: { hello: { run: echo hi } }`; `windlass init` writes one

    windlass.yml: 1 error; `windlass explain E010` tells more
    "#);
}

#[test]
fn a_binary_file() {
    let folder = Folder::empty().file("windlass.yml", b"\x7fELF\x02\x01\x01\0\0\0");
    assert_snapshot!(folder.run("validate"), @r#"
    exit code 3
    error[E001]: the file is not text
     --> windlass.yml:1:8
      |
    1 | �ELF���
      |        ^ byte 7 is 0x00
      |
      = help: a pipeline is YAML in UTF-8: is this the right file?

    windlass.yml: 1 error; `windlass explain E001` tells more
    "#);
}

#[test]
fn a_file_beyond_bounds() {
    let folder = Folder::with(&"#".repeat(8 * 1024 * 1024 + 1));
    assert_snapshot!(folder.run("validate"), @r#"
    exit code 3
    error[E002]: the file is larger than 8 MiB
     --> windlass.yml:1:1
      |
    1 |
      | ^
      |
      = help: a pipeline is written by hand or by a small program: is this the right file?

    windlass.yml: 1 error; `windlass explain E002` tells more
    "#);
}
