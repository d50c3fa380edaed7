//! A matrix after expansion: its values with the params filled in, each once.

use windlass_core::spec::{MatrixAxis, MatrixCellPart, MatrixDecl, MatrixForm};

use super::ordered_document::OrderedDocument;
use super::resolved_params::{DocumentEntries, ResolvedParams};

/// The matrix with these params filled in.
pub(super) fn matrix(known: &ResolvedParams, matrix: &MatrixDecl) -> OrderedDocument {
    let axes: Vec<(&str, Vec<String>)> =
        matrix.axes.iter().map(|axis| (&*axis.name.value, values(known, axis))).collect();
    let list = |values: &[String]| {
        OrderedDocument::List(values.iter().map(OrderedDocument::text).collect())
    };
    if matrix.form == MatrixForm::List {
        return list(axes.first().map(|(_, values)| &**values).unwrap_or_default());
    }
    let mut map = DocumentEntries::default();
    for (name, values) in &axes {
        map.put(name, list(values));
    }
    let exclude: Vec<OrderedDocument> =
        matrix.exclude.iter().filter_map(|cell| left_out(known, cell, &axes)).collect();
    map.some("exclude", (!exclude.is_empty()).then(|| OrderedDocument::one_or_list(exclude)));
    let include = matrix.include.iter().map(|cell| part(known, cell)).collect::<Vec<_>>();
    map.some("include", (!include.is_empty()).then(|| OrderedDocument::one_or_list(include)));
    let route =
        matrix.route.iter().map(|axis| OrderedDocument::text(&*axis.value)).collect::<Vec<_>>();
    map.some("route", (!route.is_empty()).then(|| OrderedDocument::one_or_list(route)));
    OrderedDocument::Map(map.0)
}

fn values(known: &ResolvedParams, axis: &MatrixAxis) -> Vec<String> {
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

/// An `exclude` with values of params may match no cell; written out it would be reported as a mistake.
fn left_out(
    known: &ResolvedParams,
    cell: &MatrixCellPart,
    axes: &[(&str, Vec<String>)],
) -> Option<OrderedDocument> {
    let fits = cell.value.iter().all(|(name, text)| {
        let value = known.fold(&text.template);
        axes.iter().any(|(axis, values)| *axis == name.value && values.contains(&value))
    });
    fits.then(|| part(known, cell))
}

fn part(known: &ResolvedParams, cell: &MatrixCellPart) -> OrderedDocument {
    OrderedDocument::Map(
        cell.value.iter().map(|(name, text)| (name.value.clone(), known.text(text))).collect(),
    )
}
