//! A small table: columns as wide as they must be, no lines around them.

use super::color::ColorRole;
use super::terminal_caps::TerminalCaps;
use super::text_width::{columns, fit, pad, pad_left};

/// On which side of its column a text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnAlign {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Rows under a quiet head. Texts may have colours.
#[derive(Debug)]
pub struct TextTable {
    head: Vec<(&'static str, ColumnAlign)>,
    rows: Vec<Vec<String>>,
    /// The column that is cut where there is no room.
    cut: Option<&'static str>,
    /// The columns that are left out before, the least important first.
    left_out: &'static [&'static str],
}

/// Blanks between columns.
const GAP: &str = "  ";
/// The least that a column is cut to, and that is left of it while another can be left out.
const CUT_MIN: usize = 8;

impl TextTable {
    /// A table of these columns.
    pub fn new(head: impl IntoIterator<Item = (&'static str, ColumnAlign)>) -> Self {
        let head = head.into_iter().collect();
        Self { head, rows: Vec::new(), cut: None, left_out: &[] }
    }

    /// Cuts this column where the terminal is narrow.
    #[must_use]
    pub fn cuts(self, column: &'static str) -> Self {
        Self { cut: Some(column), ..self }
    }

    /// Leaves these columns out, one after the other, where the terminal is narrow.
    #[must_use]
    pub fn leaves_out(self, columns: &'static [&'static str]) -> Self {
        Self { left_out: columns, ..self }
    }

    /// Adds a row; what is missing is empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The lines of the table. Columns that are empty in every row are left out.
    pub fn lines(&self, look: &TerminalCaps) -> Vec<String> {
        let widths = self.fitted(look.width);
        let head: Vec<String> =
            self.head.iter().map(|(name, _)| look.paint(ColorRole::Quiet, name)).collect();
        let rows = std::iter::once(&head).chain(&self.rows);
        rows.map(|row| self.line(look, row, &widths)).collect()
    }

    /// The width of each column; none for one that is left out.
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

    fn line(&self, look: &TerminalCaps, row: &[String], widths: &[usize]) -> String {
        let cells = self.head.iter().zip(widths).zip(row);
        let shown = cells.filter(|((_, width), _)| **width > 0);
        let texts = shown.map(|(((_, align), width), cell)| {
            let cell = fit(look, cell, *width);
            match align {
                ColumnAlign::Left => pad(&cell, *width),
                ColumnAlign::Right => pad_left(&cell, *width),
            }
        });
        texts.collect::<Vec<String>>().join(GAP).trim_end().to_owned()
    }
}

/// How much wider these columns are than there is room.
fn excess(widths: &[usize], room: usize) -> usize {
    let used: usize =
        widths.iter().filter(|width| **width > 0).map(|width| width + GAP.len()).sum();
    used.saturating_sub(room + GAP.len())
}
