//! One option of a step: a flag, a value or a group.

use proc_macro2::Ident;
use syn::ext::IdentExt as _;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Expr, Result, Token, parenthesized};

/// One option: `name`, `name = value`, or `name(…)`.
pub(super) struct StepOption {
    pub(super) name: Ident,
    pub(super) value: StepOptionValue,
}

pub(super) enum StepOptionValue {
    Nothing,
    Value(Box<Expr>),
    Entries(Punctuated<StepOption, Token![,]>),
}

impl Parse for StepOption {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let name = input.call(Ident::parse_any)?;
        if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            return Ok(Self { name, value: StepOptionValue::Value(input.parse()?) });
        }
        if input.peek(syn::token::Paren) {
            let inside;
            parenthesized!(inside in input);
            let entries = Punctuated::parse_terminated(&inside)?;
            return Ok(Self { name, value: StepOptionValue::Entries(entries) });
        }
        Ok(Self { name, value: StepOptionValue::Nothing })
    }
}
