//! `init`: what it detects; the file that it writes is valid.

use std::fs;
use std::process::Command;

use insta::assert_snapshot;

use crate::support::project_folder::ProjectFolder;

fn written(folder: &ProjectFolder) -> String {
    let said = folder.page("init");
    assert!(folder.data("validate").contains("is valid"), "{said}");
    let text = fs::read_to_string(folder.path().join("windlass.yml")).expect("it was written");
    let useful =
        text.lines().filter(|line| !line.trim().is_empty() && !line.trim().starts_with('#'));
    assert!((5..=30).contains(&useful.count()), "{text}");
    format!("{said}\n{text}")
}

#[test]
fn empty_folder_gets_an_example() {
    assert_snapshot!(written(&ProjectFolder::empty()), @r#"
    windlass.yml written (found: no known build tool)
    Try `windlass plan`.

    # A pipeline: steps run in parallel unless `needs` orders them.
    # `windlass plan` shows the order, `windlass graph` draws it.

    steps:
      hello:
        run: echo hello from windlass

      # A step waits for the steps in its `needs`.
      world:
        needs: hello
        run: echo and good-bye
    "#);
}

#[test]
fn cargo_project_is_recognized() {
    assert_snapshot!(written(&ProjectFolder::empty().with_file("Cargo.toml", "[package]\n")), @r#"
    windlass.yml written (found: Cargo)
    Try `windlass plan`.

    # A pipeline: steps run in parallel unless `needs` orders them.
    # `windlass plan` shows the order, `windlass graph` draws it.

    steps:
      # These do not depend on each other and share one target folder.
      fmt:
        run: cargo fmt --all --check

      lint:
        run: cargo clippy --workspace --all-targets -- -D warnings

      test:
        run: cargo test --workspace

      # Last, and only if the tests pass.
      build:
        needs: test
        run: cargo build --release
    "#);
}

#[test]
fn npm_project_is_recognized() {
    let package = r#"{ "scripts": { "test": "jest", "build": "vite build", "start": "vite" } }"#;
    let folder = ProjectFolder::empty()
        .with_file("package.json", package)
        .with_file("package-lock.json", "{}");
    assert_snapshot!(written(&folder), @r#"
    windlass.yml written (found: npm)
    Try `windlass plan`.

    # A pipeline: steps run in parallel unless `needs` orders them.
    # `windlass plan` shows the order, `windlass graph` draws it.

    steps:
      # All other steps need the packages.
      install:
        run: npm ci

      test:
        needs: install
        run: npm run test

      build:
        needs: install
        run: npm run build
    "#);
}

#[test]
fn go_project_is_recognized() {
    assert_snapshot!(written(&ProjectFolder::empty().with_file("go.mod", "module x\n")), @r#"
    windlass.yml written (found: Go)
    Try `windlass plan`.

    # A pipeline: steps run in parallel unless `needs` orders them.
    # `windlass plan` shows the order, `windlass graph` draws it.

    steps:
      # Vet and test do not depend on each other.
      vet:
        run: go vet ./...

      test:
        run: go test ./...

      # Only if the tests pass.
      build:
        needs: test
        run: go build ./...
    "#);
}

#[test]
fn python_project_is_recognized() {
    let folder =
        ProjectFolder::empty().with_file("pyproject.toml", "").with_file("tests/test_x.py", "");
    assert_snapshot!(written(&folder), @r#"
    windlass.yml written (found: Python)
    Try `windlass plan`.

    # A pipeline: steps run in parallel unless `needs` orders them.
    # `windlass plan` shows the order, `windlass graph` draws it.

    steps:
      # A virtual environment; creating it again changes nothing.
      venv:
        run: python3 -m venv .venv

      install:
        needs: venv
        run: .venv/bin/pip install -e . pytest

      test:
        needs: install
        run: .venv/bin/python -m pytest
    "#);
}

#[test]
fn make_project_is_recognized() {
    let folder =
        ProjectFolder::empty().with_file("Makefile", "test: build\n\t./test\nbuild:\n\tcc\n");
    assert_snapshot!(written(&folder), @r#"
    windlass.yml written (found: Make)
    Try `windlass plan`.

    # A pipeline: steps run in parallel unless `needs` orders them.
    # `windlass plan` shows the order, `windlass graph` draws it.

    steps:
      # make skips targets that are up to date; windlass runs them in parallel.
      build:
        run: make build

      test:
        needs: build
        run: make test
    "#);
}

#[test]
fn several_tools_are_recognized_together() {
    let folder = ProjectFolder::empty()
        .with_file("Cargo.toml", "")
        .with_file("package.json", "{}")
        .with_file("Makefile", "");
    assert_snapshot!(written(&folder), @r#"
    windlass.yml written (found: Cargo, npm, Make)
    Try `windlass plan`.

    # A pipeline: steps run in parallel unless `needs` orders them.
    # `windlass plan` shows the order, `windlass graph` draws it.

    steps:
      # These do not depend on each other and share one target folder.
      cargo-fmt:
        run: cargo fmt --all --check

      cargo-lint:
        run: cargo clippy --workspace --all-targets -- -D warnings

      cargo-test:
        run: cargo test --workspace

      # Last, and only if the tests pass.
      cargo-build:
        needs: cargo-test
        run: cargo build --release

      # All other steps need the packages.
      npm-install:
        run: npm install

      # make skips targets that are up to date; windlass runs them in parallel.
      make-build:
        run: make
    "#);
}

#[test]
fn existing_file_is_not_overwritten() {
    let folder = ProjectFolder::with("# mine\n");
    assert_snapshot!(folder.page("init"), @r#"
    exit code 2
    --- said ---
    error: windlass.yml already exists
      hint: to replace it, run `windlass init --force`
    "#);
    assert_eq!(fs::read_to_string(folder.path().join("windlass.yml")).unwrap(), "# mine\n");
    assert!(folder.data("init --force").starts_with("windlass.yml written"));
}

/// A folder that a template fits, and the tools that its pipeline needs.
const PROJECTS: &[(&str, &[(&str, &str)])] = &[
    ("true", &[]),
    (
        "cargo",
        &[
            ("Cargo.toml", "[package]\nname = \"x\"\nedition = \"2024\"\n"),
            ("src/lib.rs", "//! Nothing.\n\n#[test]\nfn holds() {}\n"),
        ],
    ),
    ("make", &[("Makefile", "build:\n\ttouch built\ntest: build\n\ttest -f built\n")]),
    ("npm", &[("package.json", r#"{ "scripts": { "test": "true" } }"#)]),
];

#[test]
fn generated_file_runs() {
    for (tool, files) in PROJECTS {
        let folder = files
            .iter()
            .fold(ProjectFolder::empty(), |folder, (name, text)| folder.with_file(name, text));
        written(&folder);
        if Command::new(tool).arg("--version").output().is_ok() {
            let said = folder.page("run");
            assert!(!said.starts_with("exit code"), "{tool}: {said}");
        }
    }
}
