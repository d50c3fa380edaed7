//! The keys of a matrix.

use super::key_spec::{KeyDefault, KeyReads, ObjectKeys, ValueShape, key};
use crate::spec::limits::{AXES_MAX, CELL_PARTS_MAX};

/// Axes, and the cells that are added to or removed from their product.
pub(crate) const MATRIX: ObjectKeys = ObjectKeys {
    name: "matrix",
    path: "steps.NAME.matrix",
    intro: "\
Every other key is an axis: a [name](#names) and the list of its values. The step runs once for each combination of the values;
each combination is a cell, shown as `test[linux,sqlite]`. There are at most 16 axes and 100,000 cells. Expressions read a
value as `matrix.AXIS`, and commands as the variable `WINDLASS_MATRIX_AXIS`.

A list instead of a map has one axis, `target`, and each value is a label that the worker must have.
The axes `os` and `arch` also select the worker: a cell with `os: linux` runs on workers with the label `os=linux`.
A step that needs a step with a matrix waits for all of its cells.",
    rest: Some(ValueShape::OneOrMany(&ValueShape::Text)),
    keys: &[
        key(
            "include",
            ValueShape::OneOrMany(&ValueShape::Map(&ValueShape::Text)),
            "Cells to add, or values to add to cells",
        )
        .entries_max(CELL_PARTS_MAX)
        .reads(KeyReads::Params)
        .details(
            "An entry whose axes match existing cells adds its other values to these cells. An \
             entry that sets every axis and matches no cell becomes a new cell.",
        )
        .example(
            r#"
steps:
  test:
    matrix:
      db: [sqlite, postgres]
      include:
        - { db: postgres, port: "5432" }
        - { db: mysql }
    run: echo "$WINDLASS_MATRIX_DB"
"#,
        ),
        key(
            "exclude",
            ValueShape::OneOrMany(&ValueShape::Map(&ValueShape::Text)),
            "Cells to remove",
        )
        .entries_max(CELL_PARTS_MAX)
        .reads(KeyReads::Params)
        .details("An entry removes all cells that have its values. It must match at least one.")
        .example(
            "
steps:
  test:
    matrix:
      db: [sqlite, postgres]
      mode: [fast, full]
      exclude: { db: sqlite, mode: full }
    run: echo testing
",
        ),
        key(
            "route",
            ValueShape::OneOrMany(&ValueShape::Name),
            "Axes whose value the worker must have as a label",
        )
        .entries_max(AXES_MAX)
        .default(KeyDefault::Phrase("`os` and `arch`, which always select the worker"))
        .details("The label is `AXIS=VALUE`. A cell that no worker can run is skipped.")
        .example(
            "
steps:
  test:
    matrix: { gpu: [a100, h100], route: gpu }
    run: echo testing
",
        ),
    ],
};
