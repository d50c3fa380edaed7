//! `if:` with status functions and values.

use serde_json::json;
use windlass_core::expr::{ExprScope, IfCondition};
use windlass_core::plan;

use crate::all_shown;

fn parts(text: &str) -> (plan::StatusCondition, Option<String>) {
    let condition = IfCondition::parse(text).expect("a condition that is accepted");
    (condition.status, condition.value.map(|value| value.text().to_owned()))
}

#[test]
fn status_function_may_be_combined_with_values() {
    use plan::StatusCondition::{Always, Failure, Success};
    let value = |text: &str| Some(text.to_owned());
    assert_eq!(parts("success()"), (Success, None));
    assert_eq!(parts(" ( always( ) ) "), (Always, None));
    assert_eq!(parts("params.x == 1"), (Success, value("params.x == 1")));
    assert_eq!(parts("failure() and params.x == 1"), (Failure, value("params.x == 1")));
    assert_eq!(parts("(a or b) and always()"), (Always, value("(a or b)")));
    assert_eq!(parts("always() and (a or b) and c"), (Always, value("(a or b) and c")));
    assert_eq!(parts("a and failure() and b"), (Failure, value("a and               b")));
    assert_eq!(parts("false"), (Success, value("false")));
}

#[test]
fn positions_are_those_of_the_complete_condition() {
    let text = " failure() and steps.a.outputs.b == 'x' and c";
    let value = IfCondition::parse(text).unwrap().value.unwrap();
    let found: Vec<&str> = value.paths().iter().map(|read| &text[read.range.clone()]).collect();
    assert_eq!(found, ["steps.a.outputs.b", "c"]);
    let scope = ExprScope::default().with("c", json!("yes"));
    let scope = scope.with("steps", json!({"a": {"outputs": {"b": "x"}}}));
    assert_eq!(&text[value.evaluate_bool(&scope).unwrap_err().range], "c");
}

#[test]
fn other_forms_show_the_allowed_one() {
    let texts = [
        "failure() or params.x == 1",
        "not failure()",
        "not success()",
        "not always()",
        "!success()",
        "success() or failure()",
        "success() and failure()",
        "always() and failure()",
        "failure() == true",
        "a and not failure()",
        "(failure() or a) and b",
        "default(failure(), true)",
        "!failure()",
        "${{ failure() }}",
        "always",
        "cancelled()",
        "'yes'",
        "failure() and 'yes'",
        "[a]",
        "",
    ];
    insta::assert_snapshot!(all_shown(&texts, IfCondition::parse), @r#"
    failure() or params.x == 1
    ^^^^^^^^^
    E101: `failure()` must stand alone or be joined by `and`
    help: write it as: failure() and params.channel == "stable"

    not failure()
        ^^^^^^^^^
    E101: `not` cannot be applied to a status function
    help: write success(), or no `if:` at all

    not success()
        ^^^^^^^^^
    E101: `not` cannot be applied to a status function
    help: write failure()

    not always()
        ^^^^^^^^
    E101: this condition is never true
    help: write false to switch it off

    !success()
    ^
    E101: `!` has no meaning in an expression
    help: write failure()

    success() or failure()
                 ^^^^^^^^^
    E101: both statuses together are always()
    help: write always()

    success() and failure()
                  ^^^^^^^^^
    E101: a condition can have only one status function
    help: write it as: failure() and params.channel == "stable"

    always() and failure()
                 ^^^^^^^^^
    E101: a condition can have only one status function
    help: write it as: failure() and params.channel == "stable"

    failure() == true
    ^^^^^^^^^
    E101: `failure()` must stand alone or be joined by `and`
    help: write it as: failure() and params.channel == "stable"

    a and not failure()
              ^^^^^^^^^
    E101: `failure()` must stand alone or be joined by `and`
    help: write it as: failure() and params.channel == "stable"

    (failure() or a) and b
     ^^^^^^^^^
    E101: `failure()` must stand alone or be joined by `and`
    help: write it as: failure() and params.channel == "stable"

    default(failure(), true)
            ^^^^^^^^^
    E101: `failure()` must stand alone or be joined by `and`
    help: write it as: failure() and params.channel == "stable"

    !failure()
    ^
    E101: `!` has no meaning in an expression
    help: write success(), or no `if:` at all

    ${{ failure() }}
    ^^^
    E101: `${{` has no meaning in an expression
    help: this is already an expression: remove `${{` and `}}`

    always
    ^^^^^^
    E101: unknown word `always`
    help: write `always()`

    cancelled()
    ^^^^^^^^^
    E101: there is no function `cancelled()`
    help: the functions are default(value, fallback) and, in `if:`, success(), failure() and always()

    'yes'
    ^^^^^
    E088: `'yes'` is not a boolean
    help: compare it, as in params.channel == "stable"

    failure() and 'yes'
                  ^^^^^
    E088: `'yes'` is not a boolean
    help: `and`, `or` and `not` take comparisons, such as params.x == "a"

    [a]
    ^^^
    E088: `[a]` is not a boolean
    help: compare it, as in params.channel == "stable"


    ^
    E101: the expression is empty
    "#);
}

#[test]
fn condition_must_be_a_boolean() {
    let scope =
        ExprScope::default().with("params", json!({"text": "yes", "number": 1, "flag": true}));
    let holds = |text: &str| IfCondition::parse(text)?.value.unwrap().evaluate_bool(&scope);
    assert_eq!(holds("params.flag"), Ok(true));
    let texts = ["params.text", "params.number", "params.nothing", "default(params.nothing, 'no')"];
    insta::assert_snapshot!(all_shown(&texts, holds), @r#"
    params.text
    ^^^^^^^^^^^
    E088: `params.text` is the text "yes", not a boolean
    help: compare it, as in params.text == "true"

    params.number
    ^^^^^^^^^^^^^
    E088: `params.number` is the number 1, not a boolean
    help: compare it, as in params.number == 1

    params.nothing
    ^^^^^^^^^^^^^^
    E088: `params.nothing` is null, not a boolean
    help: if the value can be missing, write default(params.nothing, false)

    default(params.nothing, 'no')
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    E088: `default(params.nothing, 'no')` is the text "no", not a boolean
    help: compare it, as in default(params.nothing, 'no') == "true"
    "#);
}
