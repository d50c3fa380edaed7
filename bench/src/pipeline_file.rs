//! Measurements of the pipeline file: from its text to its plan.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use windlass_core::expand::{ExpandInputs, ExpandedPipeline, expand_pipeline};
use windlass_core::problem::SourceFile;
use windlass_core::spec::{PipelineReadOptions, read_pipeline};

use crate::heap::HeapCount;
use crate::measure::{RepeatTimes, repeat};
use crate::table::{RowTarget, TableRow, number};

/// Matrix steps of the file with the most cells.
const MATRICES: u32 = 10;

/// A measured file.
struct PipelineCase {
    name: String,
    text: String,
    /// Steps and cells of its plan.
    steps: u32,
    repeats: usize,
    /// The target in milliseconds.
    target: f64,
}

/// The time from the text to the plan, and the heap that planning uses.
pub(crate) fn rows() -> Vec<TableRow> {
    let cases = [
        PipelineCase::steps(10, 200, 2.0),
        PipelineCase::steps(10_000, 10, 300.0),
        PipelineCase::cells(1_000_000, 3, 2_000.0),
    ];
    let mut rows: Vec<TableRow> = cases.iter().map(PipelineCase::time).collect();
    let pairs = [
        ("step", PipelineCase::steps(5_000, 1, 0.0), PipelineCase::steps(50_000, 1, 0.0)),
        ("cell", PipelineCase::cells(100_000, 1, 0.0), PipelineCase::cells(1_000_000, 1, 0.0)),
    ];
    for (what, small, large) in pairs {
        let (few, many) = (small.peak(), large.peak());
        let ratio = many.best / few.best;
        rows.extend([few, many]);
        rows.push(TableRow {
            name: format!("file: heap, ten times the {what}s"),
            best: ratio,
            median: ratio,
            unit: "times",
            detail: format!("peak of one {what}"),
            target: RowTarget::AtMost(1.3),
        });
    }
    rows
}

impl PipelineCase {
    /// Steps that are written out, each with a need, a value and a setting.
    fn steps(steps: u32, repeats: usize, target: f64) -> Self {
        let mut text = "params: { x: a }\ndefaults: { timeout: 15m }\nsteps:\n".to_owned();
        for at in 0..steps {
            let need =
                if at == 0 { String::new() } else { format!("needs: s{}, ", at.div_ceil(2)) };
            let step = format!(
                "  s{}: {{ {need}retry: 1, run: 'echo \"${{{{ params.x }}}}\" {at}' }}\n",
                at + 1
            );
            text.push_str(&step);
        }
        let name = format!("{} steps", number_of(steps));
        Self { name, text, steps, repeats, target }
    }

    /// Matrix steps with this many cells, each of which needs the one before.
    fn cells(cells: u32, repeats: usize, target: f64) -> Self {
        let each = cells / MATRICES;
        let (tens, rest) = (axis(100), axis(each / 100));
        let mut text = "steps:\n".to_owned();
        for at in 0..MATRICES {
            let need = if at == 0 { String::new() } else { format!("    needs: m{}\n", at - 1) };
            let step = format!(
                "  m{at}:\n{need}    matrix: {{ a: [{tens}], b: [{rest}] }}\n    run: echo ${{{{ matrix.a }}}} ${{{{ matrix.b }}}}\n"
            );
            text.push_str(&step);
        }
        let name = format!("{} cells in {MATRICES} matrix steps", number_of(cells));
        Self { name, text, steps: cells, repeats, target }
    }

    fn time(&self) -> TableRow {
        let times = repeat(self.repeats, || (), |()| self.plan());
        let (best, median) = RepeatTimes::nanos_each(times, 1e6);
        TableRow {
            name: format!("file: {}", self.name),
            best,
            median,
            unit: "ms",
            detail: format!("{} bytes; read and expand", number_of_bytes(self.text.len())),
            target: RowTarget::AtMost(self.target),
        }
    }

    /// The peak of the heap while the plan is made, without the text itself.
    fn peak(&self) -> TableRow {
        let heap = HeapCount::begin();
        let plan = self.plan();
        let peak = heap.peak();
        drop(plan);
        #[expect(clippy::cast_precision_loss, reason = "far less than 2^52 bytes")]
        let each = peak as f64 / f64::from(self.steps);
        TableRow {
            name: format!("file: heap, {}", self.name),
            best: each,
            median: each,
            unit: "bytes each",
            detail: format!("peak of {} MB", peak / 1_000_000),
            target: RowTarget::None,
        }
    }

    fn plan(&self) -> ExpandedPipeline {
        let source = SourceFile::new("windlass.yml", &*self.text);
        let (pipeline, problems) = read_pipeline(&source, PipelineReadOptions::default());
        let Some(pipeline) = pipeline else { panic!("{}: {:?}", self.name, problems.first()) };
        let params = BTreeMap::new();
        match expand_pipeline(
            &pipeline,
            ExpandInputs { name: "bench", params: &params, workspace: None },
        ) {
            Ok(expanded) => {
                assert_eq!(expanded.plan.step_count(), self.steps, "every step is in the plan");
                expanded
            }
            Err(problems) => panic!("{}: {:?}", self.name, problems.first()),
        }
    }
}

/// Returns this many values of an axis.
fn axis(values: u32) -> String {
    let mut text = String::new();
    for at in 0..values {
        write!(text, "v{at}, ").expect("a string takes all that is written to it");
    }
    text.trim_end_matches(", ").to_owned()
}

fn number_of(count: u32) -> String {
    if count < 100 { count.to_string() } else { number(count.into()) }
}

#[expect(clippy::cast_precision_loss, reason = "far less than 2^52 bytes")]
fn number_of_bytes(bytes: usize) -> String {
    number(bytes as f64)
}
