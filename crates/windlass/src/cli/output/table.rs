//! A small table: columns as wide as they must be, no lines around them.

use super::ink::Ink;
use super::look::Look;
use super::width::{columns, fit, pad, pad_left};

/// On which side of its column a text stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Rows under a quiet head. Texts may have colours.
#[derive(Debug)]
pub struct Table {
    head: Vec<(&'static str, Align)>,
    rows: Vec<Vec<String>>,
}

/// Blanks between columns.
const GAP: &str = "  ";
/// The least that the first column is cut to in a narrow terminal.
const FIRST_MIN: usize = 8;

impl Table {
    /// A table of these columns.
    pub fn new(head: impl IntoIterator<Item = (&'static str, Align)>) -> Self {
        Self { head: head.into_iter().collect(), rows: Vec::new() }
    }

    /// Adds a row; what is missing is empty.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The lines of the table. The first column gives way where the terminal is narrow; columns that are empty in every
    /// row are left out.
    pub fn lines(&self, look: &Look) -> Vec<String> {
        let mut widths = self.widths();
        let used: usize =
            widths.iter().filter(|width| **width > 0).map(|width| width + GAP.len()).sum();
        let excess = used.saturating_sub(look.width + GAP.len());
        if let Some(first) = widths.first_mut().filter(|_| excess > 0) {
            *first = first.saturating_sub(excess).max(FIRST_MIN).min(*first);
        }
        let head: Vec<String> =
            self.head.iter().map(|(name, _)| look.paint(Ink::Quiet, name)).collect();
        let rows = std::iter::once(&head).chain(&self.rows);
        rows.map(|row| self.line(look, row, &widths)).collect()
    }

    fn widths(&self) -> Vec<usize> {
        let width = |at: usize, head: &str| {
            let cells = self.rows.iter().filter_map(|row| row.get(at));
            let widest = cells.map(|cell| columns(cell)).max().unwrap_or(0);
            if widest == 0 { 0 } else { widest.max(columns(head)) }
        };
        self.head.iter().enumerate().map(|(at, (head, _))| width(at, head)).collect()
    }

    fn line(&self, look: &Look, row: &[String], widths: &[usize]) -> String {
        let cells = self.head.iter().zip(widths).zip(row);
        let shown = cells.filter(|((_, width), _)| **width > 0);
        let texts = shown.map(|(((_, align), width), cell)| {
            let cell = fit(look, cell, *width);
            match align {
                Align::Left => pad(&cell, *width),
                Align::Right => pad_left(&cell, *width),
            }
        });
        texts.collect::<Vec<String>>().join(GAP).trim_end().to_owned()
    }
}
