//! Writes the reference of the pipeline file and of its expressions; `reference --check` compares and writes nothing.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program that reports in text")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use windlass_core::expr::expression_reference;
use windlass_core::spec::pipeline_reference;

const HELP: &str = "usage: reference [--check]";

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["--help" | "-h"] => Ok(HELP.to_owned()),
        [] => write(&folder()),
        ["--check"] => check(&folder()),
        _ => {
            eprintln!("{HELP}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("reference: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference")
}

/// The pages, by the name of their file.
fn pages() -> [(&'static str, String); 2] {
    [("pipeline.md", pipeline_reference()), ("expressions.md", expression_reference())]
}

fn check(folder: &Path) -> Result<String, String> {
    for (name, page) in pages() {
        let text = fs::read_to_string(folder.join(name));
        if text.map_err(|error| format!("{name}: {error}"))? != page {
            return Err(format!(
                "docs/reference/{name} differs from the tables: \
                 run `cargo run -p windlass-testkit --bin reference`"
            ));
        }
    }
    Ok("the reference is current".to_owned())
}

fn write(folder: &Path) -> Result<String, String> {
    for (name, page) in pages() {
        fs::write(folder.join(name), page).map_err(|error| format!("{name}: {error}"))?;
    }
    Ok("wrote the reference".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_finds_a_page_that_differs_from_the_tables() {
        let folder = env::temp_dir().join(format!("windlass-reference-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("there is room for a folder");
        write(&folder).expect("pages can be written");
        assert!(check(&folder).is_ok());
        fs::write(folder.join("pipeline.md"), "# Old\n").expect("a page can be written");
        assert!(check(&folder).is_err());
        fs::remove_dir_all(&folder).expect("it was made above");
    }
}
