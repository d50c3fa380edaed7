//! Prints the measures of the code as a table; `house --words [PATH]` prints the words for persons in the prose.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program that reports in text")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::{env, fs, io};

use windlass_testkit::house::{
    HouseMeasures, ProseLine, RepositoryFile, is_person_word, repository_files, repository_root,
};

const HELP: &str = "usage: house            print the measures of this repository
       house FOLDER     print those of another checkout
       house --words        print per folder how often its prose stands for a person
       house --words PATH   print the lines below PATH that do";
/// Parts of a path that tell a folder from another one: `crates/core/src/engine`.
const FOLDER_DEPTH: usize = 4;

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let report = match words[..] {
        ["--help" | "-h"] => Ok(HELP.to_owned()),
        [] => measures(&repository_root()),
        ["--words"] => repository_files(&repository_root()).map(|files| folders(&files)),
        ["--words", path] => repository_files(&repository_root()).map(|files| lines(&files, path)),
        [folder] if !folder.starts_with('-') => measures(Path::new(folder)),
        _ => {
            eprintln!("{HELP}");
            return ExitCode::from(2);
        }
    };
    match report {
        Ok(report) => {
            println!("{}", report.trim_end());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("house: {error}");
            ExitCode::FAILURE
        }
    }
}

fn measures(root: &Path) -> io::Result<String> {
    let lock_file = fs::read_to_string(root.join("Cargo.lock"))?;
    Ok(HouseMeasures::of(&repository_files(root)?, &lock_file).to_string())
}

/// The number of words for persons in each folder, and their sum.
fn folders(files: &[RepositoryFile]) -> String {
    let mut counts = BTreeMap::<String, usize>::new();
    for file in files {
        let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let parts: Vec<&str> = folder.split('/').take(FOLDER_DEPTH).collect();
        let prose = file.prose();
        let words = prose.iter().flat_map(ProseLine::words);
        *counts.entry(parts.join("/")).or_default() += words.filter(|w| is_person_word(w)).count();
    }
    let sum: usize = counts.values().sum();
    let rows = counts.iter().map(|(folder, count)| format!("{count:>6}  {folder}/\n"));
    rows.collect::<String>() + &format!("{sum:>6}  in all\n")
}

fn lines(files: &[RepositoryFile], path: &str) -> String {
    let mut lines = Vec::new();
    for file in files.iter().filter(|file| file.path.starts_with(path)) {
        let prose = file.prose().into_iter();
        for line in prose.filter(|line| line.words().any(is_person_word)) {
            let text = file.text.lines().nth(line.number - 1).unwrap_or_default().trim();
            lines.push(format!("{}:{}: {text}", file.path, line.number));
        }
    }
    lines.join("\n")
}
