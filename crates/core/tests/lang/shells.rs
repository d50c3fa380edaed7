//! Values in scripts, tested with real shells: dash and bash run the rendered script, and every value arrives as one
//! literal piece.

use std::process::{Command, Stdio};

use windlass_core::shell::{direct_command, parse_script};

use crate::noise::NoiseRng;

/// Ordinary and malicious values of a param.
const VALUES: &[&str] = &[
    "plain",
    "",
    " two  words ",
    "\"; rm -rf ~; $(id)",
    "'; echo pwned; '",
    "`id` $(id) ${HOME} $HOME",
    "\\ \\n \\\\ \\\" \\$",
    "a\nb\n\nc\n",
    "* ? [a-z] ~ {a,b} ~root",
    "-n",
    "--help",
    "é🦀\u{a0}",
    "a[$(id)]",
    "EOF\n`id`\nEOF",
    "# no comment",
    "!x !! ^y",
    ")\" ' ( ;; esac } ]]",
    "%s %d \\c",
    "a=b",
];

/// Scripts with `${{ v }}`, and their output: `{}` is the value.
const SCRIPTS: &[(&str, &str)] = &[
    ("printf '<%s>' ${{ v }}", "<{}>"),
    ("printf '<%s>' \"a ${{ v }} b\"", "<a {} b>"),
    ("printf '<%s>' a${{ v }}b ${{ v }}c --x=${{ v }}", "<a{}b><{}c><--x={}>"),
    ("x=${{ v }}; printf '<%s>' \"$x\"", "<{}>"),
    ("set -- ${{ v }}; printf '<%s>' \"$#\" \"$1\"", "<1><{}>"),
    ("printf '<%s>' \"$(printf '%s.' ${{ v }} \"${{ v }}\")\"", "<{}.{}.>"),
    ("(printf '<%s>' ${{ v }}) | cat", "<{}>"),
    ("f() { printf '<%s>' \"$@\"; }; f ${{ v }} \"${{ v }}\"", "<{}><{}>"),
    ("case ${{ v }} in ${{ v }}) printf yes;; *) printf no;; esac", "yes"),
    ("printf '<%s>' \"$(case a in a) printf '%s.' ${{ v }};; esac)\"", "<{}.>"),
    ("if [ ${{ v }} = \"${{ v }}\" ]; then printf yes; fi", "yes"),
    ("for x in ${{ v }} b; do printf '<%s>' \"$x\"; done", "<{}><b>"),
    ("cat <<EOF\n<${{ v }}> \"${{ v }}\"\nEOF\nprintf .", "<{}> \"{}\"\n."),
    ("cat <<-EOF\n\t<$(printf '%s.' ${{ v }})>\n\tEOF\n", "<{}.>\n"),
    ("cat <<A; cat <<'B'\n${{ v }}.\nA\n$x'\nB\nprintf '<%s>' ${{ v }}", "{}.\n$x'\n<{}>"),
    ("x=$(cat <<A\n)'${{ v }}.\nA\n); printf '<%s>' \"$x\"", "<)'{}.>"),
    ("cat <<A\nx\\\nA\n${{ v }}.\nA\n", "xA\n{}.\n"),
    ("# it's ${{ v\nprintf '<%s>' ${{ v }}", "<{}>"),
    ("printf '<%s>' ${{ v }} \\\n  # don't\nprintf .", "<{}>."),
    ("printf '<%s>' a#b'#'\"#\" ${{ v }} # c'", "<a#b##><{}>"),
    ("printf '<%s>' ${X:-'}'} \"${X:-\"}\"}\" ${{ v }}", "<}><}><{}>"),
    ("printf '<%s>' $((1 + (2 * 3))) ${{ v }}", "<7><{}>"),
    ("printf '<%s>' \"`echo \\\"a b\\\"`\" `echo \"c)\"` ${{ v }}", "<a b><c)><{}>"),
    ("printf '<%s>' \\$${{ v }} \"\\$${{ v }}\" \"\\\\${{ v }}\"", "<${}><${}><\\{}>"),
    ("printf '<%s>' \\${{", "<${{>"),
    ("printf '<%s>' $#${{ v }}${#}", "<0{}0>"),
    ("printf '<%s>' 'a'\"${{ v }}\"'b'", "<a{}b>"),
];

/// The same for bash only.
const BASH_SCRIPTS: &[(&str, &str)] = &[
    ("[[ ${{ v }} == ${{ v }} && ${{ v }} != x${{ v }} ]] && printf yes", "yes"),
    ("a=(${{ v }} b); printf '<%s>' \"${#a[@]}\" \"${a[0]}\"", "<2><{}>"),
    ("cat <<<${{ v }}.", "{}.\n"),
    ("cat <(printf '<%s>' ${{ v }})", "<{}>"),
    ("printf '<%s>' $'a\\tb' $\"c\" ${{ v }}", "<a\tb><c><{}>"),
];

/// Returns the standard output of the shell. It runs with an empty environment, so that it can do no harm.
fn output(shell: &str, text: &str, value: &str) -> String {
    let mut command = Command::new(shell);
    command.arg("-c").arg(text).env_clear().env("W1", value).stdin(Stdio::null());
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", "/nonexistent");
    command.env("LC_ALL", "C.UTF-8").current_dir(env!("CARGO_TARGET_TMPDIR"));
    let output = command.output().expect("the shell was there a moment ago");
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Returns those of these shells that this machine has.
#[expect(clippy::print_stdout, reason = "a shell that was not tried is worth a note")]
fn present(shells: &[&'static str]) -> Vec<&'static str> {
    let present = |shell: &&&str| {
        let found = Command::new(shell).args(["-c", ":"]).status().is_ok();
        if !found {
            println!("note: {shell} is not installed, so it was not tried");
        }
        found
    };
    shells.iter().filter(present).copied().collect()
}

/// Runs a script with every value in every shell.
fn try_out(shells: &[&'static str], (source, printed): (&str, &str)) {
    let script = parse_script(source).unwrap_or_else(|error| panic!("{source}: {error}"));
    for shell in shells {
        for value in VALUES {
            let printed = printed.replace("{}", value);
            assert_eq!(output(shell, &script.text, value), printed, "{shell}: {}", script.text);
        }
    }
}

#[test]
fn value_arrives_as_one_literal_piece() {
    let shells = present(&["sh", "dash", "bash"]);
    for case in SCRIPTS {
        try_out(&shells, *case);
    }
    for case in BASH_SCRIPTS {
        try_out(&present(&["bash"]), *case);
    }
}

/// Constructs around a script; `@` is the depth.
const WRAPPERS: &[&str] = &[
    "(\n{}\n)",
    "printf '%s' \"$( {}\nprintf .)\"",
    "printf '%s' \"a$( {}\nprintf .)b\" 'c'",
    "case x in\n(x) {}\n;;\nesac",
    "if true; then {}\nfi # it's done",
    "{ {}\n}",
    "cat <<END_@\n\"'$( {}\nprintf .)\nEND_@",
    "cat <<-\"END_@\" >/dev/null\n\t$( '\n\tEND_@\n{}",
    "x=$(case y in x) ;; y) {}\n;; esac\nprintf .); printf '%s' \"$x\"",
];

/// The expected output comes from the shell itself, with a value that needs no quotes. Bash 5.2 fails with some of
/// these nestings, and then it must fail in the same way.
#[test]
fn nesting_does_not_change_a_value() {
    let value = "\"; rm -rf ~; $(id) '\\";
    let (mut right, shells) = (0, present(&["dash", "bash"]));
    for seed in 0..200 {
        let mut noise = NoiseRng(seed);
        let mut source = "printf '<%s>' ${{ v }}\"${{ v }}\"".to_owned();
        for depth in 0..=noise.next(4) {
            let around = WRAPPERS[noise.next(WRAPPERS.len())].replace('@', &depth.to_string());
            source = around.replacen("{}", &source, 1);
        }
        let text = parse_script(&source).unwrap_or_else(|error| panic!("{source}\n{error:?}")).text;
        for shell in &shells {
            let wanted = output(shell, &source.replace("${{ v }}", "VALUE"), "");
            let seen = output(shell, &text, value);
            assert_eq!(seen, wanted.replace("VALUE", value), "{shell}: {text}");
            right += usize::from(seen.contains(value));
        }
    }
    assert!(right > 180 * shells.len(), "only {right} scripts printed the value");
}

#[test]
fn noise_around_a_value_never_executes_it() {
    let shells = present(&["dash", "bash"]);
    let mut tried = 0;
    for seed in 0..20_000 {
        let text = NoiseRng(seed).text();
        let Ok(script) = parse_script(&text) else { continue };
        // An argument cannot contain a NUL.
        if script.vars.is_empty() || text.contains('\0') || tried >= 300 {
            continue;
        }
        tried += 1;
        for shell in &shells {
            let seen =
                output(shell, &script.text, "`echo RAN$((1))`\"$(echo RAN$((1)))\";echo RAN$((1))");
            assert!(!seen.contains("RAN1"), "{shell}: {:?} printed {seen}", script.text);
        }
    }
    assert!(tried > 100, "only {tried} scripts were tried");
}

#[test]
fn direct_command_has_the_words_of_a_shell() {
    const PARTS: &[&str] = &[
        "a", "-b", " ", " ", "'", "'", "\"", "\"", "=", "%", "é", "./x", ",", "@", "^", "$", "*",
        "\\",
    ];
    let shells = present(&["dash", "bash"]);
    let mut tried = 0;
    for seed in 0..3_000 {
        let mut noise = NoiseRng(seed);
        let text: String = (0..=noise.next(10)).map(|_| PARTS[noise.next(PARTS.len())]).collect();
        let Some(words) = direct_command(&text) else { continue };
        tried += 1;
        let printed = format!("<{}>", words.join("><"));
        for shell in &shells {
            let seen = output(shell, &format!("printf '<%s>' {text}"), "");
            assert_eq!(seen, printed, "{shell}: {text}");
        }
    }
    assert!(tried > 100, "only {tried} commands were tried");
}
