//! The files of the repository, and as much reading of Rust as the rules need: by lines and words.

use std::fs;
use std::path::Path;

/// Folders that hold nothing that was written here.
const SKIPPED_FOLDERS: [&str; 4] = [".git", ".windlass", "node_modules", "target"];
const KINDS: [&str; 5] = [".md", ".rs", ".sh", ".toml", ".yml"];

/// A text file: its path from the root of the repository, and its content.
pub(super) struct TidySourceFile {
    pub(super) path: String,
    pub(super) text: String,
}

impl TidySourceFile {
    /// Whether the name ends in this extension.
    pub(super) fn is(&self, extension: &str) -> bool {
        self.path.rsplit_once('.').is_some_and(|(_, end)| end == extension)
    }

    /// The text, or nothing if the file is not at or below this path.
    pub(super) fn text_below(&self, path: &str) -> &str {
        if self.path.starts_with(path) { &self.text } else { "" }
    }

    /// The Rust code without tests; empty for every other file.
    pub(super) fn production(&self) -> &str {
        if !self.is("rs") || self.path.contains("/tests/") || self.path.ends_with("tests.rs") {
            return "";
        }
        let inline_tests = self.text.find("#[cfg(test)]\nmod tests {");
        &self.text[..inline_tests.unwrap_or(self.text.len())]
    }
}

/// Reads every text file of the repository.
pub(super) fn repository() -> Vec<TidySourceFile> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the repository is readable") {
            let path = entry.expect("its entries are too").path();
            let below_root = path.strip_prefix(&root).expect("it was found there");
            let name = below_root.to_string_lossy().replace('\\', "/");
            let last = name.rsplit('/').next().unwrap_or_default();
            if path.is_dir() && !SKIPPED_FOLDERS.contains(&last) {
                folders.push(path);
            } else if KINDS.iter().any(|kind| name.ends_with(kind)) && path.is_file() {
                let text = fs::read_to_string(&path).expect("text is UTF-8");
                files.push(TidySourceFile { path: name, text });
            }
        }
    }
    files
}

/// The lines that match, each as a complaint.
pub(super) fn lines_where<'a>(
    text: &'a str,
    mut matches: impl FnMut(&'a str) -> bool,
) -> Vec<String> {
    let lines = text.lines().enumerate();
    let matching = lines.filter(|(_, line)| matches(line));
    let shown = matching.map(|(index, line)| format!("line {}: `{}`", index + 1, line.trim()));
    shown.collect()
}

/// Whether the text contains the word or path, and not as a part of a longer name.
pub(super) fn has_word(text: &str, word: &str) -> bool {
    let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(start, _)| {
        let end = start + word.len();
        let longer = word.ends_with(part_of_name) && text[end..].starts_with(part_of_name);
        !text[..start].ends_with(part_of_name) && !longer
    })
}

/// The words that the text contains, each as a complaint.
pub(super) fn words_in<'a>(text: &str, words: impl Iterator<Item = &'a str>) -> Vec<String> {
    let found = words.filter(|word| has_word(text, word));
    found.map(|word| format!("contains `{word}`")).collect()
}

/// Whether a function begins on this line.
pub(super) fn is_function(line: &str) -> bool {
    let modifier = |word: &&str| {
        word.starts_with("pub") || ["async", "const", "unsafe", "extern", "\"C\""].contains(word)
    };
    line.split_whitespace().find(|word| !modifier(word)) == Some("fn")
}

/// Counts the lines of the function that begins on the first of these lines.
///
/// It ends there, or where its indentation returns with a closing brace or, for a declaration,
/// with a semicolon.
pub(super) fn function_length<'a>(mut lines: impl Iterator<Item = &'a str>) -> usize {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let first = lines.next().unwrap_or_default();
    if first.ends_with(['}', ';']) {
        return 1;
    }
    let inner = lines.take_while(|line| {
        let closes = line.trim_start().starts_with('}') || line.ends_with(';');
        !closes || indent(line) != indent(first)
    });
    inner.count() + 2
}

/// The code without comments, followed by every imported path in full, one per line.
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

/// The name of the public item or field on this line.
pub(super) fn public_name(line: &str) -> Option<&str> {
    const BEFORE_NAME: &str = "async const unsafe extern fn struct enum type mod trait static mut";
    let mut words = line.trim_start().strip_prefix("pub ")?.split_whitespace();
    let name = words.find(|word| !BEFORE_NAME.split(' ').any(|before| *word == before))?;
    let after_name = |c: char| !c.is_alphanumeric() && c != '_';
    name.split(after_name).next()
}

/// The words of a name, `next_step` or `NextStep`, in lower case and singular.
pub(super) fn words_of_name(name: &str) -> Vec<String> {
    let mut spaced = String::new();
    for c in name.chars() {
        spaced.extend((c == '_' || c.is_uppercase()).then_some(' '));
        spaced.extend(c.to_lowercase().filter(|c| *c != '_'));
    }
    let words = spaced.split(' ').map(|word| word.trim_end_matches('s'));
    words.map(str::to_owned).collect()
}
