//! Markdown documents: titles and links.

use windlass_testkit::house::RepositoryFile;

use crate::{complain, hold};

#[test]
fn a_document_has_one_title() {
    let planted = [("a.md", "# A\n\n# B\n"), ("a.md", "```\n# A\n```\n")];
    hold(&planted, |file, _| {
        let text = format!("\n{}", file.text);
        let outside_fences = text.split("\n```").step_by(2).flat_map(str::lines);
        let titles = outside_fences.filter(|line| line.starts_with("# ")).count();
        let template = file.path.ends_with("/SUMMARY.md");
        complain(file.is("md") && !template && titles != 1, "not exactly one `# ` title")
    });
}

#[test]
fn links_of_documents_lead_somewhere() {
    let planted = [
        ("a.md", "see [this](missing.md)"),
        ("README.md", "see [that](README.md#no-such-heading)"),
        ("a.md", "see [here](#nowhere)"),
    ];
    hold(&planted, |file, tree| {
        if !file.is("md") {
            return Vec::new();
        }
        let broken =
            links(&file.text).into_iter().filter(|link| !leads_somewhere(file, link, tree));
        broken.map(|link| format!("`{link}` leads nowhere")).collect()
    });
}

/// A rendered book has the files of `docs` only.
#[test]
fn links_of_the_book_stay_in_the_book() {
    let planted = [("docs/guides/a.md", "see [this](../../examples/worker.py)")];
    hold(&planted, |file, _| {
        if !file.is("md") || !file.path.starts_with("docs/") {
            return Vec::new();
        }
        let leaving =
            links(&file.text).into_iter().filter(|link| !target(file, link).starts_with("docs/"));
        leaving.map(|link| format!("`{link}` is not in the book")).collect()
    });
}

/// A page of the book shows a file of the repository with `{{#include …}}`.
#[test]
fn includes_of_the_book_exist() {
    let planted = [("docs/a.md", "```rust\n{{#include ../missing.rs}}\n```\n")];
    hold(&planted, |file, _| {
        let included = file.text.split("{{#include ").skip(1).filter_map(|it| it.split_once("}}"));
        let included = included.filter(|_| file.is("md") && file.path.starts_with("docs/"));
        let missing = included.filter(|(path, _)| !exists(&target(file, path)));
        missing.map(|(path, _)| format!("includes `{path}`, which is missing")).collect()
    });
}

#[test]
fn every_page_of_the_book_is_in_its_summary() {
    hold(&[("docs/lost.md", "# Lost\n")], |file, tree| {
        let Some(page) = file.path.strip_prefix("docs/") else { return Vec::new() };
        let summary = tree.iter().find(|other| other.path == "docs/SUMMARY.md");
        let listed = summary.is_some_and(|it| it.text.contains(&format!("({page})")));
        complain(file.is("md") && page != "SUMMARY.md" && !listed, "is not in docs/SUMMARY.md")
    });
}

/// Returns the targets of the links of a document, except addresses on the web.
fn links(text: &str) -> Vec<&str> {
    let outside_fences = text.split("\n```").step_by(2);
    let targets = outside_fences.flat_map(|part| part.split("](").skip(1));
    let targets = targets.filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
    targets.filter(|target| !target.is_empty() && !target.contains("://")).collect()
}

fn leads_somewhere(file: &RepositoryFile, link: &str, tree: &[RepositoryFile]) -> bool {
    let (path, heading) = link.split_once('#').unwrap_or((link, ""));
    let target = target(file, path);
    let page = tree.iter().chain([file]).find(|other| other.path == target);
    match page {
        Some(page) => heading.is_empty() || headings(&page.text).any(|known| known == heading),
        None => heading.is_empty() && exists(&target),
    }
}

/// Returns the path of the file that a link of a document leads to.
fn target(file: &RepositoryFile, link: &str) -> String {
    let (path, _) = link.split_once('#').unwrap_or((link, ""));
    let folder = file.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    if path.is_empty() { file.path.clone() } else { resolve(folder, path) }
}

fn exists(path: &str) -> bool {
    windlass_testkit::house::repository_root().join(path).exists()
}

/// Resolves `..` in a path relative to a folder of the repository.
fn resolve(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// Returns the anchors of a document's headings, as GitHub and mdBook form them.
fn headings(text: &str) -> impl Iterator<Item = String> {
    let lines = text.split("\n```").step_by(2).flat_map(str::lines);
    let titles = lines.filter(|line| line.starts_with('#'));
    titles.map(|line| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    })
}
