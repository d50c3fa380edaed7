//! Commands that need no shell.

/// Words that the shell itself answers, in dash or in bash. A program of the same name may exist and differ; `true` and
/// `false` cannot.
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

/// The arguments of a `run` that is one plain command, so that it can be executed without a shell; `None` if a shell is
/// needed, or might be. Quotes are taken off where their content has no meaning to any shell.
pub fn direct_command(text: &str) -> Option<Vec<String>> {
    let words = words(text.trim_matches([' ', '\t', '\n']))?;
    let command = words.first()?;
    let of_the_shell = SHELL_WORDS.contains(&command.as_str());
    // `a=b` is an assignment, `%1` a job, and no program has an empty name or one that looks like an option.
    let odd = command.is_empty() || command.contains('=') || command.starts_with(['%', '-', '+']);
    (!of_the_shell && !odd).then_some(words)
}

/// The words of a line, if each character is plain or between quotes and plain there.
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

/// Whether a character stands for itself outside quotes, at any place of a word, in every shell.
fn plain(c: char) -> bool {
    const PLAIN: &str = "_-./,:@+=%^";
    c.is_ascii_alphanumeric() || PLAIN.contains(c) || beyond_ascii(c)
}

/// Whether a character stands for itself between these quotes.
fn literal_between(quote: char, c: char) -> bool {
    let special = if quote == '"' { "$`\\!" } else { "" };
    (c == ' ' || c.is_ascii_graphic() || beyond_ascii(c)) && !special.contains(c)
}

/// Letters of other alphabets, but no blanks or controls of theirs.
fn beyond_ascii(c: char) -> bool {
    !c.is_ascii() && !c.is_control() && !c.is_whitespace()
}
