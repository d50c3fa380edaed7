//! The rules of the repository that no lint knows, one test each.
//!
//! A rule reads one file, beside all the others, and returns its complaints. It is first shown
//! made-up files that break it, so that a rule that has stopped working fails too.

mod architecture;
mod shape;
mod source;

use source::{TidySourceFile, repository};

/// Fails unless the rule complains about each planted file, or if it does about the repository.
fn hold(
    planted: &[(&str, &str)],
    rule: impl Fn(&TidySourceFile, &[TidySourceFile]) -> Vec<String>,
) {
    for (path, text) in planted {
        let file = TidySourceFile { path: (*path).to_owned(), text: (*text).to_owned() };
        assert!(
            !rule(&file, &[]).is_empty(),
            "the rule does not see what is wrong with {path}: {text}"
        );
    }
    let tree = repository();
    let of_file = |file| rule(file, &tree).into_iter().map(|what| format!("{}: {what}", file.path));
    let complaints: Vec<String> = tree.iter().flat_map(of_file).collect();
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

fn complain(broken: bool, what: &str) -> Vec<String> {
    if broken { vec![what.to_owned()] } else { Vec::new() }
}
