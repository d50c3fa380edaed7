//! The rules of the repository that no lint knows, one test each.
//!
//! A rule reads one file, beside all the others, and returns its complaints. It is first applied to planted files that break
//! it, so that a rule that has stopped working fails too.

mod architecture;
mod documents;
mod shape;
mod source;
mod words;

use windlass_testkit::house::{RepositoryFile, repository_files, repository_root};

/// Fails unless the rule complains about each planted file, or if it complains about the repository.
fn hold(
    planted: &[(&str, &str)],
    rule: impl Fn(&RepositoryFile, &[RepositoryFile]) -> Vec<String>,
) {
    for (path, text) in planted {
        let complaints = rule(&planted_file(path, text), &[]);
        assert!(!complaints.is_empty(), "the rule accepts {path}: {text}");
    }
    let tree = repository();
    let of_file = |file| rule(file, &tree).into_iter().map(|what| format!("{}: {what}", file.path));
    let complaints: Vec<String> = tree.iter().flat_map(of_file).collect();
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

fn planted_file(path: &str, text: &str) -> RepositoryFile {
    RepositoryFile { path: path.to_owned(), text: text.to_owned() }
}

/// Reads every text file of the repository.
fn repository() -> Vec<RepositoryFile> {
    repository_files(&repository_root()).expect("the repository can be read")
}

fn complain(broken: bool, what: &str) -> Vec<String> {
    if broken { vec![what.to_owned()] } else { Vec::new() }
}
