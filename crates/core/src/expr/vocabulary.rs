//! The words of the language in tables: functions, operators and the values that it can read. The parser knows the
//! functions from here, and the reference lists all of it.

/// A function.
pub(super) struct ExprFunction {
    pub(super) name: &'static str,
    /// The call, as it is written.
    pub(super) form: &'static str,
    /// The number of its arguments.
    pub(super) arguments: usize,
    pub(super) doc: &'static str,
    /// Whether it says how the needs must have ended, and belongs to `if:` alone.
    pub(super) of_status: bool,
}

/// Every function.
pub(super) const FUNCTIONS: &[ExprFunction] = &[
    ExprFunction {
        name: "success",
        form: "success()",
        arguments: 0,
        doc: "No need failed or could not run. This holds for a step without `if` too",
        of_status: true,
    },
    ExprFunction {
        name: "failure",
        form: "failure()",
        arguments: 0,
        doc: "A need that is not optional failed, or was blocked or cancelled because of a failure; otherwise the step is skipped",
        of_status: true,
    },
    ExprFunction {
        name: "always",
        form: "always()",
        arguments: 0,
        doc: "All needs have ended, no matter how. The step runs even while the run is being cancelled",
        of_status: true,
    },
    ExprFunction {
        name: "default",
        form: "default(value, fallback)",
        arguments: 2,
        doc: "`value`, or `fallback` if the value is null. An empty string is not null",
        of_status: false,
    },
];

/// The function of this name.
pub(super) fn function(name: &str) -> Option<&'static ExprFunction> {
    FUNCTIONS.iter().find(|function| function.name == name)
}

/// An operator, with expressions that show it and their values as JSON.
pub(super) struct ExprOperator {
    pub(super) sign: &'static str,
    pub(super) doc: &'static str,
    pub(super) examples: &'static [(&'static str, &'static str)],
}

/// Every operator, from the one that binds loosest to the tightest.
pub(super) const OPERATORS: &[ExprOperator] = &[
    ExprOperator {
        sign: "or",
        doc: "True if one operand is true. Stops at the first one. Operands must be booleans",
        examples: &[("params.dry or params.channel == \"beta\"", "true")],
    },
    ExprOperator {
        sign: "and",
        doc: "True if all operands are true. Stops at the first that is not. Operands must be booleans",
        examples: &[("params.channel == \"beta\" and not params.dry", "true")],
    },
    ExprOperator {
        sign: "not",
        doc: "The opposite of a boolean",
        examples: &[("not params.dry", "true")],
    },
    ExprOperator {
        sign: "==",
        doc: "Equality; never an error. A string equals a number or boolean that is spelled the same",
        examples: &[
            ("params.level == 3", "true"),
            ("\"3.0\" == 3", "false"),
            ("null == false", "false"),
        ],
    },
    ExprOperator {
        sign: "!=",
        doc: "The opposite of `==`",
        examples: &[("matrix.os != \"windows\"", "true")],
    },
    ExprOperator {
        sign: "<",
        doc: "Less than. Operands are numbers, or strings that are numbers; anything else is an error, versions too",
        examples: &[("params.level < 10", "true")],
    },
    ExprOperator { sign: "<=", doc: "At most", examples: &[("params.level <= 2", "false")] },
    ExprOperator { sign: ">", doc: "Greater than", examples: &[("params.level > 2.5", "true")] },
    ExprOperator {
        sign: ">=",
        doc: "At least",
        examples: &[("steps.build.outputs.pages >= 3", "true")],
    },
    ExprOperator {
        sign: "in",
        doc: "True if a list has an equal element, or a string contains a string",
        examples: &[
            ("matrix.db in [\"sqlite\", \"postgres\"]", "true"),
            ("\"rc\" in steps.build.outputs.version", "false"),
        ],
    },
    ExprOperator {
        sign: "not in",
        doc: "The opposite of `in`",
        examples: &[("matrix.db not in [\"mysql\"]", "true")],
    },
];

/// A value that an expression can read.
pub(super) struct ExprRead {
    pub(super) form: &'static str,
    pub(super) doc: &'static str,
    /// A path of this form, with its value among the sample values.
    pub(super) example: (&'static str, &'static str),
}

/// Every form of a path.
pub(super) const READS: &[ExprRead] = &[
    ExprRead {
        form: "params.NAME",
        doc: "Value of a param: a string, number or boolean, or null if it has none",
        example: ("params.channel", "\"beta\""),
    },
    ExprRead {
        form: "matrix.AXIS",
        doc: "Value of the cell, as a string. The axis of a plain list is `target`",
        example: ("matrix.db", "\"sqlite\""),
    },
    ExprRead {
        form: "steps.NAME.outputs.OUTPUT",
        doc: "Output of a step that this one needs, directly or through others. Null if that step has not succeeded",
        example: ("steps.build.outputs.version", "\"1.2.3\""),
    },
    ExprRead {
        form: "steps.NAME.outputs",
        doc: "All outputs, as an object. Of a step with a matrix a list with one entry per cell, each with `outputs`",
        example: ("steps.build.outputs", "{\"pages\":4,\"version\":\"1.2.3\"}"),
    },
    ExprRead {
        form: "steps.NAME.status",
        doc: "Final status of the step: `succeeded`, `failed`, `skipped` and so on",
        example: ("steps.lint.status", "\"failed\""),
    },
    ExprRead {
        form: "run.id",
        doc: "Id of the run. Only in keys that the worker evaluates",
        example: ("run.id", "\"6gy6yeej36mgz\""),
    },
];

/// The values that the examples read, as JSON.
pub(super) const SAMPLE_VALUES: &str = r#"{
  "params": { "channel": "beta", "level": 3, "dry": false, "note": null },
  "matrix": { "os": "linux", "db": "sqlite" },
  "steps": {
    "build": { "status": "succeeded", "outputs": { "version": "1.2.3", "pages": 4 } },
    "lint": { "status": "failed", "outputs": null }
  },
  "run": { "id": "6gy6yeej36mgz" }
}"#;

/// Whole expressions with their values as JSON, beyond those of the operators.
pub(super) const EXAMPLES: &[(&str, &str)] = &[
    ("default(params.note, \"none\")", "\"none\""),
    ("default(steps.lint.outputs.count, 0) == 0", "true"),
    ("(params.dry or params.level > 2) and matrix.os == \"linux\"", "true"),
    ("steps.lint.status == \"failed\"", "true"),
    ("[params.channel, \"x\"]", "[\"beta\",\"x\"]"),
];

/// Conditions of `if` that join a status function with values.
pub(super) const CONDITIONS: &[&str] = &[
    "always()",
    "failure() and params.channel == \"stable\"",
    "steps.build.outputs.pages > 0 and not params.dry",
];
