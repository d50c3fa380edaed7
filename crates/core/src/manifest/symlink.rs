//! The targets of symbolic links that a manifest accepts: none leads out of the folder.
//!
//! `..` is allowed at the beginning only. The folder of a link is a real folder, so its parents are known, and the leading
//! `..` cannot climb above the root. Every further name descends: into a folder, or through another link of the manifest, for
//! which the same holds. After a name, `..` would mean the parent of wherever a link has led, which no check of the text can
//! know.

use super::path::PATH_BYTES_MAX;

/// The reason why the target of a link is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SymlinkProblem {
    /// It is empty.
    #[error("has no target")]
    Empty,
    /// It begins with `/`.
    #[error("has an absolute target")]
    Absolute,
    /// It leaves the folder that the manifest describes.
    #[error("leads out of the folder")]
    Outside,
    /// It has `..` after a name.
    #[error("has a target with `..` after a name")]
    LateParent,
    /// It contains a control character or `\`.
    #[error("has a target with a control character or a backslash")]
    InvalidCharacter,
    /// It is too long.
    #[error("has a target of more than {PATH_BYTES_MAX} bytes")]
    TooLong,
}

/// Checks the target of a link that has `depth` folders above it.
pub(super) fn check_target(target: &str, depth: usize) -> Result<(), SymlinkProblem> {
    if target.is_empty() {
        return Err(SymlinkProblem::Empty);
    }
    if target.len() > PATH_BYTES_MAX {
        return Err(SymlinkProblem::TooLong);
    }
    if target.starts_with('/') {
        return Err(SymlinkProblem::Absolute);
    }
    if target.chars().any(|c| c.is_control() || c == '\\') {
        return Err(SymlinkProblem::InvalidCharacter);
    }
    let mut names = target.split('/').filter(|name| !matches!(*name, "" | "."));
    let parents = names.by_ref().take_while(|name| *name == "..").count();
    if names.any(|name| name == "..") {
        return Err(SymlinkProblem::LateParent);
    }
    if parents > depth { Err(SymlinkProblem::Outside) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_could_leave_the_folder_are_refused() {
        use SymlinkProblem::{Absolute, Empty, InvalidCharacter, LateParent, Outside, TooLong};
        let long = "a/".repeat(600);
        let attacks = [
            ("", 0, Empty),
            ("/", 3, Absolute),
            ("/etc/passwd", 3, Absolute),
            ("..", 0, Outside),
            ("../x", 0, Outside),
            ("./../x", 0, Outside),
            (".//./../x", 0, Outside),
            ("../../x", 1, Outside),
            ("../.././..", 2, Outside),
            ("a/..", 3, LateParent),
            ("a/../b", 3, LateParent),
            ("../a/../..", 3, LateParent),
            ("a\\..\\b", 0, InvalidCharacter),
            ("a\0b", 0, InvalidCharacter),
            ("a\nb", 0, InvalidCharacter),
            (&long, 0, TooLong),
        ];
        for (target, depth, problem) in attacks {
            assert_eq!(check_target(target, depth), Err(problem), "{target:?} at {depth}");
        }
    }

    #[test]
    fn links_inside_the_folder_are_accepted() {
        let links = [("a", 0), ("./a", 0), ("a//b/", 0), ("..", 1), ("../a", 1), ("../../a/b", 2)];
        for (target, depth) in links {
            assert_eq!(check_target(target, depth), Ok(()), "{target:?} at {depth}");
        }
    }

    /// Follows every accepted target of a small alphabet as a kernel would, through a link `l` to every possible folder: none
    /// leaves the root.
    #[test]
    fn no_accepted_link_leaves_through_another_one() {
        const NAMES: [&str; 4] = ["..", ".", "l", "d"];
        let mut targets: Vec<String> = NAMES.map(str::to_owned).to_vec();
        for _ in 0..4 {
            let longer = targets.iter().flat_map(|target| NAMES.map(|it| format!("{target}/{it}")));
            targets = targets.iter().cloned().chain(longer).collect();
        }
        for (target, depth) in
            targets.iter().flat_map(|target| [(target, 0), (target, 1), (target, 2)])
        {
            if check_target(target, depth).is_err() {
                continue;
            }
            for led_to in 0..3 {
                let mut at = Some(depth);
                for name in target.split('/') {
                    at = at.and_then(|at| match name {
                        ".." => at.checked_sub(1),
                        "l" => Some(led_to),
                        "d" => Some(at + 1),
                        _ => Some(at),
                    });
                }
                assert!(at.is_some(), "{target} at {depth}, with a link to depth {led_to}");
            }
        }
    }
}
