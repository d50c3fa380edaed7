//! As much reading of Rust and Markdown as the rules need, beyond what `windlass_testkit::house` has: by lines and words.

/// Returns the lines that match, each as a complaint.
pub(super) fn lines_where<'a>(
    text: &'a str,
    mut matches: impl FnMut(&'a str) -> bool,
) -> Vec<String> {
    let lines = text.lines().enumerate();
    let matching = lines.filter(|(_, line)| matches(line));
    let shown = matching.map(|(index, line)| format!("line {}: `{}`", index + 1, line.trim()));
    shown.collect()
}

/// Returns whether the text contains the word or path, not as a part of a longer name.
pub(super) fn has_word(text: &str, word: &str) -> bool {
    let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(start, _)| {
        let end = start + word.len();
        let longer = word.ends_with(part_of_name) && text[end..].starts_with(part_of_name);
        !text[..start].ends_with(part_of_name) && !longer
    })
}

/// Returns the words that the text contains, each as a complaint.
pub(super) fn words_in<'a>(text: &str, words: impl Iterator<Item = &'a str>) -> Vec<String> {
    let found = words.filter(|word| has_word(text, word));
    found.map(|word| format!("contains `{word}`")).collect()
}

/// Returns the code without comments, followed by every imported path in full, one per line.
pub(super) fn code_and_imports(source: &str) -> String {
    let without_comment = |line: &str| line.split("//").next().unwrap_or("").to_owned() + "\n";
    let code: String = source.lines().map(without_comment).collect();
    let statements = code.split(';');
    let imports = statements.filter_map(|statement| statement.rsplit_once("use "));
    let paths: Vec<String> = imports.flat_map(|(_, tree)| paths_of(tree)).collect();
    code + &paths.join("\n")
}

/// Expands `a::{b, c::{d, e}}` to `a::b`, `a::c::d`, `a::c::e`.
fn paths_of(tree: &str) -> Vec<String> {
    let Some((head, rest)) = tree.split_once('{') else {
        return vec![tree.trim().to_owned()];
    };
    let mut depth = 0;
    let branches = rest.trim_end().trim_end_matches('}').split(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == ',' && depth == 0
    });
    let paths = branches.flat_map(paths_of);
    paths.map(|path| format!("{}{path}", head.trim())).collect()
}

/// Returns the name of the public item or field on this line.
pub(super) fn public_name(line: &str) -> Option<&str> {
    const BEFORE_NAME: &str = "async const unsafe extern fn struct enum type mod trait static mut";
    let mut words = line.trim_start().strip_prefix("pub ")?.split_whitespace();
    let name = words.find(|word| !BEFORE_NAME.split(' ').any(|before| *word == before))?;
    let after_name = |c: char| !c.is_alphanumeric() && c != '_';
    name.split(after_name).next()
}
