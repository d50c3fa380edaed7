//! How a script is handed to its shell.

/// Interpreters that take a program as an argument, and how. POSIX shells stop at the first command that fails: a step
/// that goes on after one would hide it.
const KNOWN_INTERPRETERS: &[(&[&str], &[&str])] = &[
    (&["sh", "bash", "dash", "ksh", "zsh"], &["-e", "-c"]),
    (&["python", "python3"], &["-c"]),
    (&["node", "perl", "ruby"], &["-e"]),
    (&["pwsh"], &["-NoProfile", "-Command"]),
];

/// The longest argument that a system takes; Linux has 128 KiB.
const ARGUMENT_MAX: usize = 128 * 1024 - 1;

/// The command that runs a script. A shell with arguments of its own gets only what makes it read the script.
pub fn interpreter_command(shell: Option<&str>, script: &str) -> Result<Vec<String>, String> {
    if script.len() > ARGUMENT_MAX {
        return Err(format!(
            "its script has {} bytes, and {ARGUMENT_MAX} can be handed to a shell: keep it in a file",
            script.len()
        ));
    }
    let words: Vec<&str> = shell.unwrap_or("sh").split_whitespace().collect();
    let Some(program) = words.first() else { return Err("its shell has no name".to_owned()) };
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

/// A command as a line for sh.
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
    fn a_shell_gets_the_script_in_its_own_way() {
        let told = |shell| interpreter_command(shell, "x").expect("it is short").join(" ");
        assert_eq!(told(None), "sh -e -c x");
        assert_eq!(told(Some("/bin/bash")), "/bin/bash -e -c x");
        assert_eq!(told(Some("bash -euo pipefail")), "bash -euo pipefail -c x");
        assert_eq!(told(Some("python3")), "python3 -c x");
        assert_eq!(told(Some("fish")), "fish -c x");
    }

    #[test]
    fn a_line_for_sh_means_what_the_command_means() {
        let line =
            |argv: &[&str]| shell_line(&argv.iter().map(|&word| word.into()).collect::<Vec<_>>());
        assert_eq!(line(&["make", "-j2", "OUT=a/b.c"]), "make -j2 OUT=a/b.c");
        assert_eq!(line(&["echo", "", "it's $HOME", "a\nb"]), "echo '' 'it'\\''s $HOME' 'a\nb'");
    }
}
