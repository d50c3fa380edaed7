//! A matrix after expansion: its values with the params in place, each once.

use windlass_core::spec::{Axis, CellPart, Matrix, MatrixForm};

use super::definition::{Entries, Known};
use super::tree::Tree;

/// The matrix as it would be written with the params at hand.
pub(super) fn matrix(known: &Known, matrix: &Matrix) -> Tree {
    let axes: Vec<(&str, Vec<String>)> =
        matrix.axes.iter().map(|axis| (&*axis.name.value, values(known, axis))).collect();
    let list = |values: &[String]| Tree::List(values.iter().map(Tree::text).collect());
    if matrix.form == MatrixForm::List {
        return list(axes.first().map(|(_, values)| &**values).unwrap_or_default());
    }
    let mut map = Entries::default();
    for (name, values) in &axes {
        map.put(name, list(values));
    }
    let exclude: Vec<Tree> =
        matrix.exclude.iter().filter_map(|cell| left_out(known, cell, &axes)).collect();
    map.some("exclude", (!exclude.is_empty()).then(|| Tree::one_or_list(exclude)));
    let include = matrix.include.iter().map(|cell| part(known, cell)).collect::<Vec<_>>();
    map.some("include", (!include.is_empty()).then(|| Tree::one_or_list(include)));
    let route = matrix.route.iter().map(|axis| Tree::text(&*axis.value)).collect::<Vec<_>>();
    map.some("route", (!route.is_empty()).then(|| Tree::one_or_list(route)));
    Tree::Map(map.0)
}

fn values(known: &Known, axis: &Axis) -> Vec<String> {
    let mut values: Vec<String> = Vec::with_capacity(axis.values.len());
    let mut seen = std::collections::BTreeSet::new();
    for value in &axis.values {
        let value = known.fold(&value.template);
        if seen.insert(value.clone()) {
            values.push(value);
        }
    }
    values
}

/// An `exclude` whose values come from params may fit no cell, and written out it would be taken for a mistake.
fn left_out(known: &Known, cell: &CellPart, axes: &[(&str, Vec<String>)]) -> Option<Tree> {
    let fits = cell.value.iter().all(|(name, text)| {
        let value = known.fold(&text.template);
        axes.iter().any(|(axis, values)| *axis == name.value && values.contains(&value))
    });
    fits.then(|| part(known, cell))
}

fn part(known: &Known, cell: &CellPart) -> Tree {
    Tree::Map(
        cell.value.iter().map(|(name, text)| (name.value.clone(), known.text(text))).collect(),
    )
}
