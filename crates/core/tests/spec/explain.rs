//! The page of every code: its wrong example has the problem, and its right example has none.

use windlass_core::problem::{ProblemCode, ProblemStyle, SourceFile, render_problem};

use crate::outline::problems;

/// Codes whose cause does not fit on a page.
const WITHOUT_EXAMPLE: [ProblemCode; 3] =
    [ProblemCode::NotText, ProblemCode::TooLarge, ProblemCode::PlanTooLarge];

#[test]
fn every_page_shows_its_own_problem() {
    for code in ProblemCode::ALL {
        let page = code.page();
        assert!(page.starts_with(&format!("# {code}: ")), "{code} has no title");
        if WITHOUT_EXAMPLE.contains(code) {
            continue;
        }
        let [wrong, right] = examples(page)[..] else { panic!("{code} needs two examples") };
        let found: Vec<ProblemCode> =
            problems(wrong, &given(wrong)).iter().map(|p| p.code).collect();
        assert!(found.contains(code), "the wrong example of {code} shows {found:?}");
        let found: Vec<String> =
            problems(right, &given(right)).iter().map(|p| p.title.clone()).collect();
        assert!(found.is_empty(), "the right example of {code} shows {found:?}");
    }
}

#[test]
fn every_corrected_line_removes_the_problem() {
    let mut corrected = 0;
    for code in ProblemCode::ALL {
        let Some(wrong) = examples(code.page()).first().copied() else { continue };
        let found = problems(wrong, &given(wrong));
        let Some(fix) = found.iter().find(|p| p.code == *code).and_then(|p| p.fix.clone()) else {
            continue;
        };
        let mut text = wrong.to_owned();
        text.replace_range(fix.span, &fix.text);
        let left: Vec<String> =
            problems(&text, &given(wrong)).iter().map(|p| p.title.clone()).collect();
        assert!(left.is_empty(), "with the line of {code} there is still: {left:?}\n{text}");
        corrected += 1;
    }
    assert!(corrected >= 22, "{corrected}");
}

#[test]
fn codes_can_be_looked_up() {
    assert_eq!(ProblemCode::parse("e029"), Some(ProblemCode::BareNumber));
    assert_eq!(ProblemCode::parse("E999"), None);
}

/// Reads params from a first line `# given: name=value`.
fn given(text: &str) -> Vec<(&str, &str)> {
    let line = text.lines().next().and_then(|line| line.strip_prefix("# given: "));
    line.and_then(|line| line.split_once('=')).into_iter().collect()
}

fn examples(page: &str) -> Vec<&str> {
    page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

/// Every message as a user sees it after writing the wrong example of its page.
#[test]
fn every_message_in_plain_text() {
    let pages = ProblemCode::ALL.iter().filter_map(|code| diagnosis(*code, ProblemStyle::Plain));
    insta::assert_snapshot!(pages.collect::<Vec<String>>().join("\n"));
}

#[test]
fn color_changes_nothing_but_escapes() {
    for code in ProblemCode::ALL.iter().filter(|code| !WITHOUT_EXAMPLE.contains(code)) {
        let plain = diagnosis(*code, ProblemStyle::Plain).expect("it has an example");
        let coloured = diagnosis(*code, ProblemStyle::Colour).expect("it has an example");
        assert_eq!(without_colour(&coloured), plain, "{code}");
        assert_ne!(coloured, plain, "{code} has no colour");
    }
}

fn diagnosis(code: ProblemCode, style: ProblemStyle) -> Option<String> {
    let wrong = examples(code.page()).first().copied()?;
    let source = SourceFile::new("windlass.yml", wrong);
    let found = problems(wrong, &given(wrong));
    let of_code = found.iter().filter(|problem| problem.code == code);
    Some(of_code.map(|problem| render_problem(problem, &source, style)).collect())
}

/// Returns the text without `ESC [ … m`.
fn without_colour(text: &str) -> String {
    let mut parts = text.split('\u{1b}');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |plain, part| plain + part.split_once('m').map_or(part, |(_, rest)| rest))
}
