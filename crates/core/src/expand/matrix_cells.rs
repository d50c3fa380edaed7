//! The cells of a matrix: the product of its axes, without `exclude`, plus `include`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::cell_name::cell_name;
use super::plan_time_renderer::PlanTimeRenderer;
use crate::plan::{CELLS_MAX, STEPS_MAX};
use crate::problem::{Problem, ProblemCode};
use crate::spec::{
    CELL_MATCHES_MAX, MatrixAxis, MatrixCellPart, MatrixDecl, MatrixForm, Spanned, SpannedTemplate,
    platform_problem,
};

/// All cells of a matrix. A cell is a row of value indices, one per axis, so that many cells share their values.
#[derive(Debug)]
pub(super) struct MatrixCells {
    pub(super) axes: Vec<String>,
    values: Vec<Vec<String>>,
    /// Rows of `axes.len()` indices, concatenated.
    rows: Vec<u32>,
    count: usize,
    /// Values that `include` added, by cell.
    added: BTreeMap<usize, Vec<(String, String)>>,
    /// Axes whose value is a required label, with the prefix of the label.
    routes: Vec<(usize, String)>,
}

/// Part of a cell: values of some axes, and additional values.
struct PartialCell {
    axes: Vec<(usize, u32)>,
    beyond: Vec<(String, String)>,
}

impl MatrixCells {
    /// Creates the cells; `None` if there are problems.
    pub(super) fn new(known: &mut PlanTimeRenderer<'_>, matrix: &MatrixDecl) -> Option<Self> {
        let before = known.problems.len();
        let mut cells = Self {
            axes: matrix.axes.iter().map(|axis| axis.name.value.clone()).collect(),
            values: matrix.axes.iter().map(|axis| values(known, axis)).collect(),
            rows: Vec::new(),
            count: 0,
            added: BTreeMap::new(),
            routes: routes(matrix),
        };
        let size = cells.values.iter().try_fold(1_usize, |size, axis| size.checked_mul(axis.len()));
        if size.is_none_or(|size| size > STEPS_MAX) {
            known.problems.push(cells.too_many(matrix, size));
            return None;
        }
        let parts = matrix.exclude.len() + matrix.include.len();
        let listed: usize = cells.values.iter().map(Vec::len).sum();
        let matches = size.unwrap_or(usize::MAX).saturating_add(listed).saturating_mul(parts);
        if matches > CELL_MATCHES_MAX {
            known.problems.push(too_many_parts(matrix, parts));
            return None;
        }
        cells.product(known, matrix);
        for include in &matrix.include {
            cells.include(known, include);
        }
        match cells.count {
            0 if known.problems.len() == before => {
                let title = "the matrix has no cells: every combination is excluded";
                known.problems.push(Problem::new(
                    ProblemCode::EmptyMatrix,
                    matrix.span.clone(),
                    title,
                ));
            }
            count if count > CELLS_MAX => known.problems.push(cells.too_many(matrix, Some(count))),
            _ => {}
        }
        (known.problems.len() == before).then_some(cells)
    }

    pub(super) const fn count(&self) -> usize {
        self.count
    }

    /// Returns the text between the brackets of the cell's name.
    pub(super) fn name(&self, cell: usize) -> String {
        let added = self.added.get(&cell).into_iter().flatten();
        cell_name(self.row(cell), added.map(|(key, value)| (&**key, &**value)))
    }

    /// Returns the values of a cell in axis order.
    fn row(&self, cell: usize) -> impl Iterator<Item = &str> {
        let row = &self.rows[cell * self.axes.len()..(cell + 1) * self.axes.len()];
        row.iter().zip(&self.values).map(|(value, axis)| &*axis[*value as usize])
    }

    /// Returns the value of a name in a cell, or an empty string.
    pub(super) fn value(&self, cell: usize, name: &str) -> &str {
        let added = self.added.get(&cell).into_iter().flatten();
        let mut added = added.filter(|(key, _)| key == name).map(|(_, value)| &**value);
        let mut own = self.axes.iter().zip(self.row(cell)).filter(|(axis, _)| *axis == name);
        added.next().or_else(|| own.next().map(|(_, value)| value)).unwrap_or_default()
    }

    /// Returns the values that expressions read as `matrix` in a cell.
    pub(super) fn scope(&self, cell: usize) -> Map<String, Value> {
        let own = self.axes.iter().map(|axis| &**axis).zip(self.row(cell));
        let added = self.added.get(&cell).into_iter().flatten();
        let all = own.chain(added.map(|(key, value)| (&**key, &**value)));
        all.map(|(name, value)| (name.to_owned(), value.into())).collect()
    }

    /// Returns the worker labels that a cell requires.
    pub(super) fn labels(&self, cell: usize) -> Vec<String> {
        let row: Vec<&str> = self.row(cell).collect();
        self.routes.iter().map(|(axis, prefix)| format!("{prefix}{}", row[*axis])).collect()
    }

    /// Returns the axes that select workers.
    pub(super) fn routing(&self) -> impl Iterator<Item = &str> {
        self.routes.iter().map(|(axis, _)| &*self.axes[*axis])
    }

    /// Adds the cells of the product; the last axis changes fastest.
    fn product(&mut self, known: &mut PlanTimeRenderer<'_>, matrix: &MatrixDecl) {
        // Taken before reading `exclude`, which may add values that are in no axis.
        let sizes: Vec<usize> = self.values.iter().map(Vec::len).collect();
        let excludes: Vec<PartialCell> =
            matrix.exclude.iter().map(|cell| self.part(known, &cell.value, no_check)).collect();
        let mut used = vec![false; excludes.len()];
        let mut row = vec![0_u32; self.axes.len()];
        let mut more = !sizes.is_empty() && !sizes.contains(&0);
        while more {
            let mut left_out = false;
            for (_, used) in excludes.iter().zip(&mut used).filter(|(part, _)| part.matches(&row)) {
                (left_out, *used) = (true, true);
            }
            if !left_out {
                self.rows.extend(&row);
                self.count += 1;
            }
            more = next_row(&mut row, &sizes);
        }
        let unused = matrix.exclude.iter().zip(used).filter(|(_, used)| !used);
        for (cell, _) in unused.filter(|(cell, _)| literal(&cell.value)) {
            let title = "this `exclude` matches no cell";
            let problem = Problem::new(ProblemCode::NoSuchCell, cell.span.clone(), title);
            known.problems.push(problem.help("check that the values are spelled as in the axes"));
        }
    }

    /// Adds values to the matching cells; or adds a cell, if every axis is given and no cell matches.
    fn include(&mut self, known: &mut PlanTimeRenderer<'_>, include: &MatrixCellPart) {
        let part = self.part(known, &include.value, rendered_platform_problem);
        let width = self.axes.len();
        let row = |cell: usize| &self.rows[cell * width..(cell + 1) * width];
        let hits: Vec<usize> = match width {
            0 => Vec::new(),
            _ => (0..self.count).filter(|cell| part.matches(row(*cell))).collect(),
        };
        if hits.is_empty() && part.axes.len() == width {
            let mut new = part.axes;
            new.sort_unstable();
            self.rows.extend(new.into_iter().map(|(_, value)| value));
            if !part.beyond.is_empty() {
                self.added.insert(self.count, part.beyond);
            }
            self.count += 1;
        } else if hits.is_empty() || part.beyond.is_empty() {
            let title = if hits.is_empty() {
                "this `include` matches no cell"
            } else {
                "this `include` adds nothing"
            };
            let problem = Problem::new(ProblemCode::NoSuchCell, include.span.clone(), title);
            known.problems.push(problem.help(
                "to add a cell, give every axis; to add a value to cells, give some axes and a new key",
            ));
        } else {
            for cell in hits {
                add(self.added.entry(cell).or_default(), &part.beyond);
            }
        }
    }

    /// Reads part of a cell, and reports the problems that `check` finds in its values.
    fn part(
        &mut self,
        known: &mut PlanTimeRenderer<'_>,
        written: &[(Spanned<String>, SpannedTemplate)],
        check: fn(&str, &str, &SpannedTemplate) -> Option<Problem>,
    ) -> PartialCell {
        let mut part = PartialCell { axes: Vec::new(), beyond: Vec::new() };
        for (name, text) in written {
            let Some(value) = known.text(text) else { continue };
            known.problems.extend(check(&name.value, &value, text));
            match self.axes.iter().position(|axis| *axis == name.value) {
                Some(axis) => part.axes.push((axis, self.number(axis, value))),
                None => part.beyond.push((name.value.clone(), value)),
            }
        }
        part
    }

    /// Returns the index of a value in its axis. An unlisted value gets an index outside the product.
    fn number(&mut self, axis: usize, value: String) -> u32 {
        let values = &mut self.values[axis];
        let at = values.iter().position(|known| *known == value).unwrap_or_else(|| {
            values.push(value);
            values.len() - 1
        });
        u32::try_from(at).expect("a matrix has far fewer values")
    }

    fn too_many(&self, matrix: &MatrixDecl, size: Option<usize>) -> Problem {
        let sizes: Vec<String> = self.values.iter().map(|axis| axis.len().to_string()).collect();
        let product = sizes.join(" × ");
        let count = size.map_or_else(|| "far too many".to_owned(), |size| size.to_string());
        let title =
            format!("the matrix has {count} cells ({product}); at most {CELLS_MAX} are allowed");
        Problem::new(ProblemCode::PlanTooLarge, matrix.span.clone(), title)
    }
}

/// Reports too many entries of `include` and `exclude`.
fn too_many_parts(matrix: &MatrixDecl, parts: usize) -> Problem {
    let title = format!(
        "`include` and `exclude` have {parts} entries, too many to compare with every cell of the matrix"
    );
    Problem::new(ProblemCode::PlanTooLarge, matrix.span.clone(), title)
        .help("list only the wanted cells under `include`, without axes")
}

impl PartialCell {
    fn matches(&self, row: &[u32]) -> bool {
        self.axes.iter().all(|(axis, value)| row[*axis] == *value)
    }
}

fn next_row(row: &mut [u32], sizes: &[usize]) -> bool {
    for (place, size) in row.iter_mut().zip(sizes).rev() {
        *place += 1;
        if (*place as usize) < *size {
            return true;
        }
        *place = 0;
    }
    false
}

fn add(to: &mut Vec<(String, String)>, values: &[(String, String)]) {
    for (key, value) in values {
        to.retain(|(known, _)| known != key);
        to.push((key.clone(), value.clone()));
    }
}

fn literal(cell: &[(Spanned<String>, SpannedTemplate)]) -> bool {
    cell.iter().all(|(_, text)| text.template.is_literal().is_some())
}

/// Returns the values of an axis. Values that render to the same string are merged.
fn values(known: &mut PlanTimeRenderer<'_>, axis: &MatrixAxis) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut values = Vec::new();
    for text in &axis.values {
        let Some(value) = known.text(text) else { continue };
        known.problems.extend(rendered_platform_problem(&axis.name.value, &value, text));
        if seen.insert(value.clone()) {
            values.push(value);
        }
    }
    values
}

/// Reports an invalid rendered value of `os` or `arch`. Literal values were checked with the file.
fn rendered_platform_problem(name: &str, value: &str, text: &SpannedTemplate) -> Option<Problem> {
    let is_rendered = text.template.is_literal().is_none();
    is_rendered.then(|| platform_problem(name, value, &text.span)).flatten()
}

/// Accepts any value: an `exclude` may render to a value that no cell has, and then excludes nothing.
const fn no_check(_: &str, _: &str, _: &SpannedTemplate) -> Option<Problem> {
    None
}

/// Returns the axes that select workers, with the prefix of their labels. In the list form the value itself is the label.
fn routes(matrix: &MatrixDecl) -> Vec<(usize, String)> {
    let axes = matrix.axes.iter().enumerate();
    match matrix.form {
        MatrixForm::List => axes.map(|(at, _)| (at, String::new())).collect(),
        MatrixForm::Map => {
            let routed = axes.filter(|(_, axis)| matrix.is_routed(axis));
            routed.map(|(at, axis)| (at, format!("{}=", axis.name.value))).collect()
        }
    }
}
