//! The values of expressions, and the errors of invalid ones.

use serde_json::{Value, json};
use windlass_core::expr::{ExprError, ExprScope, Expression};

use crate::all_shown;

fn scope() -> ExprScope {
    ExprScope::default()
        .with(
            "params",
            json!({
                "channel": "beta", "count": "3", "number": 3, "ratio": 1.5, "whole": 2.0, "debug": true,
                "flag": "true", "empty": "", "version": "1.10", "list": ["a", 2, "x y"], "in": "keyword",
            }),
        )
        .with("matrix", json!({"os": "linux", "python": "3.10"}))
        .with("steps", json!({"build-all": {"outputs": {"x-y": "42"}}, "skipped": {"outputs": {}}}))
}

fn evaluate(text: &str) -> Result<Value, ExprError> {
    Expression::parse(text)?.evaluate(&scope())
}

/// Asserts that each of these expressions is true.
fn holds(texts: &[&str]) {
    for text in texts {
        assert_eq!(evaluate(text), Ok(json!(true)), "{text}");
    }
}

#[test]
fn literals_and_paths_have_their_values() {
    let value = |text| evaluate(text).unwrap();
    assert_eq!(value(r#""a'b""#), json!("a'b"));
    assert_eq!(value(r"'C:\new'"), json!("C:\\new"), "a backslash stands for itself");
    assert_eq!(value("-1.5"), json!(-1.5));
    assert_eq!(value("18446744073709551615"), json!(u64::MAX));
    assert_eq!(value("[1, 'a', [true, null],]"), json!([1, "a", [true, null]]));
    assert_eq!(value("steps.build-all.outputs.x-y"), json!("42"));
    assert_eq!(value("params.in"), json!("keyword"), "behind a dot a word is a name");
    assert_eq!(value("steps.skipped.outputs.z"), Value::Null);
    assert_eq!(value("nothing.at.all"), Value::Null);
    assert_eq!(value("params.channel.length"), Value::Null, "texts have no parts");
    assert_eq!(value("default(steps.skipped.outputs.z, 'none')"), json!("none"));
    assert_eq!(value("default(params.empty, 'none')"), json!(""), "an empty text is a value");
}

#[test]
fn equality_is_by_value_and_by_spelling_between_text_and_others() {
    holds(&[
        "params.channel == 'beta'",
        "params.channel != \"Beta\"",
        "params.count == 3 and 3 == params.count",
        "params.number == 3 and params.number == '3'",
        "params.whole == 2 and params.whole == '2'",
        "not (params.version == 1.1)",
        "params.version == '1.10'",
        "'3.0' != 3 and '03' != 3 and ' 3' != 3",
        "params.flag == true and params.debug == 'true'",
        "params.flag != 'True'",
        "steps.skipped.outputs.z == null and params.empty != null",
        "null != false and null != 0 and null != ''",
        "[1, 'a'] == ['1', 'a'] and [1] != [1, 1]",
        "params.channel != 3",
        "9007199254740993 != 9007199254740992",
    ]);
}

#[test]
fn numbers_are_ordered_also_as_text() {
    holds(&[
        "1 < 2 and 2 <= 2 and 3 > 2 and 3 >= 3",
        "params.count < 10",
        "params.count < '10'",
        "params.ratio > 1 and params.ratio < 1.75",
        "-2 < -1 and '-2' < 0",
        "9007199254740992 < 9007199254740993",
    ]);
}

#[test]
fn in_searches_lists_and_texts() {
    holds(&[
        "matrix.os in ['linux', 'macos']",
        "matrix.os not in ['windows']",
        "not matrix.os in ['windows']",
        "'et' in params.channel",
        "'' in params.channel",
        "'2' in params.list and 2 in params.list",
        "'x' not in params.list",
        "null in [null] and params.nothing not in ['a']",
        "3 in [1, params.count]",
        "1 not in []",
    ]);
}

#[test]
fn and_binds_closer_than_or_and_both_stop_early() {
    holds(&[
        "true or false and false",
        "not ((true or false) and false)",
        "not false and true",
        "not not true",
        "true or params.channel",
        "not (false and params.channel < 3)",
        "(params.debug)",
    ]);
}

#[test]
fn operators_of_other_languages_get_a_suggestion() {
    let texts = [
        "a && b",
        "a || b",
        "!a",
        "a = 1",
        "a === 1",
        "a !== 1",
        "a <> 1",
        "a =~ 'x'",
        "a | upper",
        "a & b",
        "${{ a }}",
        "$HOME",
        "{a: 1}",
        "1 + 2",
        "a * 2",
        "a / 2",
        "a -b",
        "a -1",
        "a ? 1 : 2",
        "a == “x”",
        "a == `x`",
        "a; b",
        "a == é",
        "True",
        "a AND b",
        "None == a",
        "a and Not b",
    ];
    insta::assert_snapshot!(all_shown(&texts, Expression::parse), @r#"
    a && b
      ^^
    E101: `&&` has no meaning in an expression
    help: write `and`

    a || b
      ^^
    E101: `||` has no meaning in an expression
    help: write `or`

    !a
    ^
    E101: `!` has no meaning in an expression
    help: write `not`

    a = 1
      ^
    E101: `=` has no meaning in an expression
    help: write `==` to compare

    a === 1
      ^^^
    E101: `===` has no meaning in an expression
    help: write `==`

    a !== 1
      ^^^
    E101: `!==` has no meaning in an expression
    help: write `!=`

    a <> 1
      ^^
    E101: `<>` has no meaning in an expression
    help: write `!=`

    a =~ 'x'
      ^^
    E101: `=~` has no meaning in an expression
    help: there are no patterns; `in` tests whether a string contains another

    a | upper
      ^
    E101: `|` has no meaning in an expression
    help: write `or`; there are no filters

    a & b
      ^
    E101: `&` has no meaning in an expression
    help: write `and`

    ${{ a }}
    ^^^
    E101: `${{` has no meaning in an expression
    help: this is already an expression: remove `${{` and `}}`

    $HOME
    ^
    E101: `$` has no meaning in an expression
    help: expressions cannot read environment variables: declare a param, and read `params.NAME`

    {a: 1}
    ^
    E101: `{` has no meaning in an expression
    help: there are no maps; write a list as ["a", "b"]

    1 + 2
      ^
    E101: `+` has no meaning in an expression
    help: there is no arithmetic: compute the value in a step and read its output

    a * 2
      ^
    E101: `*` has no meaning in an expression
    help: there is no arithmetic: compute the value in a step and read its output

    a / 2
      ^
    E101: `/` has no meaning in an expression
    help: there is no arithmetic: compute the value in a step and read its output

    a -b
      ^
    E101: `-` has no meaning in an expression
    help: there is no arithmetic: compute the value in a step and read its output

    a -1
      ^^
    E101: expected an operator, found `-1`
    help: there is no arithmetic: compute the value in a step and read its output

    a ? 1 : 2
      ^
    E101: `?` has no meaning in an expression
    help: there is no `? :`; `default(value, fallback)` replaces a missing value

    a == “x”
         ^
    E101: `“` has no meaning in an expression
    help: write straight quotes: "text"

    a == `x`
         ^
    E101: ``` has no meaning in an expression
    help: write "text" or 'text'

    a; b
     ^
    E101: `;` has no meaning in an expression

    a == é
         ^
    E101: `é` has no meaning in an expression

    True
    ^^^^
    E101: unknown word `True`
    help: write `true`

    a AND b
      ^^^
    E101: unknown word `AND`
    help: write `and`

    None == a
    ^^^^
    E101: unknown word `None`
    help: write `null`

    a and Not b
          ^^^
    E101: unknown word `Not`
    help: write `not`
    "#);
}

#[test]
fn syntax_errors_are_reported_with_their_position() {
    let long = "a".repeat(5000);
    let deep = "(".repeat(100);
    let texts = [
        "",
        "  ",
        "a ==",
        "(a",
        "a)",
        "[a",
        "[a b]",
        "[,]",
        "a b",
        "a.",
        "a.1",
        "a..b",
        "a[0]",
        "1 < 2 < 3",
        "a == b == c",
        "'abc",
        "a == \"it's",
        "in [1]",
        "not",
        "3.10",
        "007",
        "1e3",
        "1.",
        "0x10",
        "5G",
        "99999999999999999999",
        "a.b()",
        "()",
        "and",
        &deep,
        &long[..5000],
    ];
    let shown = all_shown(&texts, Expression::parse).replace(&"a".repeat(4990), "…a…");
    insta::assert_snapshot!(shown.replace(&"^".repeat(4990), "^^^"), @r#"
    ^
    E101: the expression is empty

      
      ^
    E101: the expression is empty

    a ==
        ^
    E101: a value is missing at the end of the expression

    (a
      ^
    E101: `)` is missing at the end of the expression

    a)
     ^
    E101: `)` has no opening bracket

    [a
      ^
    E101: `,` or `]` is missing at the end of the expression

    [a b]
       ^
    E101: expected `,` or `]`, found `b`

    [,]
     ^
    E101: expected a value, found `,`

    a b
      ^
    E101: expected an operator, found `b`
    help: the operators are: and or not in == != < <= > >=

    a.
    ^^
    E101: a name must follow `a.`
    help: names consist of letters, digits, `_` and `-`, and begin with a letter or `_`

    a.1
    ^^^
    E101: a name must follow `a.`
    help: names consist of letters, digits, `_` and `-`, and begin with a letter or `_`

    a..b
    ^^^
    E101: a name must follow `a.`
    help: names consist of letters, digits, `_` and `-`, and begin with a letter or `_`

    a[0]
     ^
    E101: expected an operator, found `[`
    help: there are no subscripts: join names with dots

    1 < 2 < 3
    ^^^^^^^^^
    E101: comparisons cannot be chained
    help: write 1 < 2 and 2 < 3

    a == b == c
    ^^^^^^^^^^^
    E101: comparisons cannot be chained
    help: write a == b and b == c

    'abc
    ^^^^
    E101: the string that begins here has no closing '

    a == "it's
         ^^^^^
    E101: the string that begins here has no closing "

    in [1]
    ^^
    E101: expected a value, found `in`

    not
       ^
    E101: a value is missing at the end of the expression

    3.10
    ^^^^
    E101: the number `3.10` would become 3.1
    help: write "3.10" to compare strings, or `3.1` to compare numbers

    007
    ^^^
    E101: the number `007` would become 7
    help: write "007" to compare strings, or `7` to compare numbers

    1e3
    ^^^
    E101: `1e3` is not a number
    help: write a number as `12` or `1.5`, or quote a string: "1e3"

    1.
    ^^
    E101: `1.` is not a number
    help: write a number as `12` or `1.5`, or quote a string: "1."

    0x10
    ^^^^
    E101: `0x10` is not a number
    help: write a number as `12` or `1.5`, or quote a string: "0x10"

    5G
    ^^
    E101: `5G` is not a number
    help: write a number as `12` or `1.5`, or quote a string: "5G"

    99999999999999999999
    ^^^^^^^^^^^^^^^^^^^^
    E101: the number `99999999999999999999` is too large
    help: write "99999999999999999999" to compare strings

    a.b()
    ^^^
    E101: there is no function `a.b()`
    help: the functions are default(value, fallback) and, in `if:`, success(), failure() and always()

    ()
     ^
    E101: expected a value, found `)`

    and
    ^^^
    E101: expected a value, found `and`

    ((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((
                                     ^
    E101: the expression is nested more than 32 levels deep

    …a…aaaaaaaaaa
    ^^^^^^^^^^^^^
    E101: the expression has 5000 bytes; at most 4096 are allowed
    help: compute the result in a step and read its output
    "#);
}

#[test]
fn unknown_functions_get_the_nearest_name() {
    let texts = [
        "sucess() == 1",
        "Always()",
        "alway()",
        "defaults(a, b)",
        "contains(a, b)",
        "fromJSON(a)",
        "default(a)",
        "default(a, b, c)",
        "default(a, ",
        "default",
        "always",
        "always(1)",
        "success()",
        "a == 'x' and failure()",
    ];
    insta::assert_snapshot!(all_shown(&texts, Expression::parse), @r#"
    sucess() == 1
    ^^^^^^
    E101: there is no function `sucess()`
    help: did you mean `success()`?

    Always()
    ^^^^^^
    E101: there is no function `Always()`
    help: did you mean `always()`?

    alway()
    ^^^^^
    E101: there is no function `alway()`
    help: did you mean `always()`?

    defaults(a, b)
    ^^^^^^^^
    E101: there is no function `defaults()`
    help: did you mean `default()`?

    contains(a, b)
    ^^^^^^^^
    E101: there is no function `contains()`
    help: the functions are default(value, fallback) and, in `if:`, success(), failure() and always()

    fromJSON(a)
    ^^^^^^^^
    E101: there is no function `fromJSON()`
    help: the functions are default(value, fallback) and, in `if:`, success(), failure() and always()

    default(a)
    ^^^^^^^^^^
    E101: `default` takes two values, not 1
    help: write `default(params.x, "fallback")`

    default(a, b, c)
    ^^^^^^^^^^^^^^^^
    E101: `default` takes two values, not 3
    help: write `default(params.x, "fallback")`

    default(a, 
              ^
    E101: a value is missing at the end of the expression

    default
    ^^^^^^^
    E101: unknown word `default`
    help: write `default(value, fallback)`

    always
    ^^^^^^
    E101: unknown word `always`
    help: write `always()`

    always(1)
    ^^^^^^^^^
    E101: `always` takes no values, not 1
    help: write `always()`

    success()
    ^^^^^^^^^
    E101: `success()` is allowed only in `if:`
    help: it decides when a step runs and has no value

    a == 'x' and failure()
                 ^^^^^^^^^
    E101: `failure()` is allowed only in `if:`
    help: it decides when a step runs and has no value
    "#);
}

#[test]
fn condition_that_is_never_a_boolean_is_refused_at_plan_time() {
    let texts = [
        "params.os == 'linux' or 'macos'",
        "'a' and b",
        "not 'a'",
        "a and [1]",
        "a or default(null, 1)",
        "a and null",
    ];
    insta::assert_snapshot!(all_shown(&texts, Expression::parse), @r#"
    params.os == 'linux' or 'macos'
                            ^^^^^^^
    E088: `'macos'` is not a boolean
    help: to test for one of several values, write params.os in ['linux', 'macos']

    'a' and b
    ^^^
    E088: `'a'` is not a boolean
    help: `and`, `or` and `not` take comparisons, such as params.x == "a"

    not 'a'
        ^^^
    E088: `'a'` is not a boolean
    help: `and`, `or` and `not` take comparisons, such as params.x == "a"

    a and [1]
          ^^^
    E088: `[1]` is not a boolean
    help: `and`, `or` and `not` take comparisons, such as params.x == "a"

    a or default(null, 1)
         ^^^^^^^^^^^^^^^^
    E088: `default(null, 1)` is not a boolean
    help: `and`, `or` and `not` take comparisons, such as params.x == "a"

    a and null
          ^^^^
    E088: `null` is not a boolean
    help: `and`, `or` and `not` take comparisons, such as params.x == "a"
    "#);
}

#[test]
fn values_of_the_wrong_type_are_named_in_the_error() {
    let texts = [
        "params.channel and true",
        "not params.flag",
        "false or steps.skipped.outputs.z",
        "params.number and true",
        "params.channel < 3",
        "3 >= params.version and params.version < steps.skipped.outputs.z",
        "params.list < 3",
        "3 in params.channel",
        "'a' in steps.skipped.outputs.z",
        "'a' in params.number",
    ];
    insta::assert_snapshot!(all_shown(&texts, evaluate), @r#"
    params.channel and true
    ^^^^^^^^^^^^^^
    E088: `params.channel` is the text "beta", not a boolean
    help: compare it, as in params.channel == "true"

    not params.flag
        ^^^^^^^^^^^
    E088: `params.flag` is the text "true", not a boolean
    help: compare it, as in params.flag == "true"

    false or steps.skipped.outputs.z
             ^^^^^^^^^^^^^^^^^^^^^^^
    E088: `steps.skipped.outputs.z` is null, not a boolean
    help: if the value can be missing, write default(steps.skipped.outputs.z, false)

    params.number and true
    ^^^^^^^^^^^^^
    E088: `params.number` is the number 3, not a boolean
    help: compare it, as in params.number == 1

    params.channel < 3
    ^^^^^^^^^^^^^^^^^^
    E104: `<` cannot be used here: `params.channel` is the text "beta"
    help: `<` compares numbers

    3 >= params.version and params.version < steps.skipped.outputs.z
                            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    E104: `<` cannot be used here: `steps.skipped.outputs.z` is null
    help: if the value can be missing, write default(steps.skipped.outputs.z, …)

    params.list < 3
    ^^^^^^^^^^^^^^^
    E104: `<` cannot be used here: `params.list` is a list of 3
    help: `<` compares numbers

    3 in params.channel
    ^^^^^^^^^^^^^^^^^^^
    E104: `in` cannot be used here: `3` is the number 3
    help: only a string can be in a string

    'a' in steps.skipped.outputs.z
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    E104: `in` cannot be used here: `steps.skipped.outputs.z` is null
    help: if the value can be missing, write default(steps.skipped.outputs.z, …)

    'a' in params.number
    ^^^^^^^^^^^^^^^^^^^^
    E104: `in` cannot be used here: `params.number` is the number 3
    help: `in` searches a list or a string
    "#);
}

#[test]
fn work_is_bounded() {
    let many: Vec<u32> = (0..100_000).collect();
    let scope =
        ExprScope::default().with("many", json!(many)).with("text", json!("x".repeat(1 << 20)));
    let evaluate = |text: &str, scope: &ExprScope| Expression::parse(text).unwrap().evaluate(scope);
    assert_eq!(evaluate("99999 in many", &scope), Ok(json!(true)));
    let often = vec!["-1 in many"; 100].join(" or ");
    let error = evaluate(&often, &scope).unwrap_err();
    assert_eq!(error.message, "the expression needs too many comparisons");
    let copies = format!("[{}]", vec!["many"; 400].join(","));
    assert!(evaluate(&copies, &scope).is_err(), "copies cost too");
    let texts = vec!["'y' in text"; 200].join(" or ");
    assert!(evaluate(&texts, &scope).is_err(), "long texts cost too");
    assert!(evaluate("1 == 1", &scope.with_fuel(2)).is_err());
}

#[test]
fn paths_are_found_with_their_places() {
    let text = "  default(steps.a-b.outputs.x, params.y) in [matrix.os] ";
    let expression = Expression::parse(text).unwrap();
    let paths = expression.paths();
    let found: Vec<_> =
        paths.iter().map(|read| (read.path.join("."), &text[read.range.clone()])).collect();
    let whole = ["steps.a-b.outputs.x", "params.y", "matrix.os"];
    assert_eq!(found, whole.map(|path| (path.to_owned(), path)));
    assert_eq!(expression.text(), text.trim());
}

#[test]
fn expression_is_stored_as_its_text() {
    let expression = Expression::parse(" params.x == 'y' ").unwrap();
    let stored = serde_json::to_string(&expression).unwrap();
    assert_eq!(stored, r#""params.x == 'y'""#);
    assert_eq!(serde_json::from_str::<Expression>(&stored).unwrap(), expression);
    assert!(serde_json::from_str::<Expression>("\"a &&\"").is_err());
}
