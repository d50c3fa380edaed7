//! Commands that need no shell.

use windlass_core::shell::direct_command;

#[test]
fn plain_commands_are_direct() {
    let words =
        |text: &str| direct_command(text).unwrap_or_else(|| panic!("{text:?} wants a shell"));
    assert_eq!(words("cargo test"), ["cargo", "test"]);
    assert_eq!(words("  ./soak.sh\tdist/ \n"), ["./soak.sh", "dist/"]);
    assert_eq!(
        words("cargo clippy -- -D warnings --a=b"),
        ["cargo", "clippy", "--", "-D", "warnings", "--a=b"]
    );
    assert_eq!(words("grep 'a $b' \"c d\" x'y'\"\""), ["grep", "a $b", "c d", "xy"]);
    assert_eq!(words("say '' é \"it's\""), ["say", "", "é", "it's"]);
    assert_eq!(words("env A=b c %s ^x"), ["env", "A=b", "c", "%s", "^x"]);
}

#[test]
fn commands_with_shell_syntax_need_a_shell() {
    for text in [
        "",
        " ",
        "a | b",
        "a && b",
        "a; b",
        "a &",
        "a > b",
        "a < b",
        "(a)",
        "a $b",
        "a `b`",
        "a *.rs",
        "a ?",
        "a [b]",
        "a # b",
        "a ~",
        "a {b,c}",
        "a !b",
        "a\nb",
        "a \\b",
        "a \"$b\"",
        "a \"b`c`\"",
        "a \"b\\\\c\"",
        "a 'b",
        "a \"b",
        "A=b c",
        "A=b",
        "cd x",
        "echo hi",
        "[ -f x ]",
        ". ./x",
        "\"echo\" hi",
        "'' a",
        "exit 3",
        "if x",
        "while x",
        "time x",
        "%1",
        "-x",
        "a \u{a0}b",
        "a \r",
        "a \u{7}",
        "a '\u{7}'",
        "a ${{ b }}",
        "a \"!b\"",
        "a 'b\nc'",
    ] {
        assert_eq!(direct_command(text), None, "{text:?}");
    }
}
