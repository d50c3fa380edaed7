//! The functions and types of Rust code, found by their lines.

use std::collections::BTreeMap;

use super::repository::RepositoryFile;
use super::rust_text::code_of;

/// The type definitions of all crates, by name: for each name, the files that define such a type.
#[derive(Clone, Debug, Default)]
pub struct TypeDefinitions(BTreeMap<String, Vec<String>>);

impl TypeDefinitions {
    /// Collects structs, enums, unions, traits and type aliases, whatever their visibility.
    pub fn of(files: &[RepositoryFile]) -> Self {
        let mut definitions = Self::default();
        for file in files {
            let code = code_of(file.crate_source());
            for name in code.lines().filter_map(defined_type) {
                definitions.0.entry(name.to_owned()).or_default().push(file.path.clone());
            }
        }
        // Variants of a type for several platforms, in one file, are one definition.
        definitions.0.values_mut().for_each(Vec::dedup);
        definitions
    }

    /// The number of definitions.
    pub fn count(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }

    /// The number of definitions whose name has another one.
    pub fn sharing(&self) -> usize {
        self.shared().map(|(_, files)| files.len()).sum()
    }

    /// The names with several definitions, and the files of these.
    pub fn shared(&self) -> impl Iterator<Item = (&str, &[String])> {
        let names = self.0.iter().map(|(name, files)| (name.as_str(), files.as_slice()));
        names.filter(|(_, files)| files.len() > 1)
    }

    /// The number of definitions whose name is a single word.
    pub fn of_one_word(&self) -> usize {
        let names = self.0.iter().filter(|(name, _)| words_of_name(name).len() == 1);
        names.map(|(_, files)| files.len()).sum()
    }
}

/// The name of the type that this line defines. An associated type is none: it is indented.
fn defined_type(line: &str) -> Option<&str> {
    let item = line.trim_start();
    let (keyword, rest) = without_visibility(item).split_once(' ')?;
    let is_type = match keyword {
        "struct" | "enum" | "union" | "trait" => true,
        "type" => item.len() == line.len(),
        _ => false,
    };
    let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    (is_type && !name.is_empty()).then_some(name)
}

/// The item without `pub` or `pub(in a::b)`.
fn without_visibility(item: &str) -> &str {
    let Some(rest) = item.strip_prefix("pub") else { return item };
    let inner = rest.strip_prefix('(').and_then(|scope| scope.split_once(')'));
    inner.map_or(rest, |(_, after)| after).trim_start()
}

/// The words of a name, `next_step` or `NextStep`, in lower case and singular.
pub fn words_of_name(name: &str) -> Vec<String> {
    let mut spaced = String::new();
    for c in name.chars() {
        spaced.extend((c == '_' || c.is_uppercase()).then_some(' '));
        spaced.extend(c.to_lowercase().filter(|c| *c != '_'));
    }
    spaced.split_whitespace().map(|word| word.trim_end_matches('s').to_owned()).collect()
}

/// Whether a function begins on this line.
pub fn is_function(line: &str) -> bool {
    let modifier = |word: &&str| {
        word.starts_with("pub") || ["async", "const", "unsafe", "extern", "\"C\""].contains(word)
    };
    line.split_whitespace().find(|word| !modifier(word)) == Some("fn")
}

/// The lengths of the functions of this code in lines, declarations in traits excluded.
pub fn function_lengths(code: &str) -> Vec<usize> {
    let lines: Vec<&str> = code.lines().collect();
    let starts = (0..lines.len()).filter(|start| is_function(lines[*start]));
    let lengths = starts.map(|start| {
        let length = function_length(lines[start..].iter().copied());
        let last = lines.get(start + length - 1).copied().unwrap_or_default();
        (length, last.ends_with('}'))
    });
    lengths.filter_map(|(length, has_body)| has_body.then_some(length)).collect()
}

/// Counts the lines of the function that begins on the first of these lines.
///
/// It ends there, or where its indentation returns with a closing brace or, for a declaration,
/// with a semicolon.
pub fn function_length<'a>(mut lines: impl Iterator<Item = &'a str>) -> usize {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> RepositoryFile {
        RepositoryFile { path: path.to_owned(), text: text.to_owned() }
    }

    #[test]
    fn types_are_found_whatever_their_visibility() {
        let text = "pub(in super::super) struct A;\n    enum Ab<T> {\n/// struct B\ntype C = u8;\n\
            impl D for E {\n    type F = u8;\n}\npub trait Gh {}\nlet a = \"\nstruct H;\n\";\n";
        let files = [file("crates/a/src/b.rs", text), file("crates/a/src/c.rs", "struct A {")];
        let definitions = TypeDefinitions::of(&files);
        let names: Vec<&str> = definitions.0.keys().map(String::as_str).collect();
        assert_eq!(names, ["A", "Ab", "C", "Gh"]);
        assert_eq!(
            (definitions.count(), definitions.sharing(), definitions.of_one_word()),
            (5, 2, 5)
        );
        let shared: Vec<&str> = definitions.shared().map(|(name, _)| name).collect();
        assert_eq!(shared, ["A"]);
    }

    #[test]
    fn a_function_ends_at_the_brace_of_its_indentation() {
        let code = "    pub fn a(\n        b: u8,\n    ) -> u8 {\n        if b {\n        }\n    }\n\
            fn c();\nconst fn d() {}\n";
        assert_eq!(function_lengths(code), [6, 1]);
    }
}
