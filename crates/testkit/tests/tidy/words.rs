//! Names and prose: each name once, each actor by its noun, each word spelled correctly.

use std::io::Write as _;
use std::process::{Command, Stdio};

use windlass_testkit::house::{ProseLine, RepositoryFile, TypeDefinitions, is_person_word};

use crate::source::lines_where;
use crate::{hold, planted_file, repository};

/// Names of files that are figures of speech and say nothing about their content.
const FIGURES_OF_SPEECH: &str = "station office crew desk seat seats door doors letter letters post postman epitaph \
    testament chronicle keeper shadow heard hands charge voices floor ink look marks painter moment belief tenure \
    flight intake wishes duties approach own found told adopted news line part written how";
/// Documents and texts whose spelling is checked.
const SPELLED: [&str; 4] = ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md"];
/// Persons that relative clauses describe.
const PERSONS: [&str; 2] = ["user", "reader"];
/// Words of the field that no general dictionary has.
const DICTIONARY: &str = include_str!("dictionary.txt");

#[test]
fn less_than_a_tenth_of_the_types_share_their_name() {
    let shared = |files: &[RepositoryFile]| {
        let definitions = TypeDefinitions::of(files);
        (definitions.sharing() * 10 >= definitions.count(), format!("{definitions:?}"))
    };
    let planted =
        ["crates/a/src/b.rs", "crates/a/src/c.rs"].map(|path| planted_file(path, "struct A;"));
    assert!(shared(&planted).0, "the rule accepts two types of one name");
    let (too_many, definitions) = shared(&repository());
    assert!(!too_many, "{definitions}");
}

#[test]
fn prose_names_its_actors() {
    let planted = [
        ("a.md", "It is for whoever asks."),
        ("a/src/b.rs", "//! Nobody knows."),
        ("a.md", "The leader tells who asks."),
    ];
    hold(&planted, |file, _| {
        let lines = file.prose().into_iter().filter(names_no_actor);
        lines.map(|line| format!("line {}: {}", line.number, line.text.trim())).collect()
    });
}

/// Whether a line has a word for a person in place of an actor. A person can be the subject of a relative clause.
fn names_no_actor(line: &ProseLine) -> bool {
    let words: Vec<&str> = line.words().collect();
    (0..words.len()).any(|at| {
        let before = at.checked_sub(1).map_or("", |before| words[before]);
        is_person_word(words[at]) && !(words[at] == "who" && PERSONS.contains(&before))
    })
}

#[test]
fn no_file_is_named_like_a_figure_of_speech() {
    let planted = ["crates/a/src/epitaph.rs", "crates/a/src/doors/mod.rs"];
    hold(&planted.map(|path| (path, "//! A.")), |file, _| {
        let path = file.path.trim_end_matches(".rs");
        let names = path.split('/').filter(|_| file.is("rs"));
        let figures =
            names.filter(|name| FIGURES_OF_SPEECH.split(' ').any(|figure| figure == *name));
        figures.map(|name| format!("`{name}` is a figure of speech")).collect()
    });
}

/// The spelling checker is a program of the system; `./test.sh setup` installs it.
#[test]
fn help_and_documents_are_spelled_correctly() {
    let planted = misspelled(&["The leeder grants leases.".to_owned()]);
    assert_eq!(planted, ["leeder"], "the checker finds a mistake");
    let tree = repository();
    let documents = tree.iter().filter(|file| {
        SPELLED.contains(&&*file.path) || file.path.starts_with("docs/") && file.is("md")
    });
    let prose = documents.flat_map(RepositoryFile::prose).map(|line| line.text);
    let help = include_str!("../../../windlass/tests/golden/surface/help.txt");
    let help =
        lines_where(help, |line| line.starts_with("  ") && !line.trim_start().starts_with('-'));
    let words =
        misspelled(&prose.chain(help.iter().map(|line| without_code(line))).collect::<Vec<_>>());
    assert!(
        words.is_empty(),
        "unknown words: {words:?}; correct them, or add them to dictionary.txt"
    );
}

/// Blanks code between backticks.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

/// Returns the words of these lines that neither the dictionary of British English nor ours has, sorted.
fn misspelled(lines: &[String]) -> Vec<String> {
    let mut checker = Command::new("hunspell")
        .args(["-l", "-d", "en_GB"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("hunspell and its dictionary en_GB are installed: run `./test.sh setup`");
    let mut input = checker.stdin.take().expect("it was asked for");
    let text = lines.join("\n");
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = checker.wait_with_output().expect("hunspell ends");
    writer.join().expect("the writer does not panic").expect("hunspell reads its input");
    let output = String::from_utf8(output.stdout).expect("words are UTF-8");
    let known = |word: &str| {
        let is_code = word.contains(|c: char| c.is_ascii_digit());
        is_code || DICTIONARY.lines().any(|known| known == word)
    };
    let mut words: Vec<String> =
        output.lines().filter(|word| !known(word)).map(str::to_owned).collect();
    words.sort_unstable();
    words.dedup();
    words
}
