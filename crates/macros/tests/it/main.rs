//! What compiles, and what is told about what does not.

#[test]
fn steps_compile_or_say_why_not() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/pass/*.rs");
    cases.compile_fail("tests/ui/fail/*.rs");
}
