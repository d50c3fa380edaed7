//! Every example of the reference is run by the program.

use std::fs;
use std::path::Path;

use crate::support::project_folder::ProjectFolder;

/// The example that calls a function of another program: the file alone cannot be run.
const NEEDS_A_PROGRAM: &str = "call: resize";

#[test]
fn every_example_of_the_reference_runs() {
    for page in ["pipeline.md", "expressions.md"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(page);
        let text = fs::read_to_string(path).expect("the page is generated");
        let blocks = text.split("```yaml\n").skip(1);
        let examples: Vec<&str> = blocks.filter_map(|rest| rest.split("```").next()).collect();
        assert!(!examples.is_empty(), "{page} has no examples");
        for example in examples {
            let project = ProjectFolder::with(example).set("DEPLOY_TOKEN", "s3cr3t-value");
            let wanted = if example.contains(NEEDS_A_PROGRAM) { 3 } else { 0 };
            let ended = project.run("run");
            assert_eq!(ended.code, Some(wanted), "{example}\n{ended:?}");
        }
    }
}
