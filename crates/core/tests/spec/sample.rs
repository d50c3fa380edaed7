//! The sample of the design, and the smallest file.

use insta::assert_snapshot;
use windlass_core::problem::{ProblemCode, ProblemSeverity};
use windlass_core::spec::{PipelineReadOptions, read_pipeline};

use crate::outline::{drawn, drawn_with, listed, plan_with, source};

const SAMPLE: &str = include_str!("sample.yml");

#[test]
fn smallest_file_is_planned() {
    assert_snapshot!(drawn("steps: { hello: { run: echo hi } }"), @r#"
    hello
        {"action":{"script":{"text":"echo hi"}}}
    "#);
}

#[test]
fn sample_reports_only_unavailable_keys() {
    assert_snapshot!(listed(SAMPLE), @r#"
    windlass.yml:4:14: error[E043]: `git` is not available yet
    windlass.yml:4:50: error[E043]: `ref` is not available yet
    windlass.yml:12:5: error[E043]: `inputs` is not available yet
    windlass.yml:24:5: error[E043]: `image` is not available yet
    windlass.yml:42:5: error[E043]: `http` is not available yet
    "#);
}

#[test]
fn sample_is_planned_with_unavailable_keys_as_notes() {
    let (_, problems) = read_pipeline(
        &source(SAMPLE),
        PipelineReadOptions { unavailable_key_severity: ProblemSeverity::Note },
    );
    assert!(
        problems
            .iter()
            .all(|p| p.severity == ProblemSeverity::Note && p.code == ProblemCode::NotAvailable)
    );
    assert_snapshot!(drawn(SAMPLE), @r#"
    lint
        {"action":{"exec":{"argv":["cargo","clippy","--","-D","warnings"]}},"env":[["CARGO_TERM_COLOR","always"]],"other_secrets":["DEPLOY_TOKEN"]}
    test[linux,sqlite] <- lint
        requires os=linux
        {"action":{"exec":{"argv":["cargo","nextest","run","--profile","ci"]}},"env":[["CARGO_TERM_COLOR","always"],["DB","${{ matrix.db }}"]],"junit_reports":["target/nextest/ci/junit.xml"],"other_secrets":["DEPLOY_TOKEN"],"axes":["os","db"]}
    test[linux,postgres] <- lint
        requires os=linux
        {"action":{"exec":{"argv":["cargo","nextest","run","--profile","ci"]}},"env":[["CARGO_TERM_COLOR","always"],["DB","${{ matrix.db }}"]],"junit_reports":["target/nextest/ci/junit.xml"],"other_secrets":["DEPLOY_TOKEN"],"axes":["os","db"]}
    test[windows,sqlite] <- lint
        requires os=windows
        {"action":{"exec":{"argv":["cargo","nextest","run","--profile","ci"]}},"env":[["CARGO_TERM_COLOR","always"],["DB","${{ matrix.db }}"]],"junit_reports":["target/nextest/ci/junit.xml"],"other_secrets":["DEPLOY_TOKEN"],"axes":["os","db"]}
    test <- test[linux,sqlite] test[linux,postgres] test[windows,sqlite]
    bundle <- test
        requires docker, cpu>=4, mem>=8GiB, gpu | tpu, not spot
        {"action":{"script":{"text":"./bundle.sh \"$CHANNEL\"\necho \"version=$(cat VERSION)\" >> \"$WINDLASS_OUTPUT\"\n"}},"env":[["CARGO_TERM_COLOR","always"],["CHANNEL","beta"]],"outputs":["version"],"artifacts":{"paths":["dist/**"],"when":"success","missing":"fail"},"other_secrets":["DEPLOY_TOKEN"]}
    soak <- bundle
        reads bundle
        {"action":{"exec":{"argv":["./soak.sh","dist/"]}},"env":[["CARGO_TERM_COLOR","always"]],"fetch":[{"step":"bundle"}],"other_secrets":["DEPLOY_TOKEN"]}
    deploy <- bundle soak
        when Fails("params.channel == \"stable\"  (params.channel = \"beta\")")
        reads bundle
        {"action":{"unavailable":{"key":"http"}},"env":[["CARGO_TERM_COLOR","always"]],"fetch":[{"step":"bundle"}],"secrets":["DEPLOY_TOKEN"]}
    tell <- deploy
        {"action":{"exec":{"argv":["./notify.sh"]}},"env":[["CARGO_TERM_COLOR","always"]],"other_secrets":["DEPLOY_TOKEN"]}
    "#);
}

#[test]
fn sample_deploys_with_another_channel() {
    let page = drawn_with(SAMPLE, &[("channel", "stable")]);
    let deploy: Vec<&str> =
        page.lines().skip_while(|line| !line.starts_with("deploy")).take(3).collect();
    assert_snapshot!(deploy.join("\n"), @r#"
    deploy <- bundle soak
        reads bundle
        {"action":{"unavailable":{"key":"http"}},"env":[["CARGO_TERM_COLOR","always"]],"fetch":[{"step":"bundle"}],"secrets":["DEPLOY_TOKEN"]}
    "#);
}

#[test]
fn engine_gets_the_settings_of_the_sample() {
    let expanded = plan_with(SAMPLE, &[], ProblemSeverity::Note).expect("the sample is sound");
    let spec = |name: &str| expanded.plan.spec(expanded.plan.find(name).expect("it is there"));
    assert_snapshot!(format!("{:#?}", spec("test[linux,postgres]").expect("a step")), @r#"
    StepSpec {
        placement: Placement {
            requirement: Requirement(
                [
                    RequirementClause(
                        [
                            Has(
                                "os=linux",
                            ),
                        ],
                    ),
                ],
            ),
            preferences: [],
            pin: Anywhere,
            allow: [],
            deny: [],
        },
        locks: [],
        retry: RetryPolicy {
            times: 2,
            wait_min: 5s,
            wait_max: 1m,
            on: [
                Exit(
                    101,
                ),
                TimedOut,
            ],
            elsewhere: true,
            lost: 3,
        },
        timeout: Some(
            15m,
        ),
        kill_grace: 10s,
        priority: 0,
        condition: Success,
        when: Holds,
        idempotency: None,
        reads: [],
        on_failure: Fail,
        per_worker: None,
        wait_for_worker: 5m,
        wait_for_lock: 24h,
        on_lost_contact: Continue,
        carries_files: false,
    }
    "#);
    assert_snapshot!(format!("{:#?}", spec("deploy").expect("a step").locks), @r#"
    [
        LockUse {
            name: "prod",
            order: NewestFirst,
        },
    ]
    "#);
}
