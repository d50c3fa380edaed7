//! The keys of the reports that a step writes.

use super::key_spec::{KeyReads, ObjectKeys, ValueShape, key};
use crate::spec::limits::REPORT_PATTERNS_MAX;

/// The reports of a step.
pub(crate) const REPORTS: ObjectKeys = ObjectKeys {
    name: "reports",
    path: "steps.NAME.reports",
    intro: "Only steps with `run` write reports.",
    rest: None,
    keys: &[key(
        "junit",
        ValueShape::OneOrMany(&ValueShape::Text),
        "Files with test results as JUnit XML: paths or patterns",
    )
    .entries_max(REPORT_PATTERNS_MAX)
    .reads(KeyReads::Everything)
    .foreign_names(&["xml", "tests", "path", "paths", "files"])
    .details(
        "They are relative to the root of the pipeline, as `dir` is. `*` and `?` match within one \
         name, `**` any folders, `{a,b}` either text, `[a-z]` one character; a folder stands for \
         everything in it, and `!PATTERN` takes matching files out again. \
         windlass reads the files when an attempt has ended, even if it failed. A file that was not \
         written since the attempt began is ignored. A missing or invalid file is reported in the \
         log of the step. Up to 1,000 files of 16 MiB are read; 100 failing tests are kept, with the first \
         4 KiB of each message and 64 KiB in total.",
    )
    .example(
        r#"
steps:
  test:
    matrix: { db: [sqlite, postgres] }
    run: |
      mkdir -p "reports/${{ matrix.db }}"
      echo '<testsuite><testcase name="adds"/></testsuite>' > "reports/${{ matrix.db }}/TEST-calc.xml"
    reports: { junit: "reports/${{ matrix.db }}/TEST-*.xml" }
"#,
    )],
};
