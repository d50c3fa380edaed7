//! All checks of a pipeline as a whole.

use super::need_index::NeedIndex;
use super::paths::{ExprPlace, PathChecker};
use super::{needs, platforms};
use crate::problem::{Problem, SourceFile};
use crate::spec::declaration::{
    ActionDecl, PipelineDecl, RetryDecl, SpannedSetting, SpannedTemplate, StepDecl, StepSettings,
};

/// Tells what does not fit together.
pub(crate) fn pipeline(source: &SourceFile, pipeline: &PipelineDecl, problems: &mut Vec<Problem>) {
    let reach = NeedIndex::new(pipeline);
    needs::check(source, pipeline, &reach, problems);
    platforms::check(source, pipeline, problems);
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
    settings(paths, &pipeline.defaults);
}

fn step(paths: &mut PathChecker<'_>, step: &StepDecl) {
    if let Some(asked) = &step.condition {
        paths.check(ExprPlace::IfOrKey, &asked.reads);
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
    texts(paths, ExprPlace::PlanSetting, step.locks.iter().map(|lock| &lock.name));
    paths.check(ExprPlace::PlanSetting, step.per_worker.iter().flat_map(SpannedSetting::reads));
    settings(paths, &step.settings);
}

fn settings(paths: &mut PathChecker<'_>, of: &StepSettings) {
    texts(paths, ExprPlace::StepWork, of.env.iter().map(|variable| &variable.value).chain(&of.dir));
    for setting in [&of.timeout, &of.wait_for_worker, &of.wait_for_lock, &of.kill_grace] {
        paths.check(ExprPlace::PlanSetting, setting.iter().flat_map(SpannedSetting::reads));
    }
    paths.check(ExprPlace::PlanSetting, of.priority.iter().flat_map(SpannedSetting::reads));
    paths.check(ExprPlace::PlanSetting, of.retry.iter().flat_map(RetryDecl::reads));
    paths.check(
        ExprPlace::PlanSetting,
        of.requires.iter().chain(&of.prefers).flatten().flat_map(SpannedSetting::reads),
    );
    let nodes = of.nodes.iter().flat_map(|nodes| nodes.allow.iter().chain(&nodes.deny));
    texts(paths, ExprPlace::PlanSetting, nodes);
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
