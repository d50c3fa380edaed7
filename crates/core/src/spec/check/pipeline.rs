//! All checks of a pipeline as a whole.

use super::need_index::NeedIndex;
use super::paths::{ExprPlace, PathChecker};
use super::{fetches, needs, platforms};
use crate::problem::{Problem, SourceFile};
use crate::spec::declaration::{
    ActionDecl, PipelineDecl, SpannedSetting, SpannedTemplate, StepDecl, StepSettings,
};

/// Reports all problems across the parts of a pipeline.
pub(crate) fn pipeline(source: &SourceFile, pipeline: &PipelineDecl, problems: &mut Vec<Problem>) {
    let reach = NeedIndex::new(pipeline);
    needs::check(source, pipeline, &reach, problems);
    platforms::check(source, pipeline, problems);
    fetches::check(pipeline, problems);
    let mut paths = PathChecker::new(source, pipeline, reach, problems);
    top(&mut paths, pipeline);
    for (at, step) in pipeline.steps.iter().enumerate() {
        paths.enter_step(at);
        self::step(&mut paths, step);
    }
}

fn top(paths: &mut PathChecker<'_>, pipeline: &PipelineDecl) {
    paths.check(ExprPlace::PlanSetting, pipeline.timeout.iter().flat_map(SpannedSetting::reads));
    for (_, slots) in &pipeline.locks {
        paths.check(ExprPlace::PlanSetting, slots.reads());
    }
    for variable in &pipeline.env {
        paths.check(ExprPlace::StepWork, &variable.value.reads);
    }
    work_settings(paths, &pipeline.defaults);
    paths.check(ExprPlace::PlanSetting, pipeline.defaults.plan_time_reads());
}

fn step(paths: &mut PathChecker<'_>, step: &StepDecl) {
    if let Some(condition) = &step.condition {
        paths.check(ExprPlace::IfOrKey, &condition.reads);
    }
    if let Some(key) = &step.idempotency_key {
        paths.check(ExprPlace::IfOrKey, &key.reads);
    }
    match &step.action {
        ActionDecl::Script { reads, .. } => paths.check(ExprPlace::StepWork, reads),
        ActionDecl::Call(call) => {
            texts(paths, ExprPlace::StepWork, call.with.iter().map(|value| &value.value));
        }
        ActionDecl::Exec { .. } | ActionDecl::Noop | ActionDecl::Unavailable(_) => {}
    }
    if let Some(matrix) = &step.matrix {
        let listed = matrix.axes.iter().flat_map(|axis| &axis.values);
        let cells = matrix.include.iter().chain(&matrix.exclude);
        let in_cells = cells.flat_map(|cell| cell.value.iter().map(|(_, text)| text));
        texts(paths, ExprPlace::MatrixAxis, listed.chain(in_cells));
    }
    texts(paths, ExprPlace::StepWork, step.junit_reports.iter());
    if let Some(artifacts) = &step.artifacts {
        texts(paths, ExprPlace::StepWork, artifacts.paths.iter());
    }
    work_settings(paths, &step.settings);
    paths.check(ExprPlace::PlanSetting, step.plan_time_reads());
}

/// Settings that a worker evaluates.
fn work_settings(paths: &mut PathChecker<'_>, of: &StepSettings) {
    texts(paths, ExprPlace::StepWork, of.env.iter().map(|variable| &variable.value).chain(&of.dir));
}

fn texts<'t>(
    paths: &mut PathChecker<'_>,
    place: ExprPlace,
    texts: impl Iterator<Item = &'t SpannedTemplate>,
) {
    for text in texts {
        paths.check(place, &text.reads);
    }
}
