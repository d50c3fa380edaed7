//! Steps that compile, and messages about functions that do not.

#[test]
#[ignore = "compiles the crate and its dependencies once more: `./test.sh --deep` runs it"]
fn steps_compile_or_say_why_not() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    cases.compile_fail("tests/ui/fail/*.rs");
}
