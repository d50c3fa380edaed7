//! Reads a matrix.

use super::reader::{PipelineReader, key_name, spanned};
use crate::problem::{Problem, ProblemCode};
use crate::spec::declaration::{MatrixAxis, MatrixCellPart, MatrixDecl, MatrixForm, Spanned};
use crate::spec::names::nearest_name;
use crate::spec::yaml::{YamlNode, YamlValue};

/// The axis name of a plain list.
const TARGET_AXIS: &str = "target";
/// Keys of a matrix that are not axes.
const RESERVED_AXIS_NAMES: &[&str] = &["include", "exclude", "route"];

impl PipelineReader<'_> {
    pub(super) fn matrix(&mut self, node: &YamlNode<'_>) -> Option<MatrixDecl> {
        let matrix = match &node.value {
            YamlValue::List(_) => self.list(node),
            YamlValue::Map(_) => self.axes(node),
            YamlValue::Null | YamlValue::Scalar(_) | YamlValue::Broken => return None,
        };
        if matrix.axes.is_empty() && matrix.include.is_empty() {
            let problem =
                Problem::new(ProblemCode::EmptyMatrix, node.span.clone(), "the matrix has no axes");
            self.report(
                problem
                    .help("write `matrix: [linux, windows]` or `matrix: { os: [linux, windows] }`"),
            );
        }
        self.check_axes(&matrix);
        Some(matrix)
    }

    fn list(&mut self, node: &YamlNode<'_>) -> MatrixDecl {
        let axis =
            MatrixAxis { name: spanned(TARGET_AXIS, &node.span), values: self.texts(Some(node)) };
        let (include, exclude, route) = (Vec::new(), Vec::new(), Vec::new());
        MatrixDecl {
            span: node.span.clone(),
            form: MatrixForm::List,
            axes: vec![axis],
            include,
            exclude,
            route,
        }
    }

    fn axes(&mut self, node: &YamlNode<'_>) -> MatrixDecl {
        let own = node.entries().iter().filter(|e| {
            !RESERVED_AXIS_NAMES.contains(&&*e.key.text) && !e.key.text.starts_with("x-")
        });
        let axes = own
            .map(|e| MatrixAxis { name: key_name(&e.key), values: self.texts(Some(&e.value)) })
            .collect();
        MatrixDecl {
            span: node.span.clone(),
            form: MatrixForm::Map,
            axes,
            include: self.cells(node.get("include")),
            exclude: self.cells(node.get("exclude")),
            route: node.get("route").map(|node| self.names(node, "axis")).unwrap_or_default(),
        }
    }

    fn cells(&mut self, node: Option<&YamlNode<'_>>) -> Vec<MatrixCellPart> {
        let items = node.map(YamlNode::items_or_self).unwrap_or_default();
        let mut cells = Vec::new();
        for item in items {
            let entries = item.entries().iter();
            let values =
                entries.filter_map(|e| Some((key_name(&e.key), self.text(&e.value)?))).collect();
            cells.push(Spanned { value: values, span: item.span.clone() });
        }
        cells
    }

    fn check_axes(&mut self, matrix: &MatrixDecl) {
        let axes: Vec<&str> = matrix.axes.iter().map(|axis| &*axis.name.value).collect();
        let excluded =
            matrix.exclude.iter().flat_map(|cell| cell.value.iter().map(|(name, _)| name));
        for name in excluded.chain(&matrix.route) {
            if !axes.contains(&&*name.value) {
                self.report(not_an_axis(name, &axes));
            }
        }
        for axis in &matrix.axes {
            if axis.values.is_empty() {
                let title = format!("the axis `{}` has no values", axis.name.value);
                self.report(Problem::new(ProblemCode::EmptyMatrix, axis.name.span.clone(), title));
            }
            self.check_values(axis);
        }
    }

    fn check_values(&mut self, axis: &MatrixAxis) {
        let mut seen = std::collections::BTreeMap::new();
        for value in &axis.values {
            let Some(text) = value.template.is_literal() else { continue };
            if let Some(first) = seen.insert(text, value.span.clone()) {
                let title = format!("`{text}` is listed twice in `{}`", axis.name.value);
                let problem = Problem::new(ProblemCode::ValueTwice, value.span.clone(), title)
                    .label("second");
                self.report(
                    problem.also(first, "first").help("two cells would have the same name"),
                );
            }
        }
    }
}

fn not_an_axis(name: &Spanned<String>, axes: &[&str]) -> Problem {
    let title = format!("the matrix has no axis `{}`", name.value);
    let problem = Problem::new(ProblemCode::NotAnAxis, name.span.clone(), title);
    match nearest_name(&name.value, axes.iter().copied()) {
        Some(near) => problem.label(format!("did you mean `{near}`?")),
        None => problem.help(format!("its axes are {}", axes.join(", "))),
    }
}
