//! The fields of events and spans as text.

use std::fmt::{Debug, Write as _};

use tracing::field::{Field, Visit};

/// The message of an event, and its other fields as ` name=value`.
#[derive(Debug, Default)]
pub(crate) struct FieldText {
    pub(crate) message: String,
    pub(crate) fields: String,
}

impl Visit for FieldText {
    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "message" {
            value.clone_into(&mut self.message);
        } else {
            self.record_debug(field, &value);
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let written = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            // `type` can only be a field as `r#type`.
            name => write!(self.fields, " {}={value:?}", name.trim_start_matches("r#")),
        };
        written.expect("a string takes all text");
    }
}
