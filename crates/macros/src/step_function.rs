//! The function of a step.

use proc_macro2::{Ident, Span};
use syn::spanned::Spanned as _;
use syn::{Attribute, Error, Expr, ExprLit, FnArg, ItemFn, Lit, Meta, Pat, Result, Type};

/// A function that can be a step.
pub(crate) struct StepFunction {
    pub(crate) item: ItemFn,
    pub(crate) docs: Vec<Attribute>,
    pub(crate) others: Vec<Attribute>,
    pub(crate) parameters: Vec<StepFunctionParameter>,
}

/// A parameter.
pub(crate) enum StepFunctionParameter {
    /// `ctx: &Context`
    Context,
    /// Anything else, by name and type.
    Value { name: String, ty: Box<Type> },
}

impl StepFunction {
    /// Refuses a function that cannot be a step.
    pub(crate) fn read(mut item: ItemFn) -> Result<Self> {
        if item.sig.asyncness.is_none() {
            let what = "a step is an async function: write `async fn`";
            return Err(Error::new(item.sig.fn_token.span(), what));
        }
        if !item.sig.generics.params.is_empty() {
            let what = "a step has no generics: each step of a pipeline has its own types";
            return Err(Error::new(item.sig.generics.span(), what));
        }
        let parameters =
            item.sig.inputs.iter().map(step_function_parameter).collect::<Result<_>>()?;
        let (docs, others) =
            item.attrs.drain(..).partition(|attribute| attribute.path().is_ident("doc"));
        Ok(Self { item, docs, others, parameters })
    }

    /// The name of the step's type: `BuildImage` for `build_image`.
    pub(crate) fn type_name(&self) -> Ident {
        let name = self.item.sig.ident.to_string();
        let words = name.trim_start_matches("r#").split('_');
        let camel: String = words.map(capitalised).collect();
        Ident::new(&camel, self.item.sig.ident.span())
    }

    /// The first paragraph of its documentation, on one line.
    pub(crate) fn about(&self) -> Option<String> {
        let lines = self.docs.iter().filter_map(doc_line);
        let first: Vec<String> = lines
            .map(|line| line.trim().to_owned())
            .skip_while(String::is_empty)
            .take_while(|line| !line.is_empty())
            .collect();
        (!first.is_empty()).then(|| first.join(" ").trim_end_matches('.').to_owned())
    }
}

fn step_function_parameter(argument: &FnArg) -> Result<StepFunctionParameter> {
    let FnArg::Typed(typed) = argument else {
        let what = "a step is a free function, without `self`";
        return Err(Error::new(argument.span(), what));
    };
    if matches!(&*typed.ty, Type::Reference(_)) {
        return Ok(StepFunctionParameter::Context);
    }
    let name = match &*typed.pat {
        Pat::Ident(pattern) => pattern.ident.to_string(),
        Pat::Wild(_) => String::new(),
        other => {
            return Err(Error::new(other.span(), "a parameter of a step needs a name"));
        }
    };
    let name = name.trim_start_matches("r#").trim_start_matches('_').to_owned();
    Ok(StepFunctionParameter::Value { name, ty: typed.ty.clone() })
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    first + letters.as_str()
}

fn doc_line(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(meta) = &attribute.meta else { return None };
    match &meta.value {
        Expr::Lit(ExprLit { lit: Lit::Str(line), .. }) => Some(line.value()),
        _ => None,
    }
}

/// A name that does not collide with names of users.
pub(crate) fn hidden_ident(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}
