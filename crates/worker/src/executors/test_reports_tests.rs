//! Reports as files: found by patterns, too old, broken, too large.

use std::time::Duration;

use tempfile::TempDir;

use super::*;

const PASSED: &str = "<testsuite><testcase name=\"a\"/></testsuite>";
const FAILED: &str = "<testsuite><testcase name=\"b\"><failure>the key is hunter2-hunter2</failure></testcase></testsuite>";

/// A folder in which an attempt has begun.
struct AttemptFolder {
    folder: TempDir,
    files: TestReportFiles,
}

impl AttemptFolder {
    fn new(patterns: &[&str]) -> Self {
        let folder = TempDir::new().unwrap();
        let marker = folder.path().join("marker");
        let patterns = patterns.iter().map(|&text| text.to_owned()).collect();
        let files = TestReportFiles::new(folder.path().to_owned(), Ok(patterns), &marker);
        assert!(!marker.exists());
        Self { folder, files }
    }

    fn write(&self, path: &str, text: &str) -> PathBuf {
        let file = self.folder.path().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, text).unwrap();
        file
    }

    fn read(&self) -> ReadFiles {
        self.files.read(&SecretMasks::default())
    }

    /// The counts of tests and of failing tests, and the notices.
    fn counts(&self) -> (Option<(u32, u32)>, Vec<String>) {
        let ReadFiles { report, notices } = self.read();
        (report.map(|report| (report.tests, report.failing_count())), notices)
    }
}

#[test]
fn files_that_patterns_select_are_added_up() {
    let attempt =
        AttemptFolder::new(&["out/one.xml", "mods/**/TEST-*.xml", "!mods/skip", "report"]);
    attempt.write("out/one.xml", PASSED);
    attempt.write("mods/x/y/TEST-a.xml", FAILED);
    attempt.write("mods/x/y/other.xml", FAILED);
    attempt.write("mods/skip/TEST-b.xml", FAILED);
    attempt.write("report", PASSED);
    assert_eq!(attempt.counts(), (Some((3, 1)), Vec::new()));
}

#[test]
fn other_files_of_a_selected_folder_are_no_reports() {
    let attempt = AttemptFolder::new(&["reports"]);
    attempt.write("reports/a.xml", PASSED);
    attempt.write("reports/index.html", "<html>");
    assert_eq!(attempt.counts(), (Some((1, 0)), Vec::new()));
}

#[test]
fn missing_files_are_named() {
    let attempt = AttemptFolder::new(&["target/junit.xml", "out/*.xml"]);
    let notices = ["target/junit.xml does not exist", "no file matches out/*.xml"];
    assert_eq!(attempt.counts(), (None, notices.map(str::to_owned).to_vec()));
}

#[test]
fn file_of_an_earlier_attempt_is_ignored() {
    let attempt = AttemptFolder::new(&["junit.xml"]);
    let file = attempt.write("junit.xml", FAILED);
    let before = attempt.files.prepared_at.unwrap() - Duration::from_millis(1);
    fs::File::open(&file).unwrap().set_modified(before).unwrap();
    let notice = "junit.xml is ignored: it was not written since this attempt began";
    assert_eq!(attempt.counts(), (None, vec![notice.to_owned()]));
    let same_second = before - Duration::from_nanos(u64::from(nanos(before)));
    fs::File::open(&file).unwrap().set_modified(same_second).unwrap();
    let prepared_in_same_second = nanos(before) < 999_000_000;
    assert_eq!(attempt.counts().0.is_some(), prepared_in_same_second);
}

fn nanos(at: SystemTime) -> u32 {
    at.duration_since(SystemTime::UNIX_EPOCH).unwrap().subsec_nanos()
}

#[test]
fn broken_file_is_named_and_the_others_count() {
    let attempt = AttemptFolder::new(&["*.xml"]);
    attempt.write("a.xml", "<testsuite><testcase");
    attempt.write("b.xml", "<coverage/>");
    attempt.write("c.xml", PASSED);
    let (counts, notices) = attempt.counts();
    assert_eq!(counts, Some((1, 0)));
    assert_eq!(
        notices,
        [
            "a.xml is no JUnit report: it cannot be read as XML: it ends within the markup that begins in line 1",
            "b.xml is no JUnit report: its root is not `<testsuites>` or `<testsuite>`",
        ]
    );
}

#[test]
fn folder_link_and_large_file_are_no_reports() {
    let attempt = AttemptFolder::new(&["a.xml", "b.xml", "loop/**/c.xml"]);
    attempt.write("a.xml/inside", "");
    let large = attempt.write("b.xml", "");
    fs::File::options().write(true).open(large).unwrap().set_len(FILE_MAX as u64 + 1).unwrap();
    std::os::unix::fs::symlink(attempt.folder.path(), attempt.folder.path().join("loop")).unwrap();
    let (counts, notices) = attempt.counts();
    assert_eq!(counts, None);
    assert_eq!(
        notices,
        [
            "a.xml does not exist",
            "no file matches loop/**/c.xml",
            "b.xml is ignored: it has more than 16 MiB",
        ]
    );
}

#[test]
fn pattern_that_leads_out_of_the_root_is_refused() {
    let attempt = AttemptFolder::new(&["../*.xml"]);
    let (counts, notices) = attempt.counts();
    assert_eq!(counts, None);
    assert!(notices[0].contains("leads out of the workspace"), "{notices:?}");
}

#[test]
fn secret_is_masked_in_messages() {
    let attempt = AttemptFolder::new(&["junit.xml"]);
    attempt.write("junit.xml", FAILED);
    let masks = SecretMasks::new([("KEY", "hunter2-hunter2")]).unwrap();
    let report = attempt.files.read(&masks).report.unwrap();
    assert_eq!(report.failing[0].message, "the key is ***");
}
