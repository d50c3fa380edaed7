//! Every example is run, in a copy of the files that it needs.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::support::project_folder::ProjectFolder;

/// The exit code of each example without params.
const EXAMPLES: &[(&str, i32)] = &[
    ("checks.yml", 0),
    ("cleanup.yml", 1),
    ("fan-in.yml", 0),
    ("hello.yml", 0),
    ("locks.yml", 0),
    ("once.yml", 0),
    ("places.yml", 0),
    ("release.yml", 0),
    ("secrets.yml", 2),
    ("tour.yml", 0),
];

/// Returns the files of a folder with this ending.
fn names(folder: &Path, ending: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).expect("it is there").flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.ends_with(ending)).collect()
}

#[test]
fn every_example_is_listed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let listed = EXAMPLES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names(&folder, ".yml"), listed);
}

#[test]
fn every_example_runs() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (name, code) in EXAMPLES {
        let project = ProjectFolder::with("steps: { none: { run: 'true' } }");
        for page in names(&repository, ".md") {
            project.file(&page, fs::read(repository.join(&page)).expect("it can be read"));
        }
        fs::create_dir(project.path().join("examples")).expect("it is new");
        let example = format!("examples/{name}");
        project.file(&example, fs::read(repository.join(&example)).expect("it can be read"));
        let ended = project.run(&format!("run {example}"));
        assert_eq!(ended.code, Some(*code), "{example}: {ended:?}");
        assert_eq!(project.run(&format!("run {example} --dry-run")).code, Some(0), "{example}");
    }
}
