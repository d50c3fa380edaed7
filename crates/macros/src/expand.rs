//! Generates a step from a function and its options.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{ItemFn, Result, ReturnType};

use crate::step_function::{StepFunction, StepFunctionParameter, hidden_ident};
use crate::step_options::StepOptions;

/// Generates the step of a function with these options.
pub(crate) fn step(options: TokenStream, function: TokenStream) -> Result<TokenStream> {
    let options: StepOptions = syn::parse2(options)?;
    let function = StepFunction::read(syn::parse2::<ItemFn>(function)?)?;
    let root = options.root.as_ref().map_or_else(|| quote!(::windlass), |root| quote!(#root));
    let sdk = quote!(#root::sdk);
    let name = options.type_name.clone().unwrap_or_else(|| function.type_name());
    let types = types(&function, &name);
    let implementation = implementation(&function, &options, &sdk)?;
    let form = if options.has("matrix") { quote!(Matrix) } else { quote!(Single) };
    Ok(quote! {
        #types

        impl #sdk::Step for #name {
            #implementation
        }

        impl #sdk::#form for #name {}
    })
}

/// The type, its function, and the function that refers to it.
fn types(function: &StepFunction, name: &syn::Ident) -> TokenStream {
    let StepFunction { item, docs, others, .. } = function;
    let ItemFn { vis, sig, block, .. } = item;
    let (named, inputs, output) = (&sig.ident, &sig.inputs, &sig.output);
    let own = format!("The step `{named}`.");
    let docs = if docs.is_empty() { quote!(#[doc = #own]) } else { quote!(#(#docs)*) };
    quote! {
        #docs
        #[derive(Clone, Copy, Debug, Default)]
        #vis struct #name;

        impl #name {
            /// The function of the step, for tests.
            #(#others)*
            #vis async fn call(#inputs) #output #block
        }

        #[doc = #own]
        #vis const fn #named() -> #name {
            #name
        }
    }
}

/// The implementation of the step for the type.
fn implementation(
    function: &StepFunction,
    options: &StepOptions,
    sdk: &TokenStream,
) -> Result<TokenStream> {
    let sig = &function.item.sig;
    let own_name = sig.ident.to_string();
    let name = match &options.name {
        Some(name) => name.value(),
        None => own_name.trim_start_matches("r#").to_owned(),
    };
    let output = match &sig.output {
        ReturnType::Default => quote!(()),
        ReturnType::Type(_, ty) => quote_spanned!(ty.span()=> <#ty as #sdk::Returns>::Output),
    };
    let about =
        function.about().filter(|_| !options.has("about")).map(|about| quote!(.about(#about)));
    let calls = options.calls(sdk)?;
    let (takes, context) = (hidden_ident("takes"), hidden_ident("context"));
    let declared = function.parameters.iter().filter_map(|taken| match taken {
        StepFunctionParameter::Context => None,
        StepFunctionParameter::Value { name, ty } => {
            Some(quote_spanned!(ty.span()=> <#ty as #sdk::Parameter>::takes(#name, #takes);))
        }
    });
    let given = function.parameters.iter().map(|taken| match taken {
        StepFunctionParameter::Context => quote!(#context),
        StepFunctionParameter::Value { name, ty } => {
            quote_spanned!(ty.span()=> <#ty as #sdk::Parameter>::given(#name, #context)?)
        }
    });
    Ok(quote! {
        const NAME: &'static str = #name;
        type Output = #output;

        fn options(&self) -> #sdk::Options {
            #sdk::Options::new()#about #calls
        }

        fn takes(#takes: &mut #sdk::Takes) {
            let _ = &#takes;
            #(#declared)*
        }

        async fn run(&self, #context: &#sdk::Context) -> #sdk::Result<Self::Output> {
            #sdk::Returns::returned(Self::call(#(#given),*).await)
        }
    })
}
