//! The keys of a step that decide how an attempt ends, and what follows from it.

use super::key_spec::{KeyDefault, KeyReads, KeySpec, ValueShape, key};
use super::reports::REPORTS;
use super::retry::RETRY;
use crate::plan::REPEATS_MAX;

pub(super) const TIMEOUT: KeySpec = key(
    "timeout",
    ValueShape::PositiveDuration,
    "Maximum duration of one attempt",
)
.foreign_names(&[
    "timeout-minutes",
    "timeout_sec",
    "timeout_seconds",
    "time_limit",
    "activeDeadlineSeconds",
])
.default(KeyDefault::Phrase("no limit"))
.reads(KeyReads::PlanTime)
.details(
    "When it has expired the step gets SIGTERM, and SIGKILL after `kill_grace`. The attempt \
             is `timed_out`, which counts as a failure.",
)
.example(
    "
steps:
  test: { timeout: 15m, run: echo testing }
",
);

pub(super) const RETRY_KEY: KeySpec = key(
    "retry",
    ValueShape::ShortOrObject(&ValueShape::Number(0, REPEATS_MAX as i64), &RETRY),
    "Attempts after the first, or a map with the rules for them",
)
.foreign_names(&["retries", "attempts", "retryStrategy"])
.default(KeyDefault::Value("0"))
.reads(KeyReads::PlanTime)
.details("The keys of the map are described [below](#keys-of-stepsnameretry).")
.example(
    "
steps:
  fetch: { retry: 3, run: echo fetching }
  deploy: { retry: { times: 2, wait: 10s..1m, on: timed_out }, run: echo deploying }
",
);

pub(super) const IGNORE_FAILURE: KeySpec =
    key("ignore_failure", ValueShape::Flag, "If true, the run can succeed even if the step fails")
        .foreign_names(&["continue-on-error", "allow_failure", "ignore_errors"])
        .default(KeyDefault::Value("false"))
        .details("Steps that need it run as if it had succeeded. The failure is recorded.")
        .example(
            "
steps:
  lint: { ignore_failure: true, run: 'false' }
  build: { needs: lint, run: echo building }
",
        );

pub(super) const ON_LOST_CONTACT: KeySpec = key(
    "on_lost_contact",
    ValueShape::OneOfWords(&["continue", "stop"]),
    "Behaviour of a worker that has lost contact with the leader",
)
.default(KeyDefault::Value("continue"))
.details(
    "With `continue` the step goes on, and its outcome counts unless the step was delivered again \
     in the meantime. With `stop` the worker stops it before its lease expires. A step with a lock \
     or an idempotency key is always stopped.",
)
.example(
    "
steps:
  charge: { on_lost_contact: stop, run: echo charging the card }
",
);

pub(super) const KILL_GRACE: KeySpec =
    key("kill_grace", ValueShape::Duration, "Time between SIGTERM and SIGKILL")
        .foreign_names(&["grace", "grace_period", "stop_timeout"])
        .default(KeyDefault::Value("10s"))
        .reads(KeyReads::PlanTime)
        .details("A function in Rust has the same time to return.")
        .example(
            "
steps:
  serve: { kill_grace: 30s, run: echo serving }
",
        );

pub(super) const REPORTS_KEY: KeySpec =
    key("reports", ValueShape::Object(&REPORTS), "Test reports that the step writes")
        .foreign_names(&["report", "test_results", "test_reports"])
        .reads(KeyReads::Everything)
        .details(
            "Counts, failing tests and their messages appear at the end of the run, in \
             `windlass show` and in the [API](api.md). They do not change the outcome of the step. \
             The keys of the map are described [below](#keys-of-stepsnamereports).",
        )
        .example(
            r#"
steps:
  test:
    run: |
      echo '<testsuite><testcase name="adds" time="0.1"/></testsuite>' > junit.xml
    reports: { junit: junit.xml }
"#,
        );
