//! Samples in the dialect of each test runner, and hostile files.

use std::fmt::Write as _;

use super::xml_reader::XmlProblem;
use super::{FAILING_MAX, JunitError, MESSAGE_MAX, MESSAGES_MAX, TestReport, read_junit};
use crate::time::Span;

fn read(text: &str) -> Result<TestReport, JunitError> {
    read_junit(text.as_bytes(), &str::to_owned)
}

fn report(text: &str) -> TestReport {
    read(text).unwrap_or_else(|error| panic!("{error} in {text}"))
}

/// Counts and duration in one line, then one line per failing test.
fn shown(text: &str) -> String {
    let report = report(text);
    let TestReport { tests, failures, errors, skipped, duration, failing } = report;
    let mut lines =
        format!("{tests} tests, {failures} failed, {errors} errors, {skipped} skipped, {duration}");
    for test in failing {
        let _ = write!(lines, "\n{} ({}) {:?}", test.title(), test.duration, test.message);
    }
    lines
}

#[test]
fn pytest_report_is_read() {
    let text = r#"<?xml version="1.0" encoding="utf-8"?>
<testsuites name="pytest tests"><testsuite name="pytest" errors="1" failures="1" skipped="1" tests="4" time="0.123" timestamp="2026-11-19T10:00:00" hostname="h">
<testcase classname="tests.test_calc" name="test_adds" time="0.001" />
<testcase classname="tests.test_calc.TestSub" name="test_subtracts[1-2]" time="0.002"><failure message="assert -1 == 1&#10; +  where -1 = sub(1, 2)">def test_subtracts(a, b):
&gt;       assert sub(a, b) == 1
E       assert -1 == 1

tests/test_calc.py:9: AssertionError</failure></testcase>
<testcase classname="tests.test_calc" name="test_later" time="0.000"><skipped type="pytest.skip" message="not yet">tests/test_calc.py:12: not yet</skipped></testcase>
<testcase classname="tests.test_calc" name="test_db" time="0.004"><error message="failed on setup with &quot;KeyError: 'DB'&quot;">KeyError</error></testcase>
</testsuite></testsuites>"#;
    assert_eq!(
        shown(text),
        "4 tests, 1 failed, 1 errors, 1 skipped, 123ms\n\
         tests.test_calc.TestSub: test_subtracts[1-2] (2ms) \"assert -1 == 1\\n +  where -1 = sub(1, 2)\\n\
         def test_subtracts(a, b):\\n>       assert sub(a, b) == 1\\nE       assert -1 == 1\\n\\n\
         tests/test_calc.py:9: AssertionError\"\n\
         tests.test_calc: test_db (4ms) \"failed on setup with \\\"KeyError: 'DB'\\\"\\nKeyError\""
    );
}

#[test]
fn nextest_report_is_read_and_a_flaky_test_counts_as_passed() {
    let text = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="3" failures="1" errors="0" uuid="8b0d" timestamp="2026-11-19T10:00:00.000+00:00" time="0.750">
    <testsuite name="calc::it" tests="3" disabled="0" errors="0" failures="1">
        <testcase name="adds" classname="calc::it" timestamp="2026-11-19T10:00:00.000+00:00" time="0.012">
        </testcase>
        <testcase name="subtracts" classname="calc::it" time="0.034">
            <failure message="thread 'subtracts' panicked at tests/it.rs:9:5" type="test failure with exit code 101">thread 'subtracts' panicked at tests/it.rs:9:5:
assertion `left == right` failed
  left: -1
 right: 1</failure>
            <rerunFailure timestamp="2026-11-19T10:00:01.000+00:00" time="0.030" type="test failure"><system-out>again</system-out></rerunFailure>
            <system-out>running 1 test</system-out>
            <system-err>thread 'subtracts' panicked</system-err>
        </testcase>
        <testcase name="flaky" classname="calc::it" time="0.010">
            <flakyFailure timestamp="2026-11-19T10:00:01.000+00:00" time="0.030" message="lost" type="test failure"/>
        </testcase>
    </testsuite>
</testsuites>"#;
    assert_eq!(
        shown(text),
        "3 tests, 1 failed, 0 errors, 0 skipped, 750ms\n\
         calc::it: subtracts (34ms) \"thread 'subtracts' panicked at tests/it.rs:9:5:\\n\
         assertion `left == right` failed\\n  left: -1\\n right: 1\""
    );
}

#[test]
fn surefire_report_is_read_with_thousands_separators() {
    let text = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuite xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" version="3.0" name="org.example.CalcTest" time="1,234.5" tests="2" errors="0" skipped="1" failures="1">
  <properties><property name="java.version" value="21"/></properties>
  <testcase name="adds" classname="org.example.CalcTest" time="0.02">
    <failure message="expected:&lt;3&gt; but was:&lt;4&gt;" type="java.lang.AssertionError"><![CDATA[java.lang.AssertionError: expected:<3> but was:<4>
	at org.example.CalcTest.adds(CalcTest.java:9)
]]></failure>
  </testcase>
  <testcase name="later" classname="org.example.CalcTest" time="0"><skipped/></testcase>
</testsuite>"#;
    assert_eq!(
        shown(text),
        "2 tests, 1 failed, 0 errors, 1 skipped, 1234500ms\n\
         org.example.CalcTest: adds (20ms) \"java.lang.AssertionError: expected:<3> but was:<4>\\n\
         \\tat org.example.CalcTest.adds(CalcTest.java:9)\""
    );
}

#[test]
fn gotestsum_report_is_read() {
    let text = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="2" failures="1" errors="0" time="0.512">
	<testsuite tests="2" failures="1" time="0.003000" name="example.com/calc" timestamp="2026-11-19T10:00:00Z">
		<properties><property name="go.version" value="go1.24 linux/amd64"></property></properties>
		<testcase classname="example.com/calc" name="TestAdds" time="0.001000"></testcase>
		<testcase classname="example.com/calc" name="TestSubtracts/negative" time="0.002000">
			<failure message="Failed" type="">=== RUN   TestSubtracts/negative&#xA;    calc_test.go:12: got -1&#xA;--- FAIL: TestSubtracts/negative (0.00s)&#xA;</failure>
		</testcase>
	</testsuite>
</testsuites>"#;
    assert_eq!(
        shown(text),
        "2 tests, 1 failed, 0 errors, 0 skipped, 512ms\n\
         example.com/calc: TestSubtracts/negative (2ms) \"Failed\\n=== RUN   TestSubtracts/negative\\n    \
         calc_test.go:12: got -1\\n--- FAIL: TestSubtracts/negative (0.00s)\""
    );
}

#[test]
fn jest_report_is_read() {
    let text = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="jest tests" tests="2" failures="1" errors="0" time="1.2">
  <testsuite name="calc" errors="0" failures="1" skipped="0" timestamp="2026-11-19T10:00:00" time="0.9" tests="2">
    <testcase classname="calc adds" name="calc adds" time="0.003">
    </testcase>
    <testcase classname="calc subtracts" name="calc subtracts" time="0.004">
      <failure>Error: expect(received).toBe(expected) // Object.is equality

Expected: 1
Received: -1
    at Object.&lt;anonymous&gt; (calc.test.js:9:21)</failure>
    </testcase>
  </testsuite>
</testsuites>"#;
    assert_eq!(
        shown(text),
        "2 tests, 1 failed, 0 errors, 0 skipped, 1200ms\n\
         calc subtracts: calc subtracts (4ms) \"Error: expect(received).toBe(expected) // Object.is equality\\n\\n\
         Expected: 1\\nReceived: -1\\n    at Object.<anonymous> (calc.test.js:9:21)\""
    );
}

#[test]
fn nested_suites_without_counts_and_durations_are_added_up() {
    let text = r"<testsuites>
  <testsuite name='outer'>
    <testsuite name='inner'>
      <testcase name='a' time='0.5'/>
      <testcase name='b' time='0.25'><error/></testcase>
    </testsuite>
    <testcase name='c' time='1e-1'><failure type='Timeout'/></testcase>
    <testcase name='d' status='notrun'/>
  </testsuite>
</testsuites>";
    assert_eq!(
        shown(text),
        "4 tests, 1 failed, 1 errors, 1 skipped, 850ms\n\
         inner: b (250ms) \"\"\n\
         outer: c (100ms) \"Timeout\""
    );
}

#[test]
fn own_report_of_windlass_is_read() {
    let text = r#"<testsuites name="ci" tests="1" failures="1"><testsuite name="ci">
    <testcase name="test" classname="ci" time="3.100">
      <failure message="exit 101" type="failed">one
two</failure>
    </testcase></testsuite></testsuites>"#;
    let expected = "1 tests, 1 failed, 0 errors, 0 skipped, 3100ms\nci: test (3100ms) \"exit 101\\none\\ntwo\"";
    assert_eq!(shown(text), expected);
}

#[test]
fn several_failures_of_one_case_count_once() {
    let text = "<testsuite><testcase name='a'><failure message='one'/><failure>two</failure>\
                <error message='three'/><skipped/></testcase></testsuite>";
    assert_eq!(
        shown(text),
        "1 tests, 0 failed, 1 errors, 0 skipped, 0s\na (0s) \"one\\ntwo\\nthree\""
    );
}

#[test]
fn files_that_are_no_reports_are_refused_with_the_reason() {
    let problem = |text: &str| read(text).expect_err("it is refused").to_string();
    assert_eq!(problem(""), "it is empty");
    assert_eq!(problem("\u{feff}  \n"), "it is empty");
    assert_eq!(problem("{\"tests\": 1}"), "it cannot be read as XML: line 1 is not XML");
    assert_eq!(problem("<coverage/>"), "its root is not `<testsuites>` or `<testsuite>`");
    assert_eq!(
        problem("<testsuites>\n<testsuite name='x'"),
        "it cannot be read as XML: it ends within the markup that begins in line 2"
    );
    assert_eq!(
        problem("<testsuites>\n<testsuite>"),
        "it cannot be read as XML: it ends within `<testsuite>`"
    );
    assert_eq!(
        problem("<testsuites>\n\n</testsuite>"),
        "it cannot be read as XML: line 3 has an end tag without its beginning"
    );
    assert!(problem("<testsuite><![CDATA[").contains("it ends within the markup"));
    assert!(problem("<testsuite><!-- ").contains("it ends within the markup"));
    assert!(problem("<testsuite></testsuite>\nrest").contains("line 2 is not XML"));
}

#[test]
fn depth_of_elements_is_limited() {
    let text = "<testsuite>".repeat(65);
    assert_eq!(read(&text), Err(JunitError::Xml(XmlProblem::TooDeep(1))));
    let text = "<testsuite>".repeat(64) + &"</testsuite>".repeat(64);
    assert_eq!(report(&text), TestReport::default());
}

#[test]
fn entities_of_the_document_are_neither_expanded_nor_fetched() {
    let text = r#"<?xml version="1.0"?>
<!DOCTYPE testsuites [
 <!ENTITY lol "lol">
 <!ENTITY lol9 "&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;&lol;">
 <!ENTITY file SYSTEM "file:///etc/passwd">
]>
<testsuites><testcase name="&lol9;"><failure>&file; &unknownandlong; &#0; &#xD800; & &amp;lt; &#65;</failure></testcase></testsuites>"#;
    assert_eq!(
        shown(text),
        "1 tests, 1 failed, 0 errors, 0 skipped, 0s\n\
         &lol9; (0s) \"&file; &unknownandlong; \u{fffd} \u{fffd} & &lt; A\""
    );
}

#[test]
fn names_and_messages_are_limited_and_further_tests_are_counted() {
    let case = format!(
        "<testcase name='{}'><failure>{}</failure></testcase>",
        "ä".repeat(1000),
        "鎖".repeat(5000)
    );
    let report = report(&format!("<testsuite>{}</testsuite>", case.repeat(FAILING_MAX + 5)));
    assert_eq!((report.failures, report.failing.len()), (105, FAILING_MAX));
    let bytes = |index: usize| report.failing[index].message.len();
    assert_eq!((bytes(0), bytes(99)), (MESSAGE_MAX / 3 * 3, 0));
    assert!(report.failing.iter().map(|test| test.message.len()).sum::<usize>() <= MESSAGES_MAX);
    assert!(report.failing.iter().all(|test| test.name.len() == 256));
}

#[test]
fn largest_report_fits_into_its_limit() {
    let case = format!(
        "<testcase classname='{0}' name='{0}'><failure>{0}</failure></testcase>",
        "\u{1}".repeat(5000)
    );
    let report = report(&format!("<testsuite>{}</testsuite>", case.repeat(FAILING_MAX)));
    let json = serde_json::to_string(&report).expect("texts and numbers can be written as JSON");
    assert!(json.len() <= super::REPORT_JSON_MAX, "{} bytes", json.len());
    assert_eq!(serde_json::from_str::<TestReport>(&json).ok(), Some(report));
}

#[test]
fn secret_is_masked_before_a_message_is_cut() {
    let message = "x".repeat(MESSAGE_MAX - 3) + "se&#99;ret" + "<![CDATA[-key]]>";
    let text = format!(
        "<testsuite><testcase name='secret-key'><failure>{message}</failure></testcase></testsuite>"
    );
    let cover = |text: &str| text.replace("secret-key", "***");
    let report = read_junit(text.as_bytes(), &cover).expect("it is a report");
    assert_eq!(report.failing[0].name, "***");
    assert!(report.failing[0].message.ends_with("x***"));
}

#[test]
fn reports_of_several_files_are_added_up() {
    let one = "<testsuite time='1'><testcase name='a'/><testcase name='b'><failure/></testcase></testsuite>";
    let mut all = report(one);
    all.add(report("<testsuite time='2'><testcase name='c'><skipped/></testcase></testsuite>"));
    assert_eq!((all.tests, all.passed(), all.failing_count(), all.skipped), (3, 1, 1, 1));
    assert_eq!((all.duration, all.failing.len()), (Span::secs(3), 1));
}

#[test]
fn attributes_with_brackets_and_odd_durations_are_read() {
    let text = "<testsuite time='NaN'><testcase name='a > b' classname = \"it's\" time='-1'>\
                <failure message='1 < 2 />'/></testcase></testsuite>";
    assert_eq!(
        shown(text),
        "1 tests, 1 failed, 0 errors, 0 skipped, 0s\nit's: a > b (0s) \"1 < 2 />\""
    );
}

#[test]
fn hostile_files_take_linear_time() {
    for part in ["<!--", "<", "<a ", "&", "<![CDATA[", "</", "<!", "<?", "<a b='"] {
        drop(read(&format!("<testsuite>{}", part.repeat(300_000))));
        drop(read(&format!("<testsuite><testcase><failure>{}", part.repeat(300_000))));
    }
    let many = "<testcase><failure>x</failure></testcase>".repeat(100_000);
    assert_eq!(report(&format!("<testsuite>{many}</testsuite>")).failures, 100_000);
}
