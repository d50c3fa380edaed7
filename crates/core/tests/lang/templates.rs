//! Strings that contain `${{ }}`.

use serde_json::json;
use windlass_core::expr::{ExprScope, Template};

use crate::all_shown;

fn scope() -> ExprScope {
    let params =
        json!({"x": "X", "n": 2.0, "flag": false, "list": ["a", 1], "sly": "${{ params.x }}"});
    ExprScope::default().with("params", params).with("steps", json!({"s": {"outputs": {}}}))
}

fn render(text: &str) -> String {
    let template = Template::parse(text).expect("a template that is accepted");
    template.render(&scope()).expect("its values exist")
}

#[test]
fn values_replace_expressions() {
    assert_eq!(render("a ${{ params.x }}${{params.n}} {{ b }} $x $ {"), "a X2 {{ b }} $x $ {");
    assert_eq!(render("${{ params.flag }} ${{ params.list }}"), r#"false ["a",1]"#);
    assert_eq!(render("$${{ params.x }}}"), "$X}");
    assert_eq!(render("${{ params.x == '}}' }}"), "false", "braces in texts do not count");
    assert_eq!(render("${{\n params.x\n}}"), "X");
    assert_eq!(render("${{ \"${{\" }} }}"), "${{ }}");
}

#[test]
fn string_without_expressions_is_unchanged() {
    for text in ["", "plain", "$ {{ x }}", "é ${x}"] {
        assert_eq!(Template::parse(text).unwrap().is_literal(), Some(text));
        assert_eq!(serde_json::to_value(Template::parse(text).unwrap()).unwrap(), json!(text));
    }
    assert_eq!(Template::parse("a${{ 'b' }}${{ 1 }}").unwrap().is_literal(), Some("ab1"));
    assert_eq!(Template::parse("${{ params.x }}").unwrap().is_literal(), None);
}

#[test]
fn known_values_are_substituted_early() {
    let template =
        Template::parse("${{ params.x }}-${{ 1 < 2 }}-${{ steps.s.outputs.v }}").unwrap();
    let partial = template.substitute_known(&scope(), &["params"]).unwrap();
    assert_eq!(partial.to_string(), "X-true-${{ steps.s.outputs.v }}");
    let roots: Vec<_> = partial.paths().into_iter().map(|read| read.path[0].clone()).collect();
    assert_eq!(roots, ["steps"]);
}

#[test]
fn value_that_looks_like_an_expression_stays_a_value() {
    let partial = Template::parse("<${{ params.sly }}>${{ steps.s }}").unwrap();
    let partial = partial.substitute_known(&scope(), &["params"]).unwrap();
    let stored = serde_json::to_string(&partial).unwrap();
    let again: Template = serde_json::from_str(&stored).unwrap();
    assert_eq!(again, partial);
    assert_eq!(again.paths().len(), 1, "only steps.s is read");
    assert!(again.render(&scope()).unwrap().starts_with("<${{ params.x }}>"));
}

#[test]
fn invalid_templates_are_reported_with_their_position() {
    let texts = [
        "a ${{ params.x",
        "a ${{ params.x == 'it }} b",
        "a ${{ }} b",
        "é ${{ params.x && y }}",
        "${{ success() }}",
        "${{ params.x | upper }}",
    ];
    insta::assert_snapshot!(all_shown(&texts, Template::parse), @r#"
    a ${{ params.x
      ^^^
    E101: `${{` has no `}}`
    help: write ${{ params.x }}

    a ${{ params.x == 'it }} b
      ^^^
    E101: `${{` has no `}}`
    help: a quote after it is unclosed too

    a ${{ }} b
      ^^^^^^
    E101: the braces contain no expression
    help: write ${{ params.x }}; for the literal braces write ${{ "${{ }}" }}

    é ${{ params.x && y }}
                   ^^
    E101: `&&` has no meaning in an expression
    help: write `and`

    ${{ success() }}
        ^^^^^^^^^
    E101: `success()` is allowed only in `if:`
    help: it decides when a step runs and has no value

    ${{ params.x | upper }}
                 ^
    E101: `|` has no meaning in an expression
    help: write `or`; there are no filters
    "#);
}

#[test]
fn null_in_a_string_names_the_path() {
    let render = |text: &str| Template::parse(text)?.render(&scope());
    let texts = [
        "v${{ steps.s.outputs.version }}",
        "é ${{ params.y }}",
        "${{ null }}",
        "${{ default(params.y, params.z) }}",
    ];
    insta::assert_snapshot!(all_shown(&texts, render), @r#"
    v${{ steps.s.outputs.version }}
         ^^^^^^^^^^^^^^^^^^^^^^^
    E104: `steps.s.outputs.version` has no value, and a string requires one
    help: a skipped step has no outputs: write default(steps.s.outputs.version, "…")

    é ${{ params.y }}
          ^^^^^^^^
    E104: `params.y` has no value, and a string requires one
    help: write default(params.y, "…")

    ${{ null }}
        ^^^^
    E104: `null` has no value, and a string requires one

    ${{ default(params.y, params.z) }}
        ^^^^^^^^^^^^^^^^^^^^^^^^^^^
    E104: `params.y` and `params.z` have no value, and a string requires one
    help: write default(params.y, "…")
    "#);
}

#[test]
fn size_of_a_string_is_bounded() {
    let scope = ExprScope::default().with("params", json!({"x": "x".repeat(600_000)}));
    let template = Template::parse("${{ params.x }}${{ params.x }}").unwrap();
    let error = template.render(&scope).unwrap_err();
    assert_eq!(error.range, 19..27);
}
