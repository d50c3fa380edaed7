//! A small table: columns as wide as needed, without borders.

use super::color::ColorRole;
use super::terminal_caps::TerminalCaps;
use super::text_width::{columns, fit, pad, pad_left};

/// The alignment of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnAlign {
    /// For text.
    Left,
    /// For numbers.
    Right,
}

/// Rows under a dimmed head. Cells may contain colors.
#[derive(Debug)]
pub(crate) struct TextTable {
    head: Vec<(&'static str, ColumnAlign)>,
    rows: Vec<Vec<String>>,
    /// The column that is cut if the table is too wide.
    cut: Option<&'static str>,
    /// The columns that are omitted first, the least important first.
    left_out: &'static [&'static str],
}

/// The gap between columns.
const GAP: &str = "  ";
/// The smallest width of the cut column, kept while another column can be omitted.
const CUT_MIN: usize = 8;

impl TextTable {
    /// A table with these columns.
    pub(crate) fn new(head: impl IntoIterator<Item = (&'static str, ColumnAlign)>) -> Self {
        let head = head.into_iter().collect();
        Self { head, rows: Vec::new(), cut: None, left_out: &[] }
    }

    /// Cuts this column on a narrow terminal.
    #[must_use]
    pub(crate) fn cuts(self, column: &'static str) -> Self {
        Self { cut: Some(column), ..self }
    }

    /// Omits these columns, one after the other, on a narrow terminal.
    #[must_use]
    pub(crate) fn leaves_out(self, columns: &'static [&'static str]) -> Self {
        Self { left_out: columns, ..self }
    }

    /// Adds a row; missing cells are empty.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The lines of the table. Columns that are empty in every row are omitted.
    pub(crate) fn lines(&self, caps: &TerminalCaps) -> Vec<String> {
        let widths = self.fitted(caps.width);
        let head: Vec<String> =
            self.head.iter().map(|(name, _)| caps.paint(ColorRole::Quiet, name)).collect();
        let rows = std::iter::once(&head).chain(&self.rows);
        rows.map(|row| self.line(caps, row, &widths)).collect()
    }

    /// The width of each column; zero for an omitted one.
    fn fitted(&self, room: usize) -> Vec<usize> {
        let mut widths = self.widths();
        let place = |name: &str| self.head.iter().position(|(head, _)| *head == name);
        let cut = self.cut.and_then(place);
        for column in self.left_out.iter().filter_map(|name| place(name)) {
            let give = cut.map_or(0, |cut| widths[cut].saturating_sub(CUT_MIN * 2));
            if excess(&widths, room) > give {
                widths[column] = 0;
            }
        }
        if let Some(cut) = cut {
            let left = widths[cut].saturating_sub(excess(&widths, room));
            widths[cut] = left.max(CUT_MIN).min(widths[cut]);
        }
        widths
    }

    fn widths(&self) -> Vec<usize> {
        let width = |at: usize, head: &str| {
            let cells = self.rows.iter().filter_map(|row| row.get(at));
            let widest = cells.map(|cell| columns(cell)).max().unwrap_or(0);
            if widest == 0 { 0 } else { widest.max(columns(head)) }
        };
        self.head.iter().enumerate().map(|(at, (head, _))| width(at, head)).collect()
    }

    fn line(&self, caps: &TerminalCaps, row: &[String], widths: &[usize]) -> String {
        let cells = self.head.iter().zip(widths).zip(row);
        let shown = cells.filter(|((_, width), _)| **width > 0);
        let texts = shown.map(|(((_, align), width), cell)| {
            let cell = fit(caps, cell, *width);
            match align {
                ColumnAlign::Left => pad(&cell, *width),
                ColumnAlign::Right => pad_left(&cell, *width),
            }
        });
        texts.collect::<Vec<String>>().join(GAP).trim_end().to_owned()
    }
}

/// The width of these columns beyond the available width.
fn excess(widths: &[usize], room: usize) -> usize {
    let used: usize =
        widths.iter().filter(|width| **width > 0).map(|width| width + GAP.len()).sum();
    used.saturating_sub(room + GAP.len())
}
