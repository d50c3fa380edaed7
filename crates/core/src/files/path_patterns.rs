//! Paths selected by patterns, as in `.gitignore` files: `src/**/*.rs`, `dist`, `!**/*.map`.
//!
//! | pattern | matches |
//! |---|---|
//! | `*`, `?` | any characters of one name; one character |
//! | `[a-z]`, `[!a-z]` | one character of a set; one that is not in it |
//! | `{js,ts}` | either text |
//! | `**` as a whole name | any number of folders, also none |
//! | `dist` | the file `dist`, or the folder and everything in it |
//! | `!PATTERN` | takes matching paths out again |
//!
//! The last pattern that matches a path decides. Matching takes time in proportion to pattern and path.

/// Maximum alternatives into which the braces of one pattern expand.
const ALTERNATIVES_MAX: usize = 64;

/// Maximum bytes of a pattern.
const PATTERN_BYTES_MAX: usize = 1024;

/// A name that only those patterns match that match every name.
const ANY_NAME: &str = "";

/// A list of patterns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PathPatterns {
    rules: Vec<PatternRule>,
}

/// One pattern, without braces.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PatternRule {
    /// Whether it takes paths out.
    excludes: bool,
    names: Vec<NamePattern>,
}

/// The pattern of one name of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum NamePattern {
    /// `**`
    AnyFolders,
    Name(Vec<CharPattern>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum CharPattern {
    Exactly(char),
    /// `?`
    AnyOne,
    /// `*`
    AnyMany,
    Set {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
}

/// The reason why a pattern is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternProblem {
    /// It is empty.
    #[error("an empty pattern matches nothing")]
    Empty,
    /// It is longer than the limit.
    #[error("a pattern has at most {PATTERN_BYTES_MAX} bytes")]
    TooLong,
    /// It begins with `/` or contains `..`.
    #[error("`{0}` leads out of the workspace: paths are relative to its root, without `..`")]
    Outside(String),
    /// A bracket or brace has no end.
    #[error("`{0}` has a `{1}` without its end")]
    Unclosed(String, char),
    /// A range of characters is the wrong way round, or a set is empty.
    #[error("`{0}` has an invalid set of characters: write `[a-z]`")]
    BadSet(String),
    /// Its braces expand into too many patterns.
    #[error("`{0}` expands into more than {ALTERNATIVES_MAX} patterns")]
    TooManyAlternatives(String),
}

impl PathPatterns {
    /// Parses patterns. Each is relative to the root of the workspace.
    pub fn parse<T: AsRef<str>>(texts: &[T]) -> Result<Self, PatternProblem> {
        let mut rules = Vec::new();
        for text in texts {
            add_rules(text.as_ref(), &mut rules)?;
        }
        Ok(Self { rules })
    }

    /// Returns whether a path is selected, by itself or with a folder that contains it.
    pub fn select(&self, path: &str) -> bool {
        let names: Vec<&str> = path.split('/').collect();
        let last = self.rules.iter().rev().find(|rule| rule.matches(&names));
        last.is_some_and(|rule| !rule.excludes)
    }

    /// Returns whether a path below this folder can be selected. The root has the empty path.
    pub fn can_select_below(&self, folder: &str) -> bool {
        let mut names: Vec<&str> = folder.split('/').filter(|name| !name.is_empty()).collect();
        // Patterns before the last one that takes out the whole folder select nothing in it.
        names.push(ANY_NAME);
        let last = self.rules.iter().rposition(|rule| rule.excludes && rule.matches(&names));
        names.pop();
        let mut rules = self.rules[last.map_or(0, |at| at + 1)..].iter();
        rules.any(|rule| !rule.excludes && rule.can_match_below(&names))
    }

    /// Returns whether there is no pattern.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
}

impl PatternRule {
    /// Whether it matches the path, or a folder that contains it.
    fn matches(&self, names: &[&str]) -> bool {
        let (mut at, mut name) = (0, 0);
        // Where to continue if the present assumption about the last `**` fails.
        let mut retry: Option<(usize, usize)> = None;
        loop {
            match self.names.get(at) {
                None => return true,
                // `folder/**` matches what is in the folder, not the folder.
                Some(NamePattern::AnyFolders) if at + 1 == self.names.len() => {
                    return name < names.len();
                }
                Some(NamePattern::AnyFolders) => {
                    at += 1;
                    retry = Some((at, name + 1));
                    continue;
                }
                Some(NamePattern::Name(pattern)) if name < names.len() => {
                    if matches_name(pattern, names[name]) {
                        (at, name) = (at + 1, name + 1);
                        continue;
                    }
                }
                Some(NamePattern::Name(_)) => return false,
            }
            let Some((from, next)) = retry else { return false };
            if next >= names.len() {
                return false;
            }
            (at, name, retry) = (from, next, Some((from, next + 1)));
        }
    }

    /// Whether it can match a path below this folder.
    fn can_match_below(&self, folder: &[&str]) -> bool {
        for (pattern, name) in self.names.iter().zip(folder) {
            match pattern {
                NamePattern::AnyFolders => return true,
                NamePattern::Name(pattern) if !matches_name(pattern, name) => return false,
                NamePattern::Name(_) => {}
            }
        }
        true
    }
}

/// Adds the rules of one pattern: one for each alternative of its braces.
fn add_rules(text: &str, rules: &mut Vec<PatternRule>) -> Result<(), PatternProblem> {
    if text.len() > PATTERN_BYTES_MAX {
        return Err(PatternProblem::TooLong);
    }
    let (excludes, pattern) = match text.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let mut alternatives = Vec::new();
    expand_braces(text, String::new(), pattern, &mut alternatives)?;
    for alternative in alternatives {
        rules.push(PatternRule { excludes, names: parse_names(text, &alternative)? });
    }
    Ok(())
}

/// Expands the first braces of `rest`, and then those of what follows. The number of alternatives bounds the depth.
fn expand_braces(
    text: &str,
    before: String,
    rest: &str,
    found: &mut Vec<String>,
) -> Result<(), PatternProblem> {
    let Some((head, tail)) = rest.split_once('{') else {
        if found.len() == ALTERNATIVES_MAX {
            return Err(PatternProblem::TooManyAlternatives(text.to_owned()));
        }
        found.push(before + rest);
        return Ok(());
    };
    let (choices, tail) =
        tail.split_once('}').ok_or_else(|| PatternProblem::Unclosed(text.to_owned(), '{'))?;
    for choice in choices.split(',') {
        expand_braces(text, format!("{before}{head}{choice}"), tail, found)?;
    }
    Ok(())
}

fn parse_names(text: &str, pattern: &str) -> Result<Vec<NamePattern>, PatternProblem> {
    if pattern.starts_with('/') {
        return Err(PatternProblem::Outside(text.to_owned()));
    }
    let mut names = Vec::new();
    for name in pattern.split('/') {
        match name {
            "" | "." => {}
            ".." => return Err(PatternProblem::Outside(text.to_owned())),
            "**" if names.last() == Some(&NamePattern::AnyFolders) => {}
            "**" => names.push(NamePattern::AnyFolders),
            name => names.push(NamePattern::Name(parse_name(text, name)?)),
        }
    }
    if pattern.is_empty() {
        return Err(PatternProblem::Empty);
    }
    if names.is_empty() {
        // `.` is the whole workspace.
        names.push(NamePattern::AnyFolders);
    }
    Ok(names)
}

fn parse_name(text: &str, name: &str) -> Result<Vec<CharPattern>, PatternProblem> {
    let mut pattern = Vec::new();
    let mut rest = name.chars();
    while let Some(next) = rest.next() {
        pattern.push(match next {
            '*' if pattern.last() == Some(&CharPattern::AnyMany) => continue,
            '*' => CharPattern::AnyMany,
            '?' => CharPattern::AnyOne,
            '[' => parse_set(text, &mut rest)?,
            other => CharPattern::Exactly(other),
        });
    }
    Ok(pattern)
}

/// Parses a set after its `[`.
fn parse_set(text: &str, rest: &mut std::str::Chars<'_>) -> Result<CharPattern, PatternProblem> {
    let (inside, after) = rest
        .as_str()
        .split_once(']')
        .ok_or_else(|| PatternProblem::Unclosed(text.to_owned(), '['))?;
    *rest = after.chars();
    let (negated, inside) = match inside.strip_prefix(['!', '^']) {
        Some(inside) => (true, inside),
        None => (false, inside),
    };
    let bad = || PatternProblem::BadSet(text.to_owned());
    let mut ranges = Vec::new();
    let mut chars = inside.chars().peekable();
    while let Some(first) = chars.next() {
        let mut last = first;
        if chars.next_if_eq(&'-').is_some() {
            last = chars.next().ok_or_else(bad)?;
        }
        if last < first {
            return Err(bad());
        }
        ranges.push((first, last));
    }
    if ranges.is_empty() { Err(bad()) } else { Ok(CharPattern::Set { negated, ranges }) }
}

fn matches_name(pattern: &[CharPattern], name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    let (mut at, mut next) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while next < name.len() {
        match pattern.get(at) {
            Some(CharPattern::AnyMany) => {
                at += 1;
                retry = Some((at, next + 1));
                continue;
            }
            Some(one) if matches_char(one, name[next]) => {
                (at, next) = (at + 1, next + 1);
                continue;
            }
            Some(_) | None => {}
        }
        let Some((from, skipped)) = retry else { return false };
        (at, next, retry) = (from, skipped, Some((from, skipped + 1)));
    }
    pattern[at..].iter().all(|rest| *rest == CharPattern::AnyMany)
}

fn matches_char(pattern: &CharPattern, found: char) -> bool {
    match pattern {
        CharPattern::Exactly(wanted) => *wanted == found,
        CharPattern::AnyOne | CharPattern::AnyMany => true,
        CharPattern::Set { negated, ranges } => {
            ranges.iter().any(|(first, last)| (*first..=*last).contains(&found)) != *negated
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selects(patterns: &[&str], path: &str) -> bool {
        PathPatterns::parse(patterns).expect("valid patterns").select(path)
    }

    #[test]
    fn patterns_select_files_and_everything_in_matching_folders() {
        for (pattern, yes, no) in [
            ("src/**", "src/a/b.rs", "src"),
            ("src/**/*.rs", "src/a.rs", "src/a.c"),
            ("src/**/*.rs", "src/x/y/a.rs", "lib/src/a.rs"),
            ("**/*.rs", "a.rs", "a.rsx"),
            ("dist", "dist/x/y", "distant"),
            ("dist/", "dist/x", "a/dist"),
            ("./dist", "dist/x", "x"),
            ("*.{js,ts}", "a.ts", "a.tsx"),
            ("a?c", "abc", "ac"),
            ("[a-c]x", "bx", "dx"),
            ("[!a-c]x", "dx", "bx"),
            ("**/a/**/b", "x/a/y/z/b", "x/a/y/z/c"),
            ("a*b*c", "aXbYbZc", "aXbY"),
        ] {
            assert!(selects(&[pattern], yes), "{pattern} selects {yes}");
            assert!(!selects(&[pattern], no), "{pattern} does not select {no}");
        }
    }

    #[test]
    fn dot_selects_the_whole_workspace() {
        assert!(selects(&["."], "any/thing"));
    }

    #[test]
    fn last_matching_pattern_decides() {
        let patterns = ["dist/**", "!**/*.map", "dist/keep.map"];
        assert!(selects(&patterns, "dist/a.js"));
        assert!(!selects(&patterns, "dist/a.map"));
        assert!(selects(&patterns, "dist/keep.map"));
    }

    #[test]
    fn folders_that_cannot_contain_a_match_are_left_out() {
        let patterns = PathPatterns::parse(&["src/*/gen", "lib/**/x"]).expect("valid");
        for (folder, can) in
            [("", true), ("src", true), ("src/a", true), ("src/a/gen/deep", true), ("doc", false)]
        {
            assert_eq!(patterns.can_select_below(folder), can, "{folder}");
        }
        assert!(patterns.can_select_below("lib/any/where"));
        assert!(!patterns.can_select_below("src/a/other"));
    }

    #[test]
    fn folder_that_is_taken_out_as_a_whole_is_not_entered() {
        for excluded in ["!**/out", "!**/out/**", "!a/*", "!a"] {
            let patterns = PathPatterns::parse(&["**", excluded]).expect("valid");
            assert!(!patterns.can_select_below("a/out"), "{excluded}");
            assert!(patterns.can_select_below("b"), "{excluded}");
        }
        let patterns = PathPatterns::parse(&["**", "!out", "out/keep/*"]).expect("valid");
        assert!(patterns.can_select_below("out") && patterns.can_select_below("out/keep"));
        assert!(!patterns.can_select_below("out/other"));
        let some = PathPatterns::parse(&["**", "!out/?*", "!out/*.o"]).expect("valid");
        assert!(some.can_select_below("out"), "a name of no character is none, but it is safe");
    }

    #[test]
    fn invalid_patterns_are_refused_with_the_reason() {
        let problem = |text: &str| PathPatterns::parse(&[text]).expect_err("refused").to_string();
        assert_eq!(problem(""), "an empty pattern matches nothing");
        assert!(problem("/etc/passwd").contains("leads out of the workspace"));
        assert!(problem("../x").contains("leads out of the workspace"));
        assert!(problem("{../x,y}").contains("leads out of the workspace"));
        assert!(problem("[a").contains("without its end"));
        assert!(problem("{a").contains("without its end"));
        assert!(problem("[z-a]").contains("invalid set"));
        assert!(problem(&"{a,b}".repeat(7)).contains("more than 64 patterns"));
        assert!(problem(&"a".repeat(2000)).contains("at most"));
    }

    #[test]
    fn matching_takes_linear_time_for_hostile_patterns() {
        let pattern = format!("{}b", "a*".repeat(200));
        assert!(!selects(&[&pattern], &"a".repeat(1000)));
        let pattern = format!("{}b", "**/a/".repeat(150));
        assert!(!selects(&[&pattern], &"a/".repeat(400)));
    }
}
