//! The keys at the top of the file, and those of a param.

use super::files;
use super::key_spec::{KeyDefault, KeyReads, ObjectKeys, ValueShape, key};
use super::step::{DEFAULTS, STEP};
use crate::spec::limits::{DECLARED_LOCKS_MAX, ENV_MAX, PARAMS_MAX};

/// Slots of a lock: more than the workers of any fleet.
const SLOTS: i64 = 1_000_000;

/// The file itself.
pub(crate) const PIPELINE: ObjectKeys = ObjectKeys {
    name: "pipeline",
    path: "",
    intro: "The file is a map with these keys. Only `steps` is required.",
    rest: None,
    keys: &[
        key("name", ValueShape::Text, "Name of the pipeline")
            .default(KeyDefault::Phrase("the name of the folder that contains the file"))
            .details(
                "It is a [name](#names). Locks and idempotency keys that begin with `./` belong to \
                 the pipeline of this name.",
            )
            .example(
                "
name: website
steps:
  build: { run: echo building }
",
            ),
        key("about", ValueShape::Text, "Description of the pipeline in one line")
            .foreign_names(&["description", "desc"])
            .example(
                "
about: Builds and checks the website
steps:
  build: { run: echo building }
",
            ),
        key(
            "params",
            ValueShape::Map(&ValueShape::ShortOrObject(&ValueShape::Text, &PARAM)),
            "Parameters of a run, by name",
        )
        .entries_max(PARAMS_MAX)
        .foreign_names(&["parameters", "inputs", "args"])
        .details(
            "A scalar is short for `{ default: … }` and sets the type: quote `'1.10'` or `'010'` to keep their spelling; a param without any value is required. \
             `windlass run -p NAME=VALUE` sets one. Expressions read it as `params.NAME`. \
             A value has at most 128 KiB and cannot contain `${{ }}`.",
        )
        .example(
            r#"
params:
  channel: { choose: [beta, stable], default: beta }
  level: 3
steps:
  build: { run: 'echo "${{ params.channel }} at level ${{ params.level }}"' }
"#,
        ),
        files::WORKSPACE_KEY,
        key("env", ValueShape::Map(&ValueShape::Text), "Environment variables of every step")
            .entries_max(ENV_MAX)
            .foreign_names(&["environment", "variables", "vars"])
            .reads(KeyReads::Run)
            .details(
                "The variables of `defaults.env` and of the step's own `env` are added; if a \
                 name occurs twice, the step's value takes precedence, then that of `defaults`. \
                 Names that begin with `WINDLASS_` are reserved.",
            )
            .example(
                "
env: { LC_ALL: C }
steps:
  list: { run: ls | sort }
",
            ),
        key("locks", ValueShape::Map(&ValueShape::Number(1, SLOTS)), "Slots of locks, by lock name")
            .entries_max(DECLARED_LOCKS_MAX)
            .reads(KeyReads::Params)
            .default(KeyDefault::Phrase("one slot for each lock"))
            .details(
                "At most this many steps hold the lock at the same time, over all runs. \
                 Steps take a lock with [`lock`](#stepsnamelock).",
            )
            .example(
                "
locks: { ./database: 2 }
steps:
  test:
    matrix: { suite: [accounts, billing, search] }
    lock: ./database
    run: echo testing
",
            ),
        key(
            "defaults",
            ValueShape::Object(&DEFAULTS),
            "Settings of every step that does not set them itself",
        )
        .foreign_names(&["default"])
        .details(
            "The keys are listed [below](#keys-of-defaults). A step's own value replaces the default as a \
             whole; only `env` is merged.",
        )
        .example(
            "
defaults: { timeout: 2m, retry: 1 }
steps:
  lint: { run: echo linting }
  test: { run: echo testing, timeout: 10m }
",
        ),
        key("timeout", ValueShape::PositiveDuration, "Maximum duration of a run")
            .foreign_names(&["timeout-minutes", "timeout_sec", "deadline"])
            .reads(KeyReads::Params)
            .default(KeyDefault::Phrase("no limit"))
            .details(
                "It counts from the submission. When it has expired the run is cancelled: running \
                 steps are stopped, and steps with `if: always()` still run. Time without a leader \
                 does not count. `--timeout` of `windlass run` and `submit` overrides it.",
            )
            .example(
                "
timeout: 1h
steps:
  build: { run: echo building }
",
            ),
        key("steps", ValueShape::Map(&ValueShape::Object(&STEP)), "Steps of the pipeline, by name")
            .foreign_names(&["jobs", "tasks", "stages", "targets", "modules", "pipeline"])
            .default(KeyDefault::Required)
            .details(
                "Each key is a [name](#names), each value a map with the [keys of a \
                 step](#keys-of-stepsname). The order in the file has no meaning: a step starts when the \
                 steps that it `needs` have ended.",
            )
            .example(
                "
steps:
  hello: { run: echo hello }
  world: { needs: hello, run: echo world }
",
            ),
    ],
};

/// A value given when a run begins.
pub(crate) const PARAM: ObjectKeys = ObjectKeys {
    name: "param",
    path: "params.NAME",
    intro: "A param is a scalar, which is its default, or a map with these keys.",
    rest: None,
    keys: &[
        key("default", ValueShape::Text, "Value of the param if none is given")
            .foreign_names(&["value"])
            .details("It must have the type of the param and be one of `choose`.")
            .example(
                "
params:
  channel: { default: beta }
steps:
  build: { run: 'echo ${{ params.channel }}' }
",
            ),
        key("choose", ValueShape::List(&ValueShape::Text), "List of the allowed values")
            .entries_max(PARAMS_MAX)
            .foreign_names(&["choices", "options", "enum", "values", "oneof"])
            .default(KeyDefault::Phrase("every value of the type is allowed"))
            .example(
                "
params:
  channel: { choose: [beta, stable], default: beta }
steps:
  build: { run: 'echo ${{ params.channel }}' }
",
            ),
        key("type", ValueShape::OneOfWords(&["string", "number", "boolean"]), "Type of the value")
            .default(KeyDefault::Phrase("inferred from `default` and `choose`, else `string`"))
            .details(
                "If `default` and all of `choose` are numbers, the type is `number`; if all are \
                 `true` or `false`, it is `boolean`.",
            )
            .example(
                "
params:
  version: { type: string, default: 1.10 }
  dry: { type: boolean, default: true }
steps:
  publish:
    if: not params.dry
    run: echo ${{ params.version }}
",
            ),
        key("required", ValueShape::Flag, "If true, a run cannot start without a value")
            .default(KeyDefault::Phrase("`true` without a `default`, `false` with one"))
            .details(
                "`required: true` cannot be combined with `default`. A param that is not required \
                 and has neither a default nor a value is `null` in expressions.",
            )
            .example(
                r#"
params:
  note: { required: false }
steps:
  build: { run: 'echo "${{ default(params.note, "no note") }}"' }
"#,
            ),
        key("about", ValueShape::Text, "Description of the param in one line")
            .foreign_names(&["description", "desc", "help"])
            .example(
                "
params:
  dry: { default: true, about: Print instead of publishing }
steps:
  publish: { run: 'echo dry=${{ params.dry }}' }
",
            ),
    ],
};
