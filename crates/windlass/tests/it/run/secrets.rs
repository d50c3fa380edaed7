//! Secrets of steps that print them in every way: nobody sees them.

use std::fs;
use std::path::{Path, PathBuf};

use super::arrange::Place;

const SECRET: &str = "hunter2/\"käse\"+zz top";
const BASE64: &str = "aHVudGVyMi8ia8Okc2UiK3p6IHRvcA==";
const FOR_URLS: &str = "hunter2%2F%22k%C3%A4se%22%2Bzz%20top";
const IN_JSON: &str = "hunter2/\\\"käse\\\"+zz top";

const LEAKY: &str = r#"
name: leaky
steps:
  prints: { secrets: [TOKEN], run: 'printf "%s\n" "$TOKEN"; cat forms; printf "%s" "$TOKEN" | base64 -w 0; printf "%s" "$TOKEN" >&2' }
  pauses: { secrets: [TOKEN], run: 'cat first; sleep 0.3; cat second; echo' }
  fails: { secrets: [TOKEN], run: 'echo "x=$TOKEN" > "$WINDLASS_OUTPUT"; echo "**$TOKEN**" > "$WINDLASS_SUMMARY"; echo "no $TOKEN"; exit 9' }
  hands-on: { secrets: [TOKEN], outputs: [t], run: 'echo "t=$TOKEN" > "$WINDLASS_OUTPUT"; echo "**$TOKEN**" > "$WINDLASS_SUMMARY"' }
  takes: { needs: hands-on, run: 'echo "got ${{ steps.hands-on.outputs.t }}"' }
  garbage: { secrets: [TOKEN], run: 'echo "this is a long line that ends in the secret $TOKEN" > "$WINDLASS_OUTPUT"' }
  hangs: { secrets: [TOKEN], timeout: 500ms, run: 'echo "x=$TOKEN" > "$WINDLASS_OUTPUT"; echo "$TOKEN"; sleep 1000' }
"#;

fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).expect("it is there").flatten().map(|entry| entry.path()) {
        if path.is_dir() { files_below(&path, found) } else { found.push(path) }
    }
}

/// Nothing of the secret is in these bytes, in no form.
fn clean(bytes: &[u8], place: &str) {
    let forms = [SECRET, BASE64.trim_end_matches('='), FOR_URLS, IN_JSON, "hunter2"];
    for form in forms {
        let found = bytes.windows(form.len()).any(|window| window == form.as_bytes());
        assert!(!found, "{form} in {place}: {}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn a_secret_is_seen_nowhere() {
    for mode in ["--output stream", "--output group", "--json"] {
        let place = Place::with(LEAKY).set("TOKEN", SECRET);
        place.file("forms", format!("{BASE64}\n{FOR_URLS}\n{IN_JSON}\n"));
        let middle = SECRET.len() / 2;
        place.file("first", &SECRET.as_bytes()[..middle]);
        place.file("second", &SECRET.as_bytes()[middle..]);
        let ended = place.run(&format!("run --keep-going --junit report.xml {mode}"));
        assert_eq!(ended.code, Some(1), "{ended:?}");
        clean(ended.out.as_bytes(), "standard output");
        clean(ended.err.as_bytes(), "standard error");
        clean(place.read("report.xml").as_bytes(), "the report");
        for line in ["show latest --json", "show latest", "logs latest", "runs --json"] {
            let told = place.run(line);
            clean(told.out.as_bytes(), line);
            clean(told.err.as_bytes(), line);
        }
        let mut files = Vec::new();
        files_below(&place.path().join(".windlass"), &mut files);
        for file in files {
            clean(&fs::read(&file).expect("it can be read"), &file.display().to_string());
        }
        assert_eq!(place.data("logs latest pauses"), "***\n");
        assert_eq!(place.data("logs latest takes"), "got ***\n");
        assert!(place.data("logs latest prints").starts_with("***\n***"));
    }
}

#[test]
fn a_secret_that_cannot_be_covered_or_found_fails_its_step() {
    let pipeline = "name: s\nsteps:\n  s: { secrets: [TOKEN], run: 'echo ran >> trace' }\n";
    for place in [Place::with(pipeline), Place::with(pipeline).set("TOKEN", "x")] {
        let ended = place.run("run");
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.err.contains("TOKEN"), "{}", ended.err);
        assert_eq!(place.read("trace"), "");
    }
}
