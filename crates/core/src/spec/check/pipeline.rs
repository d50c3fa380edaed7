//! All checks of a pipeline as a whole.

use super::paths::{Paths, Place};
use super::reach::Reach;
use super::{needs, platforms};
use crate::problem::{Problem, Source};
use crate::spec::pipeline::{Action, Pipeline, Retry, Setting, Settings, Step, Text};

/// Tells what does not fit together.
pub(crate) fn pipeline(source: &Source, pipeline: &Pipeline, problems: &mut Vec<Problem>) {
    let reach = Reach::new(pipeline);
    needs::check(source, pipeline, &reach, problems);
    platforms::check(source, pipeline, problems);
    let mut paths = Paths::new(source, pipeline, reach, problems);
    top(&mut paths, pipeline);
    for (at, step) in pipeline.steps.iter().enumerate() {
        paths.of_step(at);
        self::step(&mut paths, step);
    }
}

fn top(paths: &mut Paths<'_>, pipeline: &Pipeline) {
    paths.check(Place::Plan, pipeline.timeout.iter().flat_map(Setting::reads));
    for (_, slots) in &pipeline.locks {
        paths.check(Place::Plan, slots.reads());
    }
    for variable in &pipeline.env {
        paths.check(Place::Work, &variable.value.reads);
    }
    settings(paths, &pipeline.defaults);
}

fn step(paths: &mut Paths<'_>, step: &Step) {
    if let Some(asked) = &step.condition {
        paths.check(Place::If, &asked.reads);
    }
    if let Some(key) = &step.once {
        paths.check(Place::If, &key.reads);
    }
    match &step.action {
        Action::Script { reads, .. } => paths.check(Place::Work, reads),
        Action::Call(call) => {
            texts(paths, Place::Work, call.with.iter().map(|value| &value.value));
        }
        Action::Exec { .. } | Action::Noop | Action::Unavailable(_) => {}
    }
    if let Some(matrix) = &step.matrix {
        let listed = matrix.axes.iter().flat_map(|axis| &axis.values);
        let cells = matrix.include.iter().chain(&matrix.exclude);
        let in_cells = cells.flat_map(|cell| cell.value.iter().map(|(_, text)| text));
        texts(paths, Place::Axis, listed.chain(in_cells));
    }
    texts(paths, Place::Plan, step.locks.iter().map(|lock| &lock.name));
    paths.check(Place::Plan, step.per_worker.iter().flat_map(Setting::reads));
    settings(paths, &step.settings);
}

fn settings(paths: &mut Paths<'_>, of: &Settings) {
    texts(paths, Place::Work, of.env.iter().map(|variable| &variable.value).chain(&of.dir));
    for setting in [&of.timeout, &of.wait_for_worker, &of.wait_for_lock, &of.kill_grace] {
        paths.check(Place::Plan, setting.iter().flat_map(Setting::reads));
    }
    paths.check(Place::Plan, of.priority.iter().flat_map(Setting::reads));
    paths.check(Place::Plan, of.retry.iter().flat_map(Retry::reads));
    paths.check(
        Place::Plan,
        of.requires.iter().chain(&of.prefers).flatten().flat_map(Setting::reads),
    );
    let nodes = of.nodes.iter().flat_map(|nodes| nodes.allow.iter().chain(&nodes.deny));
    texts(paths, Place::Plan, nodes);
}

fn texts<'t>(paths: &mut Paths<'_>, place: Place, texts: impl Iterator<Item = &'t Text>) {
    for text in texts {
        paths.check(place, &text.reads);
    }
}
