//! A plan for readers: waves down the page, one step per line, and the steps that would be skipped.

use std::collections::BTreeMap;

use windlass_core::plan::{
    LockOrder, OnFailure, PinTarget, Plan, RetryPolicy, StatusCondition, StepSpec,
};

use super::expanded_pipeline::retry_on;
use super::number_text::{count, listed};
use super::plan_outlook::{PlanOutlook, PredictedSkip, StepOutlook};
use crate::cli::output::{ColorRole, TerminalCaps, columns};

/// A name longer than this has its own line.
const NAME_WIDTH: usize = 24;
/// The separator between facts about one step.
const DOT: &str = " · ";

/// The whole page.
pub(crate) fn plan_text(outlook: &PlanOutlook<'_>, look: &TerminalCaps) -> String {
    let names = outlook.steps.iter().map(|step| columns(&step.step.name));
    let name = names.filter(|width| *width <= NAME_WIDTH).max().unwrap_or(NAME_WIDTH);
    let layout = PlanTextLayout { look, wave: outlook.waves.to_string().len(), name };
    let mut lines = heading(outlook, look);
    let mut wave = 0;
    for step in &outlook.steps {
        lines.extend(layout.step(outlook, step, step.wave != wave));
        wave = step.wave;
    }
    lines.extend(endings(outlook, &layout));
    lines.join("\n")
}

fn heading(outlook: &PlanOutlook<'_>, look: &TerminalCaps) -> Vec<String> {
    let expanded = outlook.expanded;
    let (steps, size) = (outlook.steps.len(), outlook.size());
    let cells = count(size, "with cells", "with cells");
    let cells = if size > steps { format!(" ({cells})") } else { String::new() };
    let waves = count(outlook.waves, "wave", "waves");
    let name = look.paint(ColorRole::Strong, expanded.plan.pipeline());
    let mut lines = vec![format!("{name}: {}{cells} in {waves}", count(steps, "step", "steps"))];
    let params = expanded.params.iter().map(|(name, value)| format!("{name} = {value}"));
    let timeout = expanded.timeout.map(|span| format!("run timeout {span}"));
    let facts: Vec<String> = params.chain(timeout).collect();
    if !facts.is_empty() {
        lines.push(look.paint(ColorRole::Quiet, &facts.join(DOT)));
    }
    lines.push(String::new());
    lines
}

fn endings(outlook: &PlanOutlook<'_>, layout: &PlanTextLayout<'_>) -> Vec<String> {
    let mut lines = vec![String::new()];
    let path = &outlook.critical_path;
    if path.len() > 1 {
        let label = format!("Longest chain, {}: ", count(path.len(), "step", "steps"));
        let indent = " ".repeat(2);
        let parts: Vec<String> = path.iter().map(|name| (*name).to_owned()).collect();
        let wrapped = wrap(&shortened(parts), " → ", layout.look.width.saturating_sub(2));
        lines.push(label.trim_end().to_owned());
        lines.extend(wrapped.into_iter().map(|line| format!("{indent}{line}")));
    }
    let skipped: Vec<String> = outlook.steps.iter().filter_map(skipped_name).collect();
    if !skipped.is_empty() {
        lines.push(layout.look.paint(ColorRole::Warn, "Would be skipped:"));
        let wrapped = wrap(&shortened(skipped), ", ", layout.look.width.saturating_sub(2));
        lines.extend(wrapped.into_iter().map(|line| format!("  {line}")));
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

/// The first and last of many.
fn shortened(mut names: Vec<String>) -> Vec<String> {
    const SHOWN: usize = 24;
    if names.len() > SHOWN {
        let gone = names.len() - SHOWN + 1;
        names.splice(SHOWN / 2..SHOWN / 2 + gone, [format!("… {gone} more …")]);
    }
    names
}

/// `test (1 of 3 cells)`
fn skipped_name(step: &StepOutlook<'_>) -> Option<String> {
    let skipped: usize = step.skipped().values().sum();
    let name = &step.step.name;
    match skipped {
        0 => None,
        all if all == step.size() => Some(name.clone()),
        some => Some(format!("{name} ({some} of {})", count(step.size(), "cell", "cells"))),
    }
}

struct PlanTextLayout<'a> {
    look: &'a TerminalCaps,
    wave: usize,
    name: usize,
}

impl PlanTextLayout<'_> {
    fn step(&self, outlook: &PlanOutlook<'_>, step: &StepOutlook<'_>, first: bool) -> Vec<String> {
        let number = if first { step.wave.to_string() } else { String::new() };
        let number =
            self.look.paint(ColorRole::Quiet, &format!("{number:>width$}", width = self.wave));
        let name = &step.step.name;
        let padding = " ".repeat(self.name.saturating_sub(columns(name)));
        let margin = self.wave + self.name + 4;
        let room = self.look.width.saturating_sub(margin).max(20);
        let mut texts = wrap(&step_facts(&outlook.expanded.plan, step), DOT, room);
        for text in skipped(step).into_iter().chain(unavailable(step)) {
            let lines = wrap(&words(&text), " ", room);
            texts.extend(lines.iter().map(|line| self.look.paint(ColorRole::Warn, line)));
        }
        if let Some(about) = &step.step.about {
            texts.insert(0, self.look.paint(ColorRole::Quiet, about));
        }
        let head = format!("{number}  {}{padding}", self.look.paint(ColorRole::Strong, name));
        let mut lines = Vec::new();
        let mut texts = texts.into_iter();
        if columns(name) > self.name {
            lines.push(head);
        } else {
            lines.push(
                format!("{head}  {}", texts.next().unwrap_or_default()).trim_end().to_owned(),
            );
        }
        lines.extend(texts.map(|text| format!("{}{text}", " ".repeat(margin))));
        lines
    }
}

/// The reasons to skip cells, one per line.
fn skipped(step: &StepOutlook<'_>) -> Vec<String> {
    let size = step.size();
    let line = |(reason, cells): (&PredictedSkip, usize)| {
        let all = cells == size;
        let which = if all { String::new() } else { format!("{cells} of {size} cells: ") };
        match reason {
            PredictedSkip::FalseCondition(asked) => format!("skipped: {which}if {asked}"),
            PredictedSkip::UnmetRequirement(why) => {
                format!("skipped here: {which}this machine {why}")
            }
        }
    };
    step.skipped().into_iter().map(line).collect()
}

fn unavailable(step: &StepOutlook<'_>) -> Option<String> {
    step.step.unavailable.map(|key| format!("cannot run: `{key}` is not available yet"))
}

/// The facts about a step, in the order of a reader's questions.
fn step_facts(plan: &Plan, step: &StepOutlook<'_>) -> Vec<String> {
    let mut parts = Vec::new();
    if step.matrix {
        parts.push(count(step.size(), "cell", "cells"));
    }
    if !step.step.needs.is_empty() {
        parts.push(format!("needs {}", listed(&step.step.needs)));
    }
    let aspects: [(&str, CellAspect); 9] = [
        ("", asked),
        ("requires ", requires),
        ("prefers ", prefers),
        ("lock ", locks),
        ("once as ", once),
        ("", retries),
        ("timeout ", timeout),
        ("priority ", priority),
        ("", others),
    ];
    let texts = aspects
        .iter()
        .filter_map(|(word, aspect)| Some(format!("{word}{}", of_groups(plan, step, *aspect)?)));
    parts.extend(texts);
    parts
}

/// A fact about equal cells.
type CellAspect = fn(&Plan, &StepSpec) -> Option<String>;

/// The fact for all groups; where they differ, each with the number of its cells.
fn of_groups(plan: &Plan, step: &StepOutlook<'_>, aspect: CellAspect) -> Option<String> {
    const SHOWN: usize = 4;
    let mut variants: BTreeMap<String, usize> = BTreeMap::new();
    for group in &step.groups {
        if let Some(text) = aspect(plan, group.spec) {
            *variants.entry(text).or_default() += group.cells.len();
        }
    }
    let size = step.size();
    let text = |(text, cells): (&String, &usize)| {
        if *cells == size {
            text.clone()
        } else {
            format!("{text} ({})", count(*cells, "cell", "cells"))
        }
    };
    let mut shown: Vec<String> = variants.iter().take(SHOWN).map(text).collect();
    if variants.len() > SHOWN {
        shown.push(format!("{} more", variants.len() - SHOWN));
    }
    (!shown.is_empty()).then(|| shown.join(" or "))
}

fn asked(_: &Plan, spec: &StepSpec) -> Option<String> {
    let status = match spec.condition {
        StatusCondition::Success => None,
        StatusCondition::Failure => Some("only after a failure".to_owned()),
        StatusCondition::Always => Some("always".to_owned()),
    };
    let value = spec.when.expression().map(|question| format!("if {question}"));
    let parts: Vec<String> = status.into_iter().chain(value).collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

fn requires(_: &Plan, spec: &StepSpec) -> Option<String> {
    let requirement = &spec.placement.requirement;
    (!requirement.0.is_empty()).then(|| requirement.to_string())
}

fn prefers(_: &Plan, spec: &StepSpec) -> Option<String> {
    let clauses: Vec<String> = spec.placement.preferences.iter().map(ToString::to_string).collect();
    (!clauses.is_empty()).then(|| clauses.join(", "))
}

fn once(_: &Plan, spec: &StepSpec) -> Option<String> {
    spec.idempotency.as_ref().map(|it| it.key.to_string())
}

fn locks(plan: &Plan, spec: &StepSpec) -> Option<String> {
    let lock = |of: &windlass_core::plan::LockUse| {
        let order = match of.order {
            LockOrder::Fifo => "",
            LockOrder::NewestFirst => ", newest first",
            LockOrder::CancelOlder => ", cancels older",
        };
        let slots = match plan.lock_slots(&of.name) {
            1 => String::new(),
            slots => format!(", {slots} slots"),
        };
        let more = format!("{slots}{order}");
        let more = more.trim_start_matches(", ");
        if more.is_empty() { of.name.to_string() } else { format!("{} ({more})", of.name) }
    };
    let names: Vec<String> = spec.locks.iter().map(lock).collect();
    (!names.is_empty()).then(|| listed(&names))
}

fn retries(_: &Plan, spec: &StepSpec) -> Option<String> {
    let (retry, base) = (&spec.retry, RetryPolicy::default());
    let mut parts = Vec::new();
    if retry.times > 0 {
        let (min, max) = (retry.wait_min, retry.wait_max);
        let wait = if min == max { min.to_string() } else { format!("{min}..{max}") };
        let waits = (min, max) != (base.wait_min, base.wait_max);
        parts.push(
            format!("retry {}", retry.times)
                + &if waits { format!(" after {wait}") } else { String::new() },
        );
        let on: Vec<String> = retry.on.iter().map(|on| retry_on(*on)).collect();
        if !on.is_empty() {
            parts.push(format!("on {}", on.join(" or ")));
        }
        if retry.elsewhere {
            parts.push("on another worker".to_owned());
        }
    }
    if retry.lost == 0 {
        parts.push("never dispatched twice".to_owned());
    }
    (!parts.is_empty()).then(|| parts.join(" "))
}

fn timeout(_: &Plan, spec: &StepSpec) -> Option<String> {
    spec.timeout.map(|span| span.to_string())
}

fn priority(_: &Plan, spec: &StepSpec) -> Option<String> {
    (spec.priority != 0).then(|| spec.priority.to_string())
}

fn others(_: &Plan, spec: &StepSpec) -> Option<String> {
    let pinned = (spec.placement.pin == PinTarget::Leader).then(|| "on the leader".to_owned());
    let ignored = (spec.on_failure == OnFailure::Ignore).then(|| "failure ignored".to_owned());
    let limited = spec.per_worker.map(|count| format!("{count} per worker"));
    let parts: Vec<String> = [pinned, ignored, limited].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(DOT))
}

/// Lines of whole parts, filled to the width.
fn wrap(parts: &[String], between: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if columns(line) + columns(between) + columns(part) <= width => {
                line.push_str(between);
                line.push_str(part);
            }
            last => {
                if let Some(line) = last.filter(|_| between != DOT) {
                    line.push_str(between.trim_end());
                }
                if columns(part) > width && between != " " {
                    lines.extend(wrap(&words(part), " ", width));
                } else {
                    lines.push(part.clone());
                }
            }
        }
    }
    lines
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}
