//! The keys of a retry policy.

use super::key_spec::{KeyDefault, KeyReads, ObjectKeys, ValueShape, key};
use crate::plan::{REPEATS_MAX, RETRY_ON_MAX};

const REPEATS: i64 = REPEATS_MAX as i64;

/// How often a step is attempted.
pub(crate) const RETRY: ObjectKeys = ObjectKeys {
    name: "retry",
    path: "steps.NAME.retry",
    intro: "`retry` is a number, which is `times`, or a map with these keys.",
    rest: None,
    keys: &[
        key("times", ValueShape::Number(0, REPEATS), "Attempts after the first")
            .default(KeyDefault::Value("0"))
            .reads(KeyReads::PlanTime)
            .foreign_names(&["max", "limit", "attempts", "count", "retries"])
            .example(
                "
steps:
  fetch: { run: echo fetching, retry: { times: 3 } }
",
            ),
        key("wait", ValueShape::DurationRange, "Wait before the second attempt, or a range")
            .default(KeyDefault::Value("1s..1m"))
            .reads(KeyReads::PlanTime)
            .foreign_names(&["backoff", "delay", "interval"])
            .details(
                "With a range, the wait doubles after each attempt, from the first duration up to \
                 the second, and is then reduced at random by up to a half, but not below the \
                 first. With a single duration it is always the same.",
            )
            .example(
                "
steps:
  fetch: { run: echo fetching, retry: { times: 3, wait: 5s..2m } }
",
            ),
        key("on", ValueShape::OneOrMany(&ValueShape::RetryOn), "Failures that are retried")
            .entries_max(RETRY_ON_MAX)
            .default(KeyDefault::Phrase("all failures"))
            .reads(KeyReads::PlanTime)
            .foreign_names(&["when", "if"])
            .details(
                "`failed` is any failure of the command, `timed_out` an expired `timeout`, and \
                 `exit-75` a failure with this exit code.",
            )
            .example(
                "
steps:
  fetch: { run: echo fetching, retry: { times: 3, on: [timed_out, exit-75] } }
",
            ),
        key("elsewhere", ValueShape::Flag, "If true, a retry prefers another worker")
            .default(KeyDefault::Value("false"))
            .details("After one minute without another worker, the same one may run it again.")
            .example(
                "
steps:
  test: { run: echo testing, retry: { times: 2, elsewhere: true } }
",
            ),
        key("lost", ValueShape::Number(0, REPEATS), "Deliveries after the first of one attempt")
            .default(KeyDefault::Value("3"))
            .reads(KeyReads::PlanTime)
            .details(
                "When a worker is lost, the attempt is delivered to another one. This does not \
                 use up `times`. With 0 an attempt that may have started is never delivered \
                 again: the step fails.",
            )
            .example(
                "
steps:
  charge: { run: echo charging the card, retry: { lost: 0 } }
",
            ),
    ],
};
