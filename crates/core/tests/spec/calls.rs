//! Calls of compiled-in steps: the checks, and a plan that does not depend on the program that plans it.

use std::collections::BTreeMap;

use windlass_core::expand::{
    ExpandInputs, ExpandedPipeline, StepWork, WorkAction, expand_pipeline,
};
use windlass_core::id::StepIx;
use windlass_core::problem::{ProblemSeverity, SourceFile};
use windlass_core::spec::{
    CallableCatalog, CallableNeed, CallableNeedForm, CallableSet, CallableStep,
    PipelineReadOptions, read_pipeline_with_callables,
};

fn need(step: &str, form: CallableNeedForm, takes: &str, names: &[&str]) -> CallableNeed {
    let names = names.iter().map(|name| (*name).to_owned()).collect();
    CallableNeed { step: step.to_owned(), form, takes: takes.to_owned(), names }
}

/// A program with `build`, which returns an image, and `test`, which takes it and a level.
fn known() -> CallableSet {
    let build = CallableStep {
        signature: "aa11".to_owned(),
        output: "Image { tag: string }".to_owned(),
        ..CallableStep::default()
    };
    let test = CallableStep {
        signature: "bb22".to_owned(),
        needs: vec![need("build", CallableNeedForm::One, "Image { tag: string }", &["tag"])],
        with: vec![("level".to_owned(), false), ("note".to_owned(), true)],
        output: "u8".to_owned(),
    };
    let steps = [("build", build), ("test", test)];
    let steps = steps.into_iter().map(|(name, step)| (name.to_owned(), step)).collect();
    CallableSet::Known(CallableCatalog(steps))
}

fn diagnosis(text: &str) -> Vec<String> {
    let source = SourceFile::new("windlass.yml", text);
    let options = PipelineReadOptions { unavailable_key_severity: ProblemSeverity::Error };
    let (_, problems) = read_pipeline_with_callables(&source, options, &known());
    problems.iter().map(|problem| format!("{} {}", problem.code, problem.title)).collect()
}

fn planned(text: &str, calls: &CallableSet) -> ExpandedPipeline {
    let source = SourceFile::new("windlass.yml", text);
    let (pipeline, problems) = read_pipeline_with_callables(
        &source,
        PipelineReadOptions { unavailable_key_severity: ProblemSeverity::Error },
        calls,
    );
    let pipeline = pipeline.unwrap_or_else(|| panic!("{problems:?}"));
    expand_pipeline(
        &pipeline,
        ExpandInputs { name: "ship", params: &BTreeMap::new(), workspace: None },
    )
    .expect("it expands")
}

const SOUND: &str = r#"
steps:
  build: { call: build@aa11 }
  test: { call: test, needs: build, with: { level: "3", note: "${{ steps.build.outputs.tag }}" } }
"#;

#[test]
fn call_gets_its_needs_and_requires_a_worker_that_has_the_step() {
    let expanded = planned(SOUND, &known());
    let test = expanded.plan.find("test").unwrap();
    let spec = expanded.plan.spec(test).unwrap();
    assert_eq!(spec.placement.requirement.to_string(), "call=test");
    assert_eq!(spec.reads, [StepIx(0)]);
    let build = expanded.plan.find("build").unwrap();
    let requirement = &expanded.plan.spec(build).unwrap().placement.requirement;
    assert_eq!(requirement.to_string(), "call=build@aa11");
    let work = StepWork::parse(&expanded.plan.work(build)).unwrap();
    let called = WorkAction::Call {
        name: "build".to_owned(),
        signature: Some("aa11".to_owned()),
        with: Vec::new(),
    };
    assert_eq!(work.action, called);
}

#[test]
fn plan_does_not_depend_on_compiled_in_steps() {
    let (has, has_not) = (planned(SOUND, &known()), planned(SOUND, &CallableSet::Any));
    assert_eq!(has.plan.fingerprint(), has_not.plan.fingerprint());
    let other = planned(&SOUND.replace("aa11", "aa12"), &CallableSet::Any);
    assert_ne!(other.plan.fingerprint(), has.plan.fingerprint());
}

#[test]
fn invalid_call_is_reported() {
    assert_eq!(diagnosis(SOUND), [""; 0]);
    assert_eq!(
        diagnosis("steps: { a: { call: buidl } }"),
        ["E054 there is no built-in step `buidl`"]
    );
    assert_eq!(
        diagnosis("steps: { a: { call: build@ffff } }"),
        ["E054 the file calls `build@ffff`, but this program has `build@aa11`"]
    );
    assert_eq!(
        diagnosis("steps: { a: { call: test, with: { level: 1, depth: 2 } } }"),
        [
            "E085 `test` takes the result of `build`, but `a` does not need `build`",
            "E041 `test` does not take the value `depth`",
        ]
    );
    assert_eq!(
        diagnosis("steps: { build: { call: build }, a: { call: test, needs: build } }"),
        ["E044 `test` requires the value `level`"]
    );
    assert_eq!(
        diagnosis("steps: { a: { run: make, with: { level: 1 } } }"),
        ["E044 `with` passes values to a called step, but this step has no `call`"]
    );
}

#[test]
fn output_of_a_need_must_have_the_type_of_the_parameter() {
    let with = "needs: build, with: { level: 1 }";
    let of = |build: &str| {
        diagnosis(&format!("steps: {{ build: {build}, a: {{ call: test, {with} }} }}"))
    };
    assert_eq!(of("{ run: make, outputs: [tag, size] }"), [""; 0]);
    assert_eq!(
        of("{ run: make }"),
        ["E042 `test` takes the output `tag` of `build`, but `build` does not declare it"]
    );
    assert_eq!(
        of("{ call: build, matrix: [a, b] }"),
        ["E042 `test` takes one result of `build`, but `build` is a matrix"]
    );
    let other = "steps: { fetch: { call: build }, build: { call: test, needs: fetch, \
        with: { level: 1, build: '${{ steps.fetch.outputs }}' } }, \
        a: { call: test, needs: build, with: { level: 1 } } }";
    assert_eq!(
        diagnosis(other),
        ["E042 `test` takes Image { tag: string } from `build`, but `build` returns u8"]
    );
}
