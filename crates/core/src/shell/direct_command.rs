//! Detects commands that need no shell.

/// Keywords and builtins of dash and bash. A program with the same name may behave differently, except `true` and
/// `false`.
const SHELL_WORDS: &[&str] = &[
    ".",
    ":",
    "[",
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "case",
    "cd",
    "chdir",
    "command",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "coproc",
    "declare",
    "dirs",
    "disown",
    "do",
    "done",
    "echo",
    "elif",
    "else",
    "enable",
    "esac",
    "eval",
    "exec",
    "exit",
    "export",
    "fc",
    "fg",
    "fi",
    "for",
    "function",
    "getopts",
    "hash",
    "help",
    "history",
    "if",
    "in",
    "jobs",
    "kill",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "return",
    "select",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "test",
    "then",
    "time",
    "times",
    "trap",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "until",
    "wait",
    "while",
];

/// Returns the arguments of a `run` that is one plain command and can be executed without a shell; `None` if a shell may
/// be needed. Quotes are removed where no shell would interpret their content.
pub fn direct_command(text: &str) -> Option<Vec<String>> {
    let words = words(text.trim_matches([' ', '\t', '\n']))?;
    let command = words.first()?;
    let of_the_shell = SHELL_WORDS.contains(&command.as_str());
    // `a=b` is an assignment, `%1` a job, and no program has an empty name or one that looks like an option.
    let odd = command.is_empty() || command.contains('=') || command.starts_with(['%', '-', '+']);
    (!of_the_shell && !odd).then_some(words)
}

/// Splits a line into words, if every character is literal in all shells.
fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(open), _) if literal_between(open, c) => word.get_or_insert_default().push(c),
            (None, ' ' | '\t') => words.extend(word.take()),
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, _) if plain(c) => word.get_or_insert_default().push(c),
            _ => return None,
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// Whether a character is literal outside quotes, anywhere in a word, in every shell.
fn plain(c: char) -> bool {
    const PLAIN: &str = "_-./,:@+=%^";
    c.is_ascii_alphanumeric() || PLAIN.contains(c) || beyond_ascii(c)
}

/// Whether a character is literal between these quotes.
fn literal_between(quote: char, c: char) -> bool {
    let special = if quote == '"' { "$`\\!" } else { "" };
    (c == ' ' || c.is_ascii_graphic() || beyond_ascii(c)) && !special.contains(c)
}

/// Non-ASCII characters, except whitespace and control characters.
fn beyond_ascii(c: char) -> bool {
    !c.is_ascii() && !c.is_control() && !c.is_whitespace()
}
