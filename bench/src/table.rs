//! The one table that the benchmark prints.

use std::fmt::Write as _;

/// The target of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RowTarget {
    /// No target.
    None,
    /// At least this value.
    AtLeast(f64),
    /// At most this value.
    AtMost(f64),
}

impl RowTarget {
    fn text(self) -> String {
        match self {
            Self::None => String::new(),
            Self::AtLeast(bound) => format!(">= {}", number(bound)),
            Self::AtMost(bound) => format!("<= {}", number(bound)),
        }
    }

    fn verdict(self, value: f64) -> &'static str {
        let met = match self {
            Self::None => return "",
            Self::AtLeast(bound) => value >= bound,
            Self::AtMost(bound) => value <= bound,
        };
        if met { "met" } else { "NOT MET" }
    }
}

/// One line of the table.
#[derive(Debug)]
pub(crate) struct TableRow {
    /// The measurement.
    pub(crate) name: String,
    /// The best repetition.
    pub(crate) best: f64,
    /// The median repetition.
    pub(crate) median: f64,
    /// The unit of both.
    pub(crate) unit: &'static str,
    /// A remark.
    pub(crate) detail: String,
    /// The target of the best repetition.
    pub(crate) target: RowTarget,
}

/// All rows, aligned, in the order in which they were measured.
pub(crate) fn render(rows: &[TableRow]) -> String {
    let head = ["", "best", "median", "unit", "target", "verdict", "detail"];
    let mut lines = vec![head.map(str::to_owned)];
    lines.extend(rows.iter().map(cells));
    let mut widths = [0; 7];
    for (width, at) in widths.iter_mut().zip(0..) {
        *width = lines.iter().map(|line: &[String; 7]| line[at].len()).max().unwrap_or(0);
    }
    let mut text = String::new();
    for line in &lines {
        let mut row = String::new();
        for (at, (cell, width)) in line.iter().zip(widths).enumerate() {
            let is_number = at == 1 || at == 2;
            let written = if is_number {
                write!(row, "{cell:>width$}  ")
            } else {
                write!(row, "{cell:<width$}  ")
            };
            written.expect("a string takes all that is written to it");
        }
        text.push_str(row.trim_end());
        text.push('\n');
    }
    text
}

fn cells(row: &TableRow) -> [String; 7] {
    [
        row.name.clone(),
        number(row.best),
        number(row.median),
        row.unit.to_owned(),
        row.target.text(),
        row.target.verdict(row.best).to_owned(),
        row.detail.clone(),
    ]
}

/// Large numbers without a fraction and in groups of three digits, small ones with two places.
pub(crate) fn number(value: f64) -> String {
    if value.is_nan() {
        return "-".to_owned();
    }
    if value < 100.0 {
        return format!("{value:.2}");
    }
    let digits = format!("{value:.0}");
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}
