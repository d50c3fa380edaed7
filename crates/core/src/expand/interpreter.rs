//! Builds the command that runs a script in its shell.

/// Known interpreters and their options for a program as an argument. POSIX shells get `-e`, so that a failed command
/// fails the step.
const KNOWN_INTERPRETERS: &[(&[&str], &[&str])] = &[
    (&["sh", "bash", "dash", "ksh", "zsh"], &["-e", "-c"]),
    (&["python", "python3"], &["-c"]),
    (&["node", "perl", "ruby"], &["-e"]),
    (&["pwsh"], &["-NoProfile", "-Command"]),
];

/// Maximum bytes of an argument; Linux allows 128 KiB.
const ARGUMENT_MAX: usize = 128 * 1024 - 1;

/// Returns the command that runs a script. A shell with its own arguments gets only the option for the script.
pub fn interpreter_command(shell: Option<&str>, script: &str) -> Result<Vec<String>, String> {
    if script.len() > ARGUMENT_MAX {
        return Err(format!(
            "the script has {} bytes, but a shell takes at most {ARGUMENT_MAX}: move it into a file",
            script.len()
        ));
    }
    let words: Vec<&str> = shell.unwrap_or("sh").split_whitespace().collect();
    let Some(program) = words.first() else { return Err("the shell has no name".to_owned()) };
    let name = program.rsplit('/').next().unwrap_or(program);
    let known =
        KNOWN_INTERPRETERS.iter().find(|(names, _)| names.contains(&name)).map(|(_, flags)| *flags);
    let flags: &[&str] = match (known, words.len()) {
        (Some(flags), 1) => flags,
        (Some(flags), _) => &flags[flags.len() - 1..],
        (None, _) => &["-c"],
    };
    let command = words.iter().chain(flags).map(|word| (*word).to_owned());
    Ok(command.chain([script.to_owned()]).collect())
}

/// Quotes a command as a line for sh.
pub fn shell_line(argv: &[String]) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:=@%+,".contains(&byte);
    let quote = |word: &String| {
        if !word.is_empty() && word.bytes().all(plain) {
            return word.clone();
        }
        format!("'{}'", word.replace('\'', r"'\''"))
    };
    argv.iter().map(quote).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shell_gets_its_own_options() {
        let command = |shell| interpreter_command(shell, "x").expect("it is short").join(" ");
        assert_eq!(command(None), "sh -e -c x");
        assert_eq!(command(Some("/bin/bash")), "/bin/bash -e -c x");
        assert_eq!(command(Some("bash -euo pipefail")), "bash -euo pipefail -c x");
        assert_eq!(command(Some("python3")), "python3 -c x");
        assert_eq!(command(Some("fish")), "fish -c x");
    }

    #[test]
    fn shell_line_quotes_arguments() {
        let line =
            |argv: &[&str]| shell_line(&argv.iter().map(|&word| word.into()).collect::<Vec<_>>());
        assert_eq!(line(&["make", "-j2", "OUT=a/b.c"]), "make -j2 OUT=a/b.c");
        assert_eq!(line(&["echo", "", "it's $HOME", "a\nb"]), "echo '' 'it'\\''s $HOME' 'a\nb'");
    }
}
