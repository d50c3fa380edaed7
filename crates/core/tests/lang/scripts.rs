//! `${{ }}` in scripts: the text that replaces it, and the places where it is refused.

use windlass_core::shell::parse_script;

use crate::all_shown;

fn text(source: &str) -> String {
    parse_script(source).expect("a script that is accepted").text
}

#[test]
fn reference_is_quoted_once() {
    assert_eq!(text("echo ${{ a }}"), r#"echo "${W1}""#);
    assert_eq!(text("echo \"<${{ a }}>\""), r#"echo "<${W1}>""#);
    assert_eq!(text("x=${{ a }} --y=${{ b }}z"), r#"x="${W1}" --y="${W2}"z"#);
    assert_eq!(text("\"$(echo ${{ a }} \"${{ a }}\")\""), r#""$(echo "${W1}" "${W1}")""#);
    assert_eq!(text("(cd ${{ a }}; ls)"), r#"(cd "${W1}"; ls)"#);
    assert_eq!(text("echo $#${{ a }} $$ ${#x}${{ a }}"), r#"echo $#"${W1}" $$ ${#x}"${W1}""#);
}

#[test]
fn equal_expressions_share_a_variable_and_taken_names_are_left_alone() {
    let script = parse_script("W2=1 ${{ a.b }} \"${{a.b}}\" ${{ c }} $W1 xW3").unwrap();
    let vars: Vec<_> = script.vars.iter().map(|(name, value)| (&**name, value.text())).collect();
    assert_eq!(vars, [("W3", "a.b"), ("W4", "c")]);
    assert_eq!(script.text, r#"W2=1 "${W3}" "${W3}" "${W4}" $W1 xW3"#);
    let stored = serde_json::to_string(&script).unwrap();
    assert_eq!(serde_json::from_str::<windlass_core::shell::ShellScript>(&stored).unwrap(), script);
}

#[test]
fn text_that_is_no_expression_to_a_shell_is_unchanged() {
    for source in [
        "echo hi",
        "# a comment with ${{ broken\necho",
        "echo \\${{ a }}",
        "echo x \\\n# it's ${{ a }}\n",
        "if true; then # don't ${{ a }}\n:; fi",
    ] {
        assert_eq!(text(source), source);
    }
}

#[test]
fn here_documents_are_read_like_sh_does() {
    let source =
        "cat <<EOF; echo ${{ a }}\n\"${{ a }}\" 'it' $(echo ${{ a }})\nEOF\necho ${{ a }}\n";
    let wanted =
        "cat <<EOF; echo \"${W1}\"\n\"${W1}\" 'it' $(echo \"${W1}\")\nEOF\necho \"${W1}\"\n";
    assert_eq!(text(source), wanted);
    let source = "cat <<-A <<'B'\n\tdon't\n\tA\nit's $x `\nB\necho ${{ a }}";
    assert!(text(source).ends_with("B\necho \"${W1}\""));
    let source = "cat <<A\nx\\\nA\n'${{ a }}'\nA\n";
    assert_eq!(text(source), "cat <<A\nx\\\nA\n'${W1}'\nA\n", "a joined line is no end");
    let source = "x=$(cat <<A\n)'\nA\n)${{ a }}";
    assert_eq!(text(source), "x=$(cat <<A\n)'\nA\n)\"${W1}\"");
    assert_eq!(text("cat <<<${{ a }}"), "cat <<<\"${W1}\"");
}

#[test]
fn brackets_of_case_do_not_close_others() {
    let source = "x=\"$(case a in a) echo ${{ a }};; (b) case c in c) ;; esac;; esac)\" ${{ a }}";
    assert_eq!(text(source), source.replace("${{ a }}", "\"${W1}\""));
    let source = "x=$(echo case) y=${{ a }}";
    assert_eq!(text(source), "x=$(echo case) y=\"${W1}\"");
    let source = "case ${{ a }} in ${{ b }}) ;; esac";
    assert_eq!(text(source), "case \"${W1}\" in \"${W2}\") ;; esac");
}

#[test]
fn refusals_contain_the_reason_and_a_correction() {
    let texts = [
        "echo 'a ${{ params.my-x }} b'",
        "awk '{ print \"${{ params.x == \"y\" }}\" }'",
        "echo $'a ${{ params.x }}'",
        "cat <<'EOF'\nhi ${{ params.x }}\nEOF",
        "cat <<\\EOF\nhi ${{ 'x' }}\nEOF",
        "cat <<${{ params.x }}",
        "echo `echo ${{ params.x }}`",
        "echo ${X:-${{ params.x }}}",
        "echo \"${X:-\"${{ params.x }}\"}\"",
        "echo $((1 + ${{ params.x }}))",
        "(( i < ${{ params.x }} ))",
        "for ((i=0; i<${{ params.x }}; i++)); do :; done",
        "a[${{ params.x }}]=1",
        "a[\"${{ params.x }}\"]=1",
        "a[b[${{ params.x }}]]=1",
        "echo \"costs $${{ params.x }}\"",
        "echo ${{\nparams.x }}",
        "echo \"${{ params.x }}",
        "echo $(echo ${{ params.x }}",
        "echo $'it\\'s' ${{ params.x }}",
        "echo \"${X:-it's}\" ${{ params.x }}",
        "echo $[1 + 1] ${{ params.x }}",
        "cat <<EOF $(\n) ${{ params.x }}\nEOF",
        "(( 1 << 2 )); echo ${{ params.x }}",
        "echo ${{ }}",
        "echo ${{ params.x",
        "echo ${{ params.x && 1 }}",
    ];
    insta::assert_snapshot!(all_shown(&texts, parse_script), @r#"
    echo 'a ${{ params.my-x }} b'
            ^^^^^^^^^^^^^^^^^^
    E102: sh does not expand variables between single quotes
    help: add a variable to the step, env: { MY_X: "${{ params.my-x }}" }, and use "$MY_X"

    awk '{ print "${{ params.x == "y" }}" }'
                  ^^^^^^^^^^^^^^^^^^^^^^
    E102: sh does not expand variables between single quotes
    help: add a variable to the step, env: { X: '${{ params.x == "y" }}' }, and use "$X"

    echo $'a ${{ params.x }}'
             ^^^^^^^^^^^^^^^
    E102: sh does not expand variables between $' and '
    help: add a variable to the step, env: { X: "${{ params.x }}" }, and use "$X"

    hi ${{ params.x }}
       ^^^^^^^^^^^^^^^
    E102: sh does not expand variables in a here-document with a quoted delimiter
    help: add a variable to the step, env: { X: "${{ params.x }}" }, and use "$X"

    hi ${{ 'x' }}
       ^^^^^^^^^^
    E102: sh does not expand variables in a here-document with a quoted delimiter
    help: add a variable to the step, env: { VALUE: "${{ 'x' }}" }, and use "$VALUE"

    cat <<${{ params.x }}
          ^^^^^^^^^^^^^^^
    E102: dash and bash read the delimiter of a here-document before this differently
    help: add a variable to the step, env: { X: "${{ params.x }}" }, and use "$X"

    echo `echo ${{ params.x }}`
               ^^^^^^^^^^^^^^^
    E102: sh reads quotes differently between backticks
    help: write $( ) instead of backticks

    echo ${X:-${{ params.x }}}
              ^^^^^^^^^^^^^^^
    E102: sh would read the value as a pattern or as code inside ${ }
    help: add a variable to the step, env: { X: "${{ params.x }}" }, and use "$X"

    echo "${X:-"${{ params.x }}"}"
                ^^^^^^^^^^^^^^^
    E102: sh would read the value as a pattern or as code inside ${ }
    help: add a variable to the step, env: { X: "${{ params.x }}" }, and use "$X"

    echo $((1 + ${{ params.x }}))
                ^^^^^^^^^^^^^^^
    E102: the shell would evaluate the value as arithmetic inside (( ))
    help: add a variable to the step, env: { X: "${{ params.x }}" }, and use "$X"

    (( i < ${{ params.x }} ))
           ^^^^^^^^^^^^^^^
    E102: the shell would evaluate the value as arithmetic inside (( ))
    help: add a variable to the step, env: { X: "${{ params.x }}" }, and use "$X"

    for ((i=0; i<${{ params.x }}; i++)); do :; done
                 ^^^^^^^^^^^^^^^
    E102: the shell would evaluate the value as arithmetic inside (( ))
    help: add a variable to the step, env: { X: "${{ params.x }}" }, and use "$X"

    a[${{ params.x }}]=1
      ^^^^^^^^^^^^^^^
    E102: bash would evaluate the value as arithmetic inside [ ] after a name
    help: add a variable to the step, env: { X: "${{ params.x }}" }, and use "$X"

    a["${{ params.x }}"]=1
       ^^^^^^^^^^^^^^^
    E102: bash would evaluate the value as arithmetic inside [ ] after a name
    help: add a variable to the step, env: { X: "${{ params.x }}" }, and use "$X"

    a[b[${{ params.x }}]]=1
        ^^^^^^^^^^^^^^^
    E102: bash would evaluate the value as arithmetic inside [ ] after a name
    help: add a variable to the step, env: { X: "${{ params.x }}" }, and use "$X"

    echo "costs $${{ params.x }}"
                 ^^^^^^^^^^^^^^^
    E102: sh reads the `$` before `${{` together with it
    help: write \$${{ params.x }} for a literal dollar sign

    echo ${{
         ^^^^^^^^^^^^^^^
    E102: an expression in a script must be on one line
    help: join the lines

    echo "${{ params.x }}
          ^^^^^^^^^^^^^^^
    E102: a double quote is unclosed at the end, so it is unclear which parts are quoted
    help: close it, or quote a # or ' in a word

    echo $(echo ${{ params.x }}
                ^^^^^^^^^^^^^^^
    E102: `$(` is unclosed at the end, so it is unclear which parts are quoted
    help: close it, or quote a # or ' in a word

    echo $'it\'s' ${{ params.x }}
                  ^^^^^^^^^^^^^^^
    E102: dash and bash read \' between $' and ' before this differently
    help: add a variable to the step, env: { X: "${{ params.x }}" }, and use "$X"

    echo "${X:-it's}" ${{ params.x }}
                      ^^^^^^^^^^^^^^^
    E102: dash and bash read a quote inside ${ } inside quotes before this differently
    help: add a variable to the step, env: { X: "${{ params.x }}" }, and use "$X"

    echo $[1 + 1] ${{ params.x }}
                  ^^^^^^^^^^^^^^^
    E102: dash and bash read `$[` before this differently
    help: add a variable to the step, env: { X: "${{ params.x }}" }, and use "$X"

    ) ${{ params.x }}
      ^^^^^^^^^^^^^^^
    E102: dash and bash read a line end between << and its body before this differently
    help: add a variable to the step, env: { X: "${{ params.x }}" }, and use "$X"

    (( 1 << 2 )); echo ${{ params.x }}
                       ^^^^^^^^^^^^^^^
    E102: dash and bash read << between (( and )) before this differently
    help: add a variable to the step, env: { X: "${{ params.x }}" }, and use "$X"

    echo ${{ }}
         ^^^^^^
    E101: the braces contain no expression
    help: write ${{ params.x }}; for the literal braces write ${{ "${{ }}" }}

    echo ${{ params.x
         ^^^
    E101: `${{` has no `}}`
    help: write ${{ params.x }}

    echo ${{ params.x && 1 }}
                      ^^
    E101: `&&` has no meaning in an expression
    help: write `and`
    "#);
}

#[test]
fn scripts_are_bounded() {
    let deep = format!("{}${{{{ a }}}}", "$(".repeat(100));
    assert_eq!(parse_script(&deep).unwrap_err().range.len(), "${{ a }}".len());
    let many: Vec<String> = (0..300).map(|n| format!("${{{{ a{n} }}}}")).collect();
    assert!(parse_script(&many.join(" ")).unwrap_err().message.contains("256 values"));
}
