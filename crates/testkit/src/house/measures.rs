//! The table that compares the shape and the words of the code with those of other projects.

use std::fmt;

use super::repository::RepositoryFile;
use super::rust_items::{TypeDefinitions, function_lengths};
use super::rust_text::code_of;

/// A function longer than this is counted as long.
const LONG_FUNCTION: usize = 70;

/// How lengths in lines are spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineSpread {
    /// Half of them are at most this long.
    pub median: usize,
    /// Nine of ten are at most this long.
    pub p90: usize,
    /// The longest.
    pub max: usize,
}

impl LineSpread {
    fn of(mut lengths: Vec<usize>) -> Self {
        lengths.sort_unstable();
        let rank = |tenths: usize| lengths.get(lengths.len() * tenths / 10).copied();
        let max = lengths.last().copied().unwrap_or_default();
        Self { median: rank(5).unwrap_or(max), p90: rank(9).unwrap_or(max), max }
    }
}

impl fmt::Display for LineSpread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} / {} / {}", self.median, self.p90, self.max)
    }
}

/// The measures of the crates of a workspace, tests excluded. Its text is the table.
#[derive(Clone, Debug, PartialEq)]
pub struct HouseMeasures {
    /// The lengths of functions.
    pub functions: LineSpread,
    /// The lengths of files.
    pub files: LineSpread,
    /// Functions of more than 70 lines, in percent.
    pub long_functions: f64,
    /// Calls of `unwrap` per 1,000 lines.
    pub unwraps: f64,
    /// Type definitions whose name another type has too, in percent.
    pub shared_names: f64,
    /// Type definitions whose name is one word, in percent.
    pub one_word_names: f64,
    /// Words for persons per 1,000 words of comments.
    pub person_words: f64,
    /// Packages in the lock file.
    pub packages: usize,
}

impl HouseMeasures {
    /// Measures these files; `lock_file` is the text of `Cargo.lock`.
    pub fn of(files: &[RepositoryFile], lock_file: &str) -> Self {
        let sources: Vec<&str> = files.iter().map(RepositoryFile::crate_source).collect();
        let lines: Vec<usize> = sources.iter().map(|source| source.lines().count()).collect();
        let lines: Vec<usize> = lines.into_iter().filter(|count| *count > 0).collect();
        let functions: Vec<usize> =
            sources.iter().flat_map(|text| function_lengths(text)).collect();
        let long = functions.iter().filter(|length| **length > LONG_FUNCTION).count();
        let unwraps = sources.iter().map(|text| code_of(text).matches(".unwrap()").count()).sum();
        let types = TypeDefinitions::of(files);
        let (words, persons) = comment_words(files);
        Self {
            long_functions: share(100, long, functions.len()),
            unwraps: share(1000, unwraps, lines.iter().sum()),
            functions: LineSpread::of(functions),
            files: LineSpread::of(lines),
            shared_names: share(100, types.sharing(), types.count()),
            one_word_names: share(100, types.of_one_word(), types.count()),
            person_words: share(1000, persons, words),
            packages: lock_file.lines().filter(|line| *line == "[[package]]").count(),
        }
    }
}

/// The words of all comments, code and quotations in them included, and those that stand for persons.
fn comment_words(files: &[RepositoryFile]) -> (usize, usize) {
    const COUNTED: [&str; 4] = ["who", "whoever", "nobody", "somebody"];
    let (mut words, mut persons) = (0, 0);
    for file in files {
        let comments = file.crate_comments().to_lowercase();
        let split = comments.split(|c: char| !c.is_alphanumeric() && !"_'".contains(c));
        for word in split.filter(|word| word.contains(char::is_alphabetic)) {
            words += 1;
            persons += usize::from(COUNTED.contains(&word));
        }
    }
    (words, persons)
}

#[expect(clippy::cast_precision_loss, reason = "counts of lines and words are far below 2^52")]
fn share(scale: u32, part: usize, all: usize) -> f64 {
    f64::from(scale) * part as f64 / all.max(1) as f64
}

impl fmt::Display for HouseMeasures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = [
            ("function median / p90 / max lines", self.functions.to_string()),
            ("file median / p90 / max lines", self.files.to_string()),
            ("functions over 70 lines", format!("{:.1} %", self.long_functions)),
            ("`unwrap` per kLOC", format!("{:.2}", self.unwraps)),
            (
                "type definitions that share their name with another type",
                format!("{:.1} %", self.shared_names),
            ),
            ("one-word type names", format!("{:.0} %", self.one_word_names)),
            (
                "`who` / `whoever` / `nobody` / `somebody` per 1,000 comment words",
                format!("{:.2}", self.person_words),
            ),
            ("packages in the lock file", self.packages.to_string()),
        ];
        writeln!(f, "| measure | value |\n|---|--:|")?;
        rows.iter().try_for_each(|(measure, value)| writeln!(f, "| {measure} | {value} |"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_count_production_code_of_crates() {
        let text = "//! Nobody knows.\nstruct A;\nfn b() {\n    c.unwrap();\n}\n";
        let file = |path: &str| RepositoryFile { path: path.to_owned(), text: text.to_owned() };
        let files =
            [file("crates/a/src/b.rs"), file("bench/src/b.rs"), file("crates/a/src/tests.rs")];
        let measures = HouseMeasures::of(&files, "[[package]]\nname = \"a\"\n");
        let expected = HouseMeasures {
            functions: LineSpread { median: 3, p90: 3, max: 3 },
            files: LineSpread { median: 5, p90: 5, max: 5 },
            long_functions: 0.0,
            unwraps: 200.0,
            shared_names: 0.0,
            one_word_names: 100.0,
            person_words: 500.0,
            packages: 1,
        };
        assert_eq!(measures, expected);
    }

    #[test]
    fn spread_of_ten_lengths() {
        let spread = LineSpread::of((1..=10).rev().collect());
        assert_eq!(spread, LineSpread { median: 6, p90: 10, max: 10 });
    }
}
