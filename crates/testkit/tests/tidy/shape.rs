//! The shape of files: length, first line, position in the tree.

use windlass_testkit::house::{HouseMeasures, RepositoryFile, function_length, is_function};

use crate::source::{has_word, lines_where, words_in};
use crate::{complain, hold, planted_file, repository};

const BANNED: &str = "FIXME XXX todo! unimplemented! simply Simply";
/// Folders in which each source file is a module of another.
const SOURCES: [&str; 3] = ["/src", "/tests/it", "/tests/tidy"];

#[test]
fn files_are_short() {
    let long = "//! Page.\n".repeat(601);
    hold(&[("a/src/b.rs", &long)], |file, _| {
        let lines = file.production().lines().count();
        complain(lines > 600, "more than 600 lines without tests")
    });
}

#[test]
fn functions_are_short() {
    let body = "        c();\n".repeat(48);
    let long = format!("    pub fn b(\n    ) {{\n{body}    }}\n");
    hold(&[("a/src/b.rs", &long)], |file, _| {
        let code = file.production();
        let mut lines = code.lines();
        lines_where(code, |line| {
            let from_here = lines.clone();
            lines.next();
            is_function(line) && function_length(from_here) > 50
        })
    });
}

/// Single files and functions can be longer; this keeps the whole from growing. `house` prints the measures.
#[test]
fn nine_of_ten_files_and_functions_are_short() {
    let too_long = |files: &[RepositoryFile]| {
        let measures = HouseMeasures::of(files, "");
        (measures.files.p90 > 250, measures.functions.p90 > 20, measures)
    };
    let long_file = planted_file("crates/a/src/b.rs", &"//! Page.\n".repeat(251));
    assert!(too_long(&[long_file]).0, "the rule accepts a file of 251 lines");
    let long_function = format!("fn b() {{\n{}}}\n", "    c();\n".repeat(19));
    let long_function = planted_file("crates/a/src/b.rs", &long_function);
    assert!(too_long(&[long_function]).1, "the rule accepts a function of 21 lines");
    let (files, functions, measures) = too_long(&repository());
    assert!(!files && !functions, "more than a tenth is longer than 250 and 20 lines:\n{measures}");
}

#[test]
fn every_source_file_begins_with_its_page() {
    hold(&[("a/src/b.rs", "use std::fmt;\n//! Page.")], |file, _| {
        let page = file.text.starts_with("//! ");
        complain(file.is("rs") && !page, "does not begin with `//! `")
    });
}

#[test]
fn lib_and_mod_are_tables_of_contents() {
    let planted = [("a/src/lib.rs", "fn b() {}"), ("a/src/b/mod.rs", "pub fn c()")];
    hold(&planted, |file, _| {
        let table = file.path.ends_with("/lib.rs") || file.path.ends_with("/mod.rs");
        // A macro can be in the root of its crate only.
        let of_macro = file.text.contains("\n#[proc_macro_attribute]\n");
        lines_where(&file.text, |line| table && !of_macro && is_function(line))
    });
}

#[test]
fn banned_words_are_absent() {
    let planted = [("a.md", "It is simply so."), ("a.rs", "todo!()"), ("a.sh", "# FIXME: b")];
    hold(&planted, |file, _| {
        let found = words_in(&file.text, BANNED.split(' '));
        let list_itself = file.path.ends_with("tests/tidy/shape.rs");
        found.into_iter().filter(|_| !list_itself).collect()
    });
}

#[test]
fn an_ignored_test_has_a_reason() {
    hold(&[("a.rs", "#[test]\n#[ignore]\nfn b() {}")], |file, _| {
        lines_where(&file.text, |line| line.trim() == "#[ignore]")
    });
}

#[test]
fn every_source_file_is_compiled() {
    let planted = ["a/src/b.rs", "a/src/b/c.rs", "a/tests/it/b.rs"];
    hold(&planted.map(|path| (path, "//! Lost.")), |file, tree| {
        let path = file.path.trim_end_matches(".rs").trim_end_matches("/mod");
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        let module = file.is("rs") && SOURCES.iter().any(|part| folder.contains(part));
        let root = folder.ends_with("/src/bin") || ["lib", "main"].contains(&name);
        let declared = tree.iter().any(|other| {
            let beside = other.path.rsplit_once('/').is_some_and(|(of, _)| of == folder);
            let parent = beside || other.path == format!("{folder}.rs");
            parent && has_word(&other.text, &format!("mod {name};"))
        });
        complain(module && !root && !declared, "no file has it as a `mod`")
    });
}

#[test]
fn every_example_is_tested() {
    hold(&[("examples/lost.yml", "steps: {}")], |file, tree| {
        if !file.path.starts_with("examples/") || !file.is("yml") {
            return Vec::new();
        }
        let name = file.path.rsplit('/').next().unwrap_or_default();
        let mut tests = tree.iter().filter(|other| other.path.contains("/tests/"));
        let named = tests.any(|test| test.text.contains(name));
        complain(!named, "no test names this example")
    });
}
