//! The options of `#[step(…)]`.

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens as _, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{Error, Expr, ExprArray, LitStr, Path, Result, Token};

use super::step_option::{StepOption, StepOptionValue};
use crate::nearest::nearest_word;

/// Options with a value.
const VALUE_OPTIONS: &[&str] = &[
    "about",
    "timeout",
    "dir",
    "wait_for_worker",
    "wait_for_lock",
    "kill_grace",
    "idempotent",
    "priority",
    "per_worker",
    "when",
    "retry",
    "matrix",
];
/// Options with one value or several.
const LIST_OPTIONS: &[&str] = &["requires", "prefers", "tags", "secrets", "nodes", "not_on"];
/// Options without a value.
const FLAG_OPTIONS: &[&str] =
    &["ignore_failure", "always", "on_failure", "pin", "stop_on_lost_contact"];
/// Options with a syntax of their own.
const SPECIAL_OPTIONS: &[&str] = &["name", "type", "crate", "lock", "after", "env", "with"];
/// The options in `retry(…)`.
const RETRY_OPTIONS: &[&str] = &["times", "wait", "on", "when", "elsewhere", "lost"];

/// All options of a step.
#[derive(Default)]
pub(crate) struct StepOptions {
    pub(crate) name: Option<LitStr>,
    pub(crate) type_name: Option<Ident>,
    pub(crate) root: Option<Path>,
    entries: Vec<StepOption>,
}

impl Parse for StepOptions {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut options = Self::default();
        for entry in Punctuated::<StepOption, Token![,]>::parse_terminated(input)? {
            options.take(entry)?;
        }
        Ok(options)
    }
}

impl StepOptions {
    fn take(&mut self, entry: StepOption) -> Result<()> {
        let name = entry.name.to_string();
        match (&*name, &entry.value) {
            ("name", StepOptionValue::Value(value)) => self.name = Some(parsed(value)?),
            ("type", StepOptionValue::Value(value)) => self.type_name = Some(parsed(value)?),
            ("crate", StepOptionValue::Value(value)) => self.root = Some(parsed(value)?),
            _ => self.entries.push(entry),
        }
        Ok(())
    }

    /// Whether an option is set.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.entries.iter().any(|entry| entry.name == name)
    }

    /// The method calls that set the options, to follow `Options::new()`.
    pub(crate) fn calls(&self, sdk: &TokenStream) -> Result<TokenStream> {
        self.entries.iter().map(|entry| call(entry, sdk)).collect()
    }
}

fn parsed<T: Parse>(value: &Expr) -> Result<T> {
    syn::parse2(value.to_token_stream())
}

pub(super) fn call(entry: &StepOption, sdk: &TokenStream) -> Result<TokenStream> {
    let name = &entry.name;
    let text = name.to_string();
    match (&*text, &entry.value) {
        ("retry", StepOptionValue::Entries(entries)) => retry(entries, sdk),
        ("matrix", StepOptionValue::Entries(entries)) => name_value_calls(
            entries,
            |axis, value| quote_spanned!(value.span()=> .axis(#axis, #value)),
        ),
        ("env", StepOptionValue::Entries(entries)) => name_value_calls(
            entries,
            |key, value| quote_spanned!(value.span()=> .env(#key, #value)),
        ),
        ("with", StepOptionValue::Entries(entries)) => name_value_calls(
            entries,
            |key, value| quote_spanned!(value.span()=> .with(#key, #value)),
        ),
        ("lock", StepOptionValue::Value(value)) => {
            Ok(each_value(value).map(|lock| quote_spanned!(lock.span()=> .lock(#lock))).collect())
        }
        ("lock", StepOptionValue::Entries(entries)) => lock(name, entries),
        ("after", StepOptionValue::Value(value)) => {
            Ok(each_value(value).map(|step| after(step, sdk)).collect())
        }
        (text, StepOptionValue::Value(value)) if VALUE_OPTIONS.contains(&text) => {
            Ok(quote_spanned!(value.span()=> .#name(#value)))
        }
        (text, StepOptionValue::Value(value)) if LIST_OPTIONS.contains(&text) => {
            let items = each_value(value);
            Ok(quote_spanned!(value.span()=> .#name([#(#items),*])))
        }
        (text, StepOptionValue::Nothing) if FLAG_OPTIONS.contains(&text) => {
            Ok(quote_spanned!(name.span()=> .#name()))
        }
        (text, _) => Err(invalid_option(name, text)),
    }
}

/// The error for an invalid option.
fn invalid_option(name: &Ident, text: &str) -> Error {
    let all = [VALUE_OPTIONS, LIST_OPTIONS, FLAG_OPTIONS, SPECIAL_OPTIONS].concat();
    let what = if FLAG_OPTIONS.contains(&text) {
        format!("`{text}` has no value: write it alone")
    } else if ["env", "with"].contains(&text) {
        format!("write `{text}(NAME = \"value\")`")
    } else if all.contains(&text) {
        format!("`{text}` takes a value: write `{text} = …`")
    } else {
        match nearest_word(text, &all) {
            Some(near) => format!("`{text}` is no option of a step; did you mean `{near}`?"),
            None => format!("`{text}` is no option of a step; there are {}", all.join(", ")),
        }
    };
    Error::new(name.span(), what)
}

/// A single value, or the values of a list.
fn each_value(value: &Expr) -> impl Iterator<Item = &Expr> {
    let (one, many) = match value {
        Expr::Array(ExprArray { elems, .. }) => (None, Some(elems.iter())),
        one => (Some(one), None),
    };
    one.into_iter().chain(many.into_iter().flatten())
}

/// A need without a result: its type, or its name.
fn after(step: &Expr, sdk: &TokenStream) -> TokenStream {
    match step {
        Expr::Path(path) => {
            quote_spanned!(step.span()=> .after(<#path as #sdk::Step>::NAME))
        }
        name => quote_spanned!(step.span()=> .after(#name)),
    }
}

/// A method call for each `NAME = value`.
fn name_value_calls(
    entries: &Punctuated<StepOption, Token![,]>,
    call: impl Fn(String, &Expr) -> TokenStream,
) -> Result<TokenStream> {
    let pair = |entry: &StepOption| match &entry.value {
        StepOptionValue::Value(value) => Ok(call(entry.name.unraw().to_string(), value)),
        StepOptionValue::Nothing | StepOptionValue::Entries(_) => {
            Err(Error::new(entry.name.span(), format!("write `{} = …`", entry.name)))
        }
    };
    entries.iter().map(pair).collect()
}

fn lock(name: &Ident, entries: &Punctuated<StepOption, Token![,]>) -> Result<TokenStream> {
    let value = |key: &str| {
        entries.iter().find_map(|entry| match &entry.value {
            StepOptionValue::Value(value) if entry.name == key => Some(value),
            _ => None,
        })
    };
    match (value("name"), value("order")) {
        (Some(lock), Some(order)) if entries.len() == 2 => {
            Ok(quote_spanned!(lock.span()=> .lock_in_order(#lock, #order)))
        }
        _ => Err(Error::new(
            name.span(),
            "write `lock = \"name\"`, or `lock(name = \"name\", order = \"newest-first\")`",
        )),
    }
}

fn retry(entries: &Punctuated<StepOption, Token![,]>, sdk: &TokenStream) -> Result<TokenStream> {
    let mut times = quote!(0);
    let mut calls = TokenStream::new();
    for StepOption { name, value } in entries {
        let text = name.to_string();
        match (&*text, value) {
            ("times", StepOptionValue::Value(value)) => times = value.to_token_stream(),
            ("on", StepOptionValue::Value(value)) => {
                let items = each_value(value);
                calls.extend(quote_spanned!(value.span()=> .on([#(#items),*])));
            }
            ("wait" | "when" | "lost", StepOptionValue::Value(value)) => {
                calls.extend(quote_spanned!(value.span()=> .#name(#value)));
            }
            ("elsewhere", StepOptionValue::Nothing) => calls.extend(quote!(.elsewhere())),
            _ => {
                let near = nearest_word(&text, RETRY_OPTIONS).filter(|near| *near != text);
                let what = match near {
                    Some(near) => format!("`{text}` is no part of `retry`; did you mean `{near}`?"),
                    None => format!("`retry` has {}", RETRY_OPTIONS.join(", ")),
                };
                return Err(Error::new(name.span(), what));
            }
        }
    }
    Ok(quote!(.retry(#sdk::Retries::times(#times)#calls)))
}
