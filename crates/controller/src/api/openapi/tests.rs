//! Compares the document with the routes and with `docs/reference/api.md`.

use std::collections::BTreeSet;

use super::codes::{self, CODES};
use super::document::document;
use super::operations::operations;
use crate::api::routes::routes;

const PAGE: &str = include_str!("../../../../../docs/reference/api.md");

#[test]
fn every_route_has_one_operation() {
    let routes: BTreeSet<(&str, &str)> =
        routes().iter().map(|route| (route.path, route.method())).collect();
    let described: Vec<_> = operations().iter().map(|it| (it.path, it.method)).collect();
    assert_eq!(described.iter().copied().collect::<BTreeSet<_>>(), routes);
    assert_eq!(described.len(), routes.len(), "one is described twice");
}

#[test]
fn every_part_of_a_path_is_described() {
    for operation in operations() {
        let parts = operation.path.split('/').filter_map(|part| part.strip_prefix('{'));
        let parts: Vec<&str> = parts.map(|part| part.trim_end_matches('}')).collect();
        let in_path = operation.parameters.iter().filter(|it| it.location == "path");
        let described: Vec<&str> = in_path.map(|it| it.name).collect();
        assert_eq!(described, parts, "{}", operation.path);
    }
}

#[test]
fn every_code_has_a_status() {
    for operation in operations() {
        for code in &operation.codes {
            assert!(codes::status(code).is_some(), "{} refuses with {code}", operation.path);
        }
    }
    for code in [codes::ANY, codes::AUTHORIZED, codes::WORKER, codes::BODY, codes::LEADER].concat()
    {
        assert!(codes::status(code).is_some(), "{code}");
    }
}

#[test]
fn every_reference_has_a_schema() {
    let document = document();
    let text = document.to_string();
    for part in text.split("#/components/schemas/").skip(1) {
        let name = part.split('"').next().unwrap_or_default();
        assert!(document["components"]["schemas"][name].is_object(), "{name}");
    }
}

#[test]
fn the_page_lists_every_route() {
    let shown = PAGE.split('`').skip(1).step_by(2);
    let shown = shown.map(|shown| shown.split('?').next().unwrap_or_default());
    let documented: BTreeSet<String> = shown.map(any_part).collect();
    for route in routes() {
        let named = any_part(&format!("{} {}", route.method().to_uppercase(), route.path));
        assert!(documented.contains(&named), "docs/reference/api.md does not have {named}");
    }
}

/// The path without the names of its parts: the page has `{step_id}` where the route has `{id}`.
fn any_part(path: &str) -> String {
    let part = |part: &str| if part.starts_with('{') { "{}".to_owned() } else { part.to_owned() };
    path.split('/').map(part).collect::<Vec<_>>().join("/")
}

#[test]
fn the_page_lists_every_code_with_its_status() {
    let rows = PAGE.lines().filter_map(|line| line.strip_prefix("| ")?.split_once(" | "));
    let codes = rows.filter_map(|(status, rest)| Some((status.parse::<u16>().ok()?, rest)));
    let documented: BTreeSet<(u16, &str)> = codes
        .flat_map(|(status, rest)| {
            let listed = rest.split(" | ").next().unwrap_or_default();
            listed.split('`').skip(1).step_by(2).map(move |code| (status, code))
        })
        .collect();
    let known = CODES.iter().flat_map(|(status, codes)| codes.iter().map(|code| (*status, *code)));
    assert_eq!(known.collect::<BTreeSet<_>>(), documented);
}
