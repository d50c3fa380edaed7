//! Reads the keys about files: `workspace`, `artifacts` and `fetch`.

use std::collections::BTreeMap;

use super::reader::{PipelineReader, duplicate_problem, key_name, spanned};
use super::step::missing;
use crate::files::{ArtifactsWhen, CELL_PLACEHOLDER, MissingArtifacts, PathPatterns};
use crate::manifest::ManifestPath;
use crate::problem::{Problem, ProblemCode};
use crate::spec::declaration::{ArtifactsDecl, FetchDecl, Spanned, SpannedTemplate, WorkspaceDecl};
use crate::spec::names::is_name;
use crate::spec::yaml::{YamlEntry, YamlNode, YamlValue};

impl PipelineReader<'_> {
    pub(super) fn workspace(&mut self, node: &YamlNode<'_>) -> Option<Spanned<WorkspaceDecl>> {
        let value = if matches!(node.value, YamlValue::Map(_)) {
            self.workspace_map(node)?
        } else {
            match node.as_text()? {
                "none" => WorkspaceDecl::None,
                _ => WorkspaceDecl::Here,
            }
        };
        Some(Spanned { value, span: node.span.clone() })
    }

    fn workspace_map(&mut self, node: &YamlNode<'_>) -> Option<WorkspaceDecl> {
        let Some(shared) = node.get("shared") else {
            // A key that is not available yet is reported as such.
            if node.get("git").is_none() {
                self.report(missing(node, "shared", "workspace"));
            }
            return None;
        };
        let path = shared.as_text()?;
        if path.starts_with('/') {
            return Some(WorkspaceDecl::Shared(path.to_owned()));
        }
        let title = format!("`{path}` is not an absolute path");
        let help = "each worker was started in another folder: write the whole path, such as `/mnt/project`";
        self.report(Problem::new(ProblemCode::BadPath, shared.span.clone(), title).help(help));
        None
    }

    pub(super) fn artifacts(&mut self, node: &YamlNode<'_>) -> Option<ArtifactsDecl> {
        let is_map = matches!(node.value, YamlValue::Map(_));
        let Some(paths) = (if is_map { node.get("paths") } else { Some(node) }) else {
            self.report(missing(node, "paths", "set of artifacts"));
            return None;
        };
        let word = |key| node.get(key).and_then(YamlNode::as_text);
        let when = word("when").and_then(ArtifactsWhen::parse).unwrap_or_default();
        let missing = match word("missing") {
            Some("ignore") => MissingArtifacts::Ignore,
            _ => MissingArtifacts::Fail,
        };
        let paths = self.texts(Some(paths));
        self.check_patterns(&paths);
        Some(ArtifactsDecl { paths, when, missing })
    }

    /// Reports patterns that are invalid, as far as they are known yet.
    fn check_patterns(&mut self, paths: &[SpannedTemplate]) {
        for path in paths {
            let Some(text) = path.template.is_literal() else { continue };
            if let Err(problem) = PathPatterns::parse(&[text]) {
                let title = problem.to_string();
                self.report(Problem::new(ProblemCode::BadPath, path.span.clone(), title));
            }
        }
        let literal = |path: &SpannedTemplate| path.template.is_literal().map(str::to_owned);
        let excludes = |text: String| text.starts_with('!');
        if !paths.is_empty() && paths.iter().all(|path| literal(path).is_some_and(excludes)) {
            let title = "every pattern leaves files out, so no file is selected";
            let problem = Problem::new(ProblemCode::BadPath, paths[0].span.clone(), title);
            self.report(problem.help("name the files to keep first: `[dist/**, \"!**/*.map\"]`"));
        }
    }

    pub(super) fn fetch(&mut self, node: &YamlNode<'_>) -> Vec<FetchDecl> {
        let mut fetched: Vec<FetchDecl> = Vec::new();
        let entries: Vec<Option<FetchDecl>> = match &node.value {
            YamlValue::Map(entries) => {
                entries.iter().map(|entry| self.fetch_entry(entry)).collect()
            }
            YamlValue::Null | YamlValue::Scalar(_) | YamlValue::List(_) | YamlValue::Broken => {
                node.items_or_self().iter().map(fetch_name).collect()
            }
        };
        let mut seen = BTreeMap::new();
        for entry in entries.into_iter().flatten() {
            if let Some(first) = seen.get(&entry.step.value).cloned() {
                let what = format!("the step `{}`", entry.step.value);
                self.report(duplicate_problem(entry.step.span, first, &what));
                continue;
            }
            seen.insert(entry.step.value.clone(), entry.step.span.clone());
            fetched.push(entry);
        }
        fetched
    }

    fn fetch_entry(&mut self, entry: &YamlEntry<'_>) -> Option<FetchDecl> {
        let (node, step) = (&entry.value, key_name(&entry.key));
        let text = node.as_text()?;
        let folder = text.replace(CELL_PLACEHOLDER, "cell");
        let folder = folder.trim_end_matches('/');
        let is_root = matches!(folder, "" | ".");
        if is_root || ManifestPath::parse(folder.trim_start_matches("./")).is_ok() {
            let to = text.trim_start_matches("./").trim_end_matches('/');
            let to = (!is_root).then(|| spanned(to, &node.span));
            return Some(FetchDecl { step, to });
        }
        let title = format!("`{text}` is not a folder in the workspace");
        let help = "write a relative path without `..`, such as `in/bundle`";
        self.report(Problem::new(ProblemCode::BadPath, node.span.clone(), title).help(help));
        None
    }
}

fn fetch_name(node: &YamlNode<'_>) -> Option<FetchDecl> {
    let name = node.as_text().filter(|text| is_name(text))?;
    Some(FetchDecl { step: spanned(name, &node.span), to: None })
}
