//! The name of a cell, which contains its values.
//!
//! `test[linux,sqlite]`: the values in axis order, then the values added by `include` as `key=value`. An ambiguous value is
//! written as JSON. So a plan of a million cells stores each value once, and a worker needs only the name.

use std::fmt::Write;

use crate::display_text::is_unsafe_to_display;

/// Whether a value is written unquoted. Values with `=` are quoted, so that they are not read as `key=value`.
fn is_bare(value: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.:/@+ -".contains(c);
    !value.is_empty() && value.chars().all(plain) && value.trim() == value
}

/// Returns the text between the brackets: the values in axis order, then the added values.
pub fn cell_name<'a>(
    values: impl IntoIterator<Item = &'a str>,
    added: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> String {
    let mut name = String::new();
    for value in values {
        separate(&mut name);
        push(&mut name, value);
    }
    for (key, value) in added {
        separate(&mut name);
        name.push_str(key);
        name.push('=');
        push(&mut name, value);
    }
    name
}

fn separate(name: &mut String) {
    if !name.is_empty() {
        name.push(',');
    }
}

fn push(name: &mut String, value: &str) {
    if is_bare(value) {
        name.push_str(value);
        return;
    }
    name.push('"');
    for c in value.chars() {
        match c {
            '"' | '\\' => name.extend(['\\', c]),
            c if is_unsafe_to_display(c) => {
                let _ = write!(name, "\\u{:04x}", u32::from(c));
            }
            c => name.push(c),
        }
    }
    name.push('"');
}

/// Returns the values in a cell's name (`test[linux,sqlite]`) with their axes or keys. Empty for a step that is not a cell,
/// and for a name that [`cell_name`] did not create for these axes.
pub fn cell_values(name: &str, axes: &[String]) -> Vec<(String, String)> {
    let inside = name.split_once('[').and_then(|(_, rest)| rest.strip_suffix(']'));
    inside.and_then(|text| read(text, axes)).unwrap_or_default()
}

fn read(inside: &str, axes: &[String]) -> Option<Vec<(String, String)>> {
    let mut left = axes.iter();
    let mut values = Vec::new();
    for part in parts(inside) {
        match (left.next(), part.split_once('=')) {
            (Some(name), _) => values.push((name.clone(), unquoted(part)?)),
            (None, Some((key, value))) => values.push((key.to_owned(), unquoted(value)?)),
            (None, None) => return None,
        }
    }
    left.next().is_none().then_some(values)
}

/// Splits at commas outside quotes.
fn parts(inside: &str) -> Vec<&str> {
    let mut quoted = false;
    let mut escaped = false;
    let split = inside.split(|c: char| {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ => {}
        }
        c == ',' && !quoted
    });
    split.collect()
}

fn unquoted(value: &str) -> Option<String> {
    if value.starts_with('"') { serde_json::from_str(value).ok() } else { Some(value.to_owned()) }
}
