//! What is measured of the pipeline file: from its text to its plan.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use windlass_core::expand::{Expanded, Inputs, expand};
use windlass_core::problem::Source;
use windlass_core::spec::{Options, read};

use crate::heap::Counted;
use crate::measure::{Times, repeat};
use crate::table::{Row, Target, number};

/// Matrix steps of the file with the most cells.
const MATRICES: u32 = 10;

/// A file that is measured.
struct Case {
    name: String,
    text: String,
    /// Steps and cells of its plan.
    steps: u32,
    repeats: usize,
    /// At most so many milliseconds.
    target: f64,
}

/// Time from the text to the plan, and the heap that it takes on the way.
pub(crate) fn rows() -> Vec<Row> {
    let cases = [
        Case::steps(10, 200, 2.0),
        Case::steps(10_000, 10, 300.0),
        Case::cells(1_000_000, 3, 2_000.0),
    ];
    let mut rows: Vec<Row> = cases.iter().map(Case::time).collect();
    let pairs = [
        ("step", Case::steps(5_000, 1, 0.0), Case::steps(50_000, 1, 0.0)),
        ("cell", Case::cells(100_000, 1, 0.0), Case::cells(1_000_000, 1, 0.0)),
    ];
    for (what, small, large) in pairs {
        let (few, many) = (small.peak(), large.peak());
        let ratio = many.best / few.best;
        rows.extend([few, many]);
        rows.push(Row {
            name: format!("file: heap, ten times the {what}s"),
            best: ratio,
            median: ratio,
            unit: "times",
            detail: format!("peak of one {what}"),
            target: Target::AtMost(1.3),
        });
    }
    rows
}

impl Case {
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

    /// Matrix steps of as many cells each, and each needs the one before.
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

    fn time(&self) -> Row {
        let times = repeat(self.repeats, || (), |()| self.plan());
        let (best, median) = Times::nanos_each(times, 1e6);
        Row {
            name: format!("file: {}", self.name),
            best,
            median,
            unit: "ms",
            detail: format!("{} bytes; read and expand", number_of_bytes(self.text.len())),
            target: Target::AtMost(self.target),
        }
    }

    /// The most bytes on the heap while the plan is made, beyond the text that is there already.
    fn peak(&self) -> Row {
        let heap = Counted::begin();
        let plan = self.plan();
        let peak = heap.peak();
        drop(plan);
        #[expect(clippy::cast_precision_loss, reason = "far less than 2^52 bytes")]
        let each = peak as f64 / f64::from(self.steps);
        Row {
            name: format!("file: heap, {}", self.name),
            best: each,
            median: each,
            unit: "bytes each",
            detail: format!("peak of {} MB", peak / 1_000_000),
            target: Target::None,
        }
    }

    fn plan(&self) -> Expanded {
        let source = Source::new("windlass.yml", &*self.text);
        let (pipeline, problems) = read(&source, Options::default());
        let Some(pipeline) = pipeline else { panic!("{}: {:?}", self.name, problems.first()) };
        let params = BTreeMap::new();
        match expand(&pipeline, Inputs { name: "bench", params: &params }) {
            Ok(expanded) => {
                assert_eq!(expanded.plan.step_count(), self.steps, "every step is in the plan");
                expanded
            }
            Err(problems) => panic!("{}: {:?}", self.name, problems.first()),
        }
    }
}

/// So many values of an axis.
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
