//! A plan for readers: waves down the page, one step per line, and the steps that would be skipped.

use super::number_text::count;
use super::plan_outlook::{PlanOutlook, PredictedSkip, StepOutlook};
use super::step_facts::step_facts;
use crate::cli::output::{ColorRole, TerminalCaps, columns};

/// A name longer than this has its own line.
const NAME_WIDTH: usize = 24;
/// The separator between facts about one step.
pub(super) const DOT: &str = " · ";

/// The whole page.
pub(crate) fn plan_text(outlook: &PlanOutlook<'_>, caps: &TerminalCaps) -> String {
    let names = outlook.steps.iter().map(|step| columns(&step.step.name));
    let name = names.filter(|width| *width <= NAME_WIDTH).max().unwrap_or(NAME_WIDTH);
    let layout = PlanTextLayout { caps, wave: outlook.waves.to_string().len(), name };
    let mut lines = heading(outlook, caps);
    let mut wave = 0;
    for step in &outlook.steps {
        lines.extend(layout.step(outlook, step, step.wave != wave));
        wave = step.wave;
    }
    lines.extend(endings(outlook, &layout));
    lines.join("\n")
}

fn heading(outlook: &PlanOutlook<'_>, caps: &TerminalCaps) -> Vec<String> {
    let expanded = outlook.expanded;
    let (steps, size) = (outlook.steps.len(), outlook.size());
    let cells = count(size, "with cells", "with cells");
    let cells = if size > steps { format!(" ({cells})") } else { String::new() };
    let waves = count(outlook.waves, "wave", "waves");
    let name = caps.paint(ColorRole::Strong, expanded.plan.pipeline());
    let mut lines = vec![format!("{name}: {}{cells} in {waves}", count(steps, "step", "steps"))];
    let params = expanded.params.iter().map(|(name, value)| format!("{name} = {value}"));
    let timeout = expanded.timeout.map(|span| format!("run timeout {span}"));
    let facts: Vec<String> = params.chain(timeout).collect();
    if !facts.is_empty() {
        lines.push(caps.paint(ColorRole::Quiet, &facts.join(DOT)));
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
        let wrapped = wrap(&shortened(parts), " → ", layout.caps.width.saturating_sub(2));
        lines.push(label.trim_end().to_owned());
        lines.extend(wrapped.into_iter().map(|line| format!("{indent}{line}")));
    }
    let skipped: Vec<String> = outlook.steps.iter().filter_map(skipped_name).collect();
    if !skipped.is_empty() {
        lines.push(layout.caps.paint(ColorRole::Warn, "Would be skipped:"));
        let wrapped = wrap(&shortened(skipped), ", ", layout.caps.width.saturating_sub(2));
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
    caps: &'a TerminalCaps,
    wave: usize,
    name: usize,
}

impl PlanTextLayout<'_> {
    fn step(&self, outlook: &PlanOutlook<'_>, step: &StepOutlook<'_>, first: bool) -> Vec<String> {
        let number = if first { step.wave.to_string() } else { String::new() };
        let number =
            self.caps.paint(ColorRole::Quiet, &format!("{number:>width$}", width = self.wave));
        let name = &step.step.name;
        let padding = " ".repeat(self.name.saturating_sub(columns(name)));
        let margin = self.wave + self.name + 4;
        let room = self.caps.width.saturating_sub(margin).max(20);
        let mut texts = wrap(&step_facts(&outlook.expanded.plan, step), DOT, room);
        for text in skipped(step).into_iter().chain(unavailable(step)) {
            let lines = wrap(&words(&text), " ", room);
            texts.extend(lines.iter().map(|line| self.caps.paint(ColorRole::Warn, line)));
        }
        if let Some(about) = &step.step.about {
            texts.insert(0, self.caps.paint(ColorRole::Quiet, about));
        }
        let head = format!("{number}  {}{padding}", self.caps.paint(ColorRole::Strong, name));
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
            PredictedSkip::FalseCondition(condition) => format!("skipped: {which}if {condition}"),
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
