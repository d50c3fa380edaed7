//! The keys of a step that say what it executes, with which values.

use super::key_spec::{KeyDefault, KeyReads, KeySpec, ValueShape, key};
use crate::spec::limits::{ENV_MAX, OUTPUTS_MAX, SECRETS_MAX};

pub(super) const ABOUT: KeySpec = key(
    "about",
    ValueShape::Text,
    "Description of the step in one line, shown in plan and summary",
)
.foreign_names(&["name", "description", "desc", "title", "label"])
.example(
    "
steps:
  lint: { about: Checks the style, run: echo linting }
",
);

pub(super) const RUN: KeySpec = key("run", ValueShape::Script, "Command or script to execute")
    .foreign_names(&["script", "commands", "command", "cmd", "cmds", "exec", "sh", "bash", "steps"])
    .reads(KeyReads::Everything)
    .details(
        "A script runs in `sh -e`, so it ends at the first command that fails; a simple command \
         runs without a shell. `${{ }}` becomes a quoted variable, so a value is never executed as \
         code. It is refused between single quotes of the shell (quotes of YAML do not matter) and where the shell would evaluate it. A script has \
         at most 128 KiB.",
    )
    .example(
        r#"
params: { channel: beta }
steps:
  build:
    run: |
      echo building
      echo "channel ${{ params.channel }}"
"#,
    );

pub(super) const CALL: KeySpec = key(
    "call",
    ValueShape::Text,
    "Name of a step that is compiled into the worker's program, or `noop`",
)
.foreign_names(&["uses", "use", "plugin"])
.details(
    "`noop` does nothing: the step only waits for its needs. `NAME@SIGNATURE` accepts only the \
     function with these types. See [Steps in Rust](../guides/rust.md).",
)
.example(
    "
steps:
  lint: { run: echo linting }
  test: { run: echo testing }
  checks: { needs: [lint, test], call: noop }
",
);

pub(super) const WITH: KeySpec =
    key("with", ValueShape::Map(&ValueShape::Text), "Values for the step that is called, by name")
        .entries_max(ENV_MAX)
        .foreign_names(&["args", "arguments"])
        .reads(KeyReads::Everything)
        .details("Only allowed together with `call`.")
        .example(
            r#"
steps:
  resize: { call: resize, with: { width: "640" } }
"#,
        );

pub(super) const ENV: KeySpec =
    key("env", ValueShape::Map(&ValueShape::Text), "Environment variables of the step")
        .entries_max(ENV_MAX)
        .foreign_names(&["environment", "variables", "vars"])
        .reads(KeyReads::Everything)
        .details(
            "They are added to the `env` of the pipeline and of `defaults`. Names that begin with \
             `WINDLASS_` are reserved; [Environment](#environment-of-a-step) lists the variables \
             that windlass sets.",
        )
        .example(
            r#"
steps:
  test:
    matrix: { db: [sqlite, postgres] }
    env: { DB: "${{ matrix.db }}" }
    run: echo "testing with $DB"
"#,
        );

pub(super) const SECRETS: KeySpec =
    key("secrets", ValueShape::OneOrMany(&ValueShape::Name), "Secrets that the step gets")
        .entries_max(SECRETS_MAX)
        .foreign_names(&["secret"])
        .details(
            "Each is an environment variable of the worker. Its value is masked in all output and \
             outputs, unless it has fewer than 6 bytes. Steps that do not list it do not get the \
             variable. A step whose worker lacks a secret fails; `windlass run` refuses to start. \
             A pipeline has at most 100 different secrets.",
        )
        .example(
            r#"
steps:
  deploy:
    secrets: [DEPLOY_TOKEN]
    run: echo "deploying with $DEPLOY_TOKEN"
"#,
        );

pub(super) const OUTPUTS: KeySpec =
    key("outputs", ValueShape::OneOrMany(&ValueShape::Name), "Outputs that the step must write")
        .entries_max(OUTPUTS_MAX)
        .foreign_names(&["output"])
        .details(
            "The step [writes them](#outputs) to the file `$WINDLASS_OUTPUT`, and fails if one is \
             missing. Steps that need it read them as `steps.NAME.outputs.OUTPUT`; misspelled names \
             are found before the run starts.",
        )
        .example(
            r#"
steps:
  version:
    outputs: [version]
    run: echo "version=1.2.3" >> "$WINDLASS_OUTPUT"
  publish:
    needs: version
    run: echo "publishing ${{ steps.version.outputs.version }}"
"#,
        );

pub(super) const SHELL: KeySpec =
    key("shell", ValueShape::Text, "Interpreter of `run`, with its arguments")
        .foreign_names(&["interpreter"])
        .default(KeyDefault::Value("sh"))
        .details(
            "`sh`, `bash`, `dash`, `ksh` and `zsh` get `-e -c`, `python` and `python3` get `-c`, \
             `node`, `perl` and `ruby` get `-e`, `pwsh` gets `-NoProfile -Command`. With arguments \
             of your own only the last flag is added; any other interpreter gets `-c`. \
             `${{ }}` in `run` is allowed for shells of the `sh` family only.",
        )
        .example(
            "
steps:
  sum:
    shell: sh -eu
    run: |
      total=$((1 + 2))
      echo $total
",
        );

pub(super) const DIR: KeySpec = key(
    "dir",
    ValueShape::Text,
    "Working directory, relative to the root of the pipeline",
)
.foreign_names(&["working-directory", "working_dir", "workdir", "cwd", "directory"])
.default(KeyDefault::Phrase("the root"))
.reads(KeyReads::Everything)
.details(
    "The root is the folder of the pipeline file; on a worker of a cluster it is the folder \
             in which the worker was started.",
)
.example(
    "
steps:
  list: { dir: /, run: ls }
",
);
