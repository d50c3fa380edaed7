//! Positions and corrections for odd files that the fuzzer found.

use windlass_core::problem::{Problem, ProblemSeverity, SourceFile};
use windlass_core::spec::{PipelineReadOptions, read_pipeline};

/// Files that made the parser loop, point beside the text, or suggest a line that was no better.
const ODD: &[&str] = &[
    "\u{feff}\"",
    "\n\u{feff}\"",
    "\u{feff}: !\r:",
    "\u{feff}steps: { a: { run: \"x } }",
    "k: {}é",
    "  : \"\n\t\u{202e}",
    "b: ::\n\tb: é:",
    "  e: h:\n\ty: {\u{301}: []}t",
    "   n: a:\n\tb: \"\"é",
    "[${{${{${{{{}} } é",
    "steps:\n\t::\n\tb\u{202e}:",
    "env: {B: ${{params.x\u{85}}}}",
    ": {}\nsteps:\n a:\n  env: {B: ${{\u{feff}}}}",
    ": \"${{}}\"}",
    "{[]}: ${{\r}}",
    "s: \"\"n: ${{\u{4}}}\"",
    "steps:\n m:\n  matrix: t]n",
    "matrix: 2}",
    "needs: >,",
    "name: n: #y",
    "if: !:",
    "requires: [o,!: :]",
    "{! : {}}\n---",
    "n: |i\r}",
    "run: x\r#y",
    "s: []v\u{85} #",
    ": \"${{s${{}}}\"l",
    "l: 2,${{}}\"\u{11}",
    "k: {${{${{}},: :",
];

#[test]
fn every_position_is_in_the_text_and_every_correction_helps() {
    for text in ODD {
        let options = PipelineReadOptions { unavailable_key_severity: ProblemSeverity::Error };
        let source = SourceFile::new("windlass.yml", *text);
        let (_, problems) = read_pipeline(&source, options);
        for problem in &problems {
            let fix = problem.fix.iter().map(|fix| &fix.span);
            let also = problem.also.iter().map(|(span, _)| span);
            for span in also.chain(fix).chain([&problem.span]) {
                assert!(text.get(span.clone()).is_some(), "{span:?} of {text:?}: {problem:?}");
            }
            let Some(fix) = &problem.fix else { continue };
            let mut mended = (*text).to_owned();
            mended.replace_range(fix.span.clone(), &fix.text);
            let (_, left) = read_pipeline(&SourceFile::new("windlass.yml", mended), options);
            let count =
                |problems: &[Problem]| problems.iter().filter(|it| it.code == problem.code).count();
            assert!(count(&left) < count(&problems), "{text:?}: {fix:?} does not help");
            let same = |it: &Problem| {
                (it.code, it.span.start, &it.title)
                    == (problem.code, problem.span.start, &problem.title)
            };
            assert!(!left.iter().any(same), "{text:?}: {fix:?} leaves it where it was");
        }
    }
}
