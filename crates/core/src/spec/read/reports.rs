//! Reads the reports that a step writes.

use super::reader::PipelineReader;
use crate::files::PathPatterns;
use crate::problem::{Problem, ProblemCode};
use crate::spec::declaration::SpannedTemplate;
use crate::spec::yaml::YamlNode;

impl PipelineReader<'_> {
    /// Reads `reports` of a step: the patterns of its `JUnit` files.
    pub(super) fn junit_reports(&mut self, step: &YamlNode<'_>) -> Vec<SpannedTemplate> {
        let entry = step.entries().iter().find(|entry| entry.key.text == "reports");
        let Some(entry) = entry else { return Vec::new() };
        if step.get("call").is_some() {
            let title = "`reports` are files that a command writes, but this step has no `run`";
            let problem = Problem::new(ProblemCode::Conflict, entry.key.span.clone(), title);
            self.report(problem.help("remove `reports`, or write the tests as a command: `run:`"));
        }
        self.patterns(entry.value.get("junit"))
    }

    /// Reads patterns of paths. Those with `${{ }}` are checked when their values are known.
    fn patterns(&mut self, node: Option<&YamlNode<'_>>) -> Vec<SpannedTemplate> {
        let patterns = self.texts(node);
        for pattern in &patterns {
            let Some(text) = pattern.template.is_literal() else { continue };
            if let Err(error) = PathPatterns::parse(&[text]) {
                let title = error.to_string();
                self.report(Problem::new(ProblemCode::BadPattern, pattern.span.clone(), title));
            }
        }
        patterns
    }
}
