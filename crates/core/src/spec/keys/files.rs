//! The keys about files: the workspace of a pipeline, and the artifacts of a step.

use super::key_spec::{
    KeyDefault, KeyReads, KeySpec, ObjectKeys, ValueShape, key, unavailable_key,
};
use crate::spec::limits::{ARTIFACT_PATHS_MAX, FETCHES_MAX};

pub(super) const WORKSPACE_KEY: KeySpec = key(
    "workspace",
    ValueShape::ShortOrObject(&ValueShape::OneOfWords(&["here", "none"]), &WORKSPACE),
    "Source of the files that the steps of a run find",
)
.foreign_names(&["checkout", "clone"])
.default(KeyDefault::Phrase(
    "`here` for `windlass run`; for `submit` see [Files](../guides/files.md)",
))
.details(
    "With `here`, `windlass run` runs the steps in the folder of the pipeline file. `windlass \
     submit` sends the files of that folder to the controller, and each attempt gets a copy in a \
     folder of its own. With `none`, each attempt begins in an empty folder. See \
     [Files](../guides/files.md).",
)
.example(
    "
workspace: none
steps:
  list: { run: ls -a }
",
);

/// The source of the files of a run.
pub(crate) const WORKSPACE: ObjectKeys = ObjectKeys {
    name: "workspace",
    path: "workspace",
    intro: "`workspace` is `here`, `none`, or a map with this key.",
    rest: None,
    keys: &[
        key("shared", ValueShape::Text, "Folder that all workers have at this absolute path")
            .foreign_names(&["path", "mount", "volume"])
            .details("The steps run in the folder itself, so they see the files of each other.")
            .example(
                "
workspace: { shared: /tmp }
steps:
  list: { run: pwd }
",
            ),
        unavailable_key("git", "Repository whose files the steps find")
            .foreign_names(&["url", "repository"]),
        unavailable_key("ref", "Branch, tag or commit of the repository")
            .foreign_names(&["branch", "tag", "commit"]),
    ],
};

pub(super) const ARTIFACTS_KEY: KeySpec = key(
    "artifacts",
    ValueShape::ShortOrObject(&ValueShape::OneOrMany(&ValueShape::Text), &ARTIFACTS),
    "Files that the step hands to the steps that need it",
)
.entries_max(ARTIFACT_PATHS_MAX)
.foreign_names(&["artefacts", "artifact", "uploads"])
.reads(KeyReads::Everything)
.details(
    "Patterns of paths below the root of the workspace. A pattern that matches a folder takes \
     everything in it; `!PATTERN` leaves files out; the last pattern that matches a path decides. \
     Files are stored when the attempt ends, before its outcome counts, and the steps that need \
     the step find them at the same paths. `windlass artifacts` lists and copies them.",
)
.example(
    "
steps:
  build:
    run: mkdir -p dist && echo page >dist/index.html
    artifacts: [dist/**, '!**/*.map']
  check: { needs: build, run: grep page dist/index.html }
",
);

/// The files that a step hands on.
pub(crate) const ARTIFACTS: ObjectKeys = ObjectKeys {
    name: "artifacts",
    path: "steps.NAME.artifacts",
    intro: "`artifacts` is a pattern or a list of patterns, which is `paths`, or a map with these keys.",
    rest: None,
    keys: &[
        key("paths", ValueShape::OneOrMany(&ValueShape::Text), "Patterns of paths")
            .entries_max(ARTIFACT_PATHS_MAX)
            .default(KeyDefault::Required)
            .foreign_names(&["path", "files", "include"])
            .reads(KeyReads::Everything)
            .details(
                "`*` and `?` match within a name, `**` any number of folders, `[a-z]` one \
                 character, and `{a,b}` either text.",
            )
            .example(
                "
steps:
  build: { run: echo 1 >version.txt, artifacts: { paths: '*.txt' } }
",
            ),
        key(
            "when",
            ValueShape::OneOfWords(&["success", "failure", "always"]),
            "Attempts whose files are kept",
        )
        .default(KeyDefault::Value("success"))
        .details(
            "`failure` keeps the files of an attempt that failed or timed out, for instance \
             screenshots of a test.",
        )
        .example(
            "
steps:
  test: { run: echo ok >test.log, artifacts: { paths: test.log, when: always } }
",
        ),
        key(
            "missing",
            ValueShape::OneOfWords(&["fail", "ignore"]),
            "Result of the step if no file matches",
        )
        .default(KeyDefault::Value("fail"))
        .foreign_names(&["if-no-files-found", "optional"])
        .details("With `fail` the attempt fails, and its log names the patterns.")
        .example(
            "
steps:
  test: { run: echo testing, artifacts: { paths: core.*, missing: ignore } }
",
        ),
    ],
};

pub(super) const FETCH_KEY: KeySpec = key(
    "fetch",
    ValueShape::ShortOrObject(&ValueShape::OneOrMany(&ValueShape::Name), &FETCH),
    "Artifacts of its needs that the step gets",
)
.entries_max(FETCHES_MAX)
.foreign_names(&["download", "downloads"])
.default(KeyDefault::Phrase("the artifacts of every step that it needs, at their paths"))
.details(
    "A list names the steps whose artifacts it gets; an empty list means none. A map sets the \
     folder for each, see [below](#keys-of-stepsnamefetch).",
)
.example(
    "
steps:
  build: { run: echo page >page.html, artifacts: page.html }
  notes: { run: echo notes >notes.txt, artifacts: notes.txt }
  publish: { needs: [build, notes], fetch: [build], run: cat page.html }
",
);

/// Artifacts that a step gets.
pub(crate) const FETCH: ObjectKeys = ObjectKeys {
    name: "fetch",
    path: "steps.NAME.fetch",
    intro: "\
Each key is a step that the step needs, and its value the folder in which the artifacts of that step are written. For a step with a
matrix, `${{ cell }}` in the folder is the name of the cell, so that files of different cells do not meet. Two artifacts with the same path
and different bytes are an error before the step starts, which names both.",
    rest: Some(ValueShape::Text),
    keys: &[],
};
