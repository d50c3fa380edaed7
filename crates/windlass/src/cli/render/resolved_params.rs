//! The parameters of a plan, in the texts of its pipeline.

use serde_json::Value;
use windlass_core::expand::ExpandedPipeline;
use windlass_core::expr::{ExprScope, Expression, Template};
use windlass_core::spec::{SpannedSetting, SpannedTemplate, TemplatedValue};

use super::ordered_document::OrderedDocument;

/// Keys and values in insertion order.
#[derive(Default)]
pub(super) struct DocumentEntries(pub(super) Vec<(String, OrderedDocument)>);

impl DocumentEntries {
    pub(super) fn put(&mut self, key: &str, value: OrderedDocument) {
        self.0.push((key.to_owned(), value));
    }

    pub(super) fn some(&mut self, key: &str, value: Option<OrderedDocument>) {
        self.0.extend(value.map(|value| (key.to_owned(), value)));
    }

    pub(super) fn filled(
        &mut self,
        key: &str,
        entries: impl IntoIterator<Item = (String, OrderedDocument)>,
    ) {
        let entries: Vec<(String, OrderedDocument)> = entries.into_iter().collect();
        if !entries.is_empty() {
            self.put(key, OrderedDocument::Map(entries));
        }
    }
}

/// The params of a plan, to replace their references.
pub(super) struct ResolvedParams(ExprScope);

impl ResolvedParams {
    pub(super) fn new(expanded: &ExpandedPipeline) -> Self {
        let params = expanded.params.clone().into_iter().collect();
        Self(ExprScope::default().with("params", Value::Object(params)))
    }

    /// The template with the params filled in. A template that cannot be rendered was refused at planning.
    pub(super) fn fold(&self, template: &Template) -> String {
        template.substitute_known(&self.0, &["params"]).as_ref().unwrap_or(template).to_string()
    }

    /// The expression with the params filled in.
    pub(super) fn within(&self, expression: &Expression) -> Expression {
        expression.substitute_known(&self.0, &["params"])
    }

    pub(super) fn text(&self, text: &SpannedTemplate) -> OrderedDocument {
        OrderedDocument::Text(self.fold(&text.template))
    }

    pub(super) fn setting<T: ToString>(&self, setting: &SpannedSetting<T>) -> OrderedDocument {
        self.or_later(setting, T::to_string)
    }

    pub(super) fn or_later<T>(
        &self,
        setting: &SpannedSetting<T>,
        written: impl FnOnce(&T) -> String,
    ) -> OrderedDocument {
        match &setting.value {
            TemplatedValue::Literal(value) => OrderedDocument::Text(written(value)),
            TemplatedValue::Template(text) => self.text(text),
        }
    }

    /// A number stays one, unless it depends on the cell.
    pub(super) fn number<T: ToString>(&self, setting: &SpannedSetting<T>) -> OrderedDocument {
        match &setting.value {
            TemplatedValue::Literal(value) => OrderedDocument::bare(value),
            TemplatedValue::Template(text) => {
                let folded = self.fold(&text.template);
                if folded.parse::<i64>().is_ok() {
                    OrderedDocument::Bare(folded)
                } else {
                    OrderedDocument::Text(folded)
                }
            }
        }
    }
}
