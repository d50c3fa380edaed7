//! What may know what: the dependencies of core, its purity, the direction between modules, and
//! the words of public names.

use crate::hold;
use crate::source::{code_and_imports, lines_where, public_name, words_in, words_of_name};

/// What the basic modules of core may not know: they are shared by everything above them.
const ABOVE_BASICS: &[&str] = &["crate::engine", "crate::session", "crate::report"];
/// What carries and keeps may not know who uses it.
const ABOVE_STORES: &[&str] = &["crate::worker", "crate::controller", "crate::cli"];
/// Worker and controller meet only at the session.
const ABOVE_WORKER: &[&str] = &["crate::controller", "crate::cli"];
const ABOVE_CONTROLLER: &[&str] = &["crate::worker", "crate::cli"];
/// Which module may not use which: `core ← {journal, link} ← {worker, controller} ← cli`.
const DIRECTIONS: &[(&str, &[&str])] = &[
    ("crates/core/src/id", ABOVE_BASICS),
    ("crates/core/src/slab", ABOVE_BASICS),
    ("crates/core/src/planted", ABOVE_BASICS),
    ("crates/core/src/time", ABOVE_BASICS),
    ("crates/core/src/outcome", ABOVE_BASICS),
    ("crates/core/src/requirement", ABOVE_BASICS),
    ("crates/core/src/spec", ABOVE_BASICS),
    ("crates/core/src/expr", ABOVE_BASICS),
    ("crates/core/src/shell", ABOVE_BASICS),
    ("crates/core/src/problem", ABOVE_BASICS),
    ("crates/core/src/plan", ABOVE_BASICS),
    ("crates/core/src/engine", &["crate::session::worker", "crate::report"]),
    ("crates/core/src/session/worker", &["crate::engine"]),
    ("crates/windlass/src/journal", ABOVE_STORES),
    ("crates/windlass/src/archive", ABOVE_STORES),
    ("crates/windlass/src/logs", ABOVE_STORES),
    ("crates/windlass/src/tables", ABOVE_STORES),
    ("crates/windlass/src/link", ABOVE_STORES),
    ("crates/windlass/src/worker", ABOVE_WORKER),
    ("crates/windlass/src/controller", ABOVE_CONTROLLER),
];
const CORE_DEPENDENCIES: &[&str] = &["serde", "serde_json", "blake3", "thiserror", "granit-parser"];
const CORE_TEST_DEPENDENCIES: &[&str] = &["insta"];
/// What would make a decision of core depend on more than its arguments.
const IMPURE: &str = "async tokio std::env std::fs std::net std::process std::thread SystemTime \
    Instant::now HashMap HashSet";
/// Words for which the glossary has another one.
const NEVER_SAID: &str =
    "workflow job task mutex semaphore ticket transport broker primary master agent plugin";
/// Names of std and of operating systems that contain such a word and keep it.
const NAMES_OF_OTHERS: &[&str] = &["Mutex", "MutexGuard", "JobObject"];

#[test]
fn core_depends_on_little() {
    let planted = [
        "[dependencies]\ninsta = \"1\"",
        "[dev-dependencies]\ntokio.workspace = true",
        "[dependencies.rand]\nversion = \"1\"",
        "[target.'cfg(unix)'.dependencies]\nlibc = \"1\"",
    ];
    let planted = planted.map(|text| ("crates/core/Cargo.toml", text));
    hold(&planted, |file, _| {
        let mut section = "";
        lines_where(file.text_below("crates/core/Cargo.toml"), |line| {
            let header = line.strip_prefix('[');
            section = header.map_or(section, |rest| rest.trim_end_matches(']'));
            let name = match (header, section.rsplit_once("dependencies")) {
                (Some(_), Some((_, name))) => name.trim_start_matches('.'),
                (None, Some((_, ""))) => line.split(['.', '=', ' ', '#']).next().unwrap_or(""),
                _ => "",
            };
            let dev = section.starts_with("dev-") && CORE_TEST_DEPENDENCIES.contains(&name);
            !name.is_empty() && !dev && !CORE_DEPENDENCIES.contains(&name)
        })
    });
}

#[test]
fn core_is_pure() {
    let planted = ["use std::{\n    fmt,\n    fs::{self},\n};", "a: HashMap<A>"];
    let planted = planted.map(|text| ("crates/core/src/a.rs", text));
    hold(&planted, |file, _| {
        let code = code_and_imports(file.text_below("crates/core/src/"));
        words_in(&code, IMPURE.split(' '))
    });
}

#[test]
fn modules_look_in_one_direction() {
    let planted = [
        ("crates/core/src/plan/a.rs", "use crate::{engine::{A}, id};"),
        ("crates/core/src/id.rs", "use super::session;"),
        ("crates/core/src/engine/state/a.rs", "use crate::report::A;"),
        ("crates/core/src/session/worker.rs", "super::super::engine"),
        ("crates/windlass/src/worker/mod.rs", "crate::controller::A"),
    ];
    hold(&planted, |file, _| {
        // In a top-level module `super` is the crate; a path that climbs twice is to be written out.
        let module = file.path.trim_end_matches(".rs").trim_end_matches("/mod");
        let top = module.matches('/').count() == 3;
        let code = code_and_imports(file.production());
        let code = code.replace("super::", if top { "crate::" } else { "super::" });
        let rows = DIRECTIONS.iter().filter(|(folder, _)| {
            let below = module.strip_prefix(folder);
            below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        rows.flat_map(|(_, forbidden)| {
            words_in(&code, forbidden.iter().copied().chain(["super::super"]))
        })
        .collect()
    });
}

#[test]
fn public_names_follow_the_glossary() {
    let planted = ["pub struct JobQueue;", "    pub const fn tasks() {}"];
    hold(&planted.map(|text| ("a/src/b.rs", text)), |file, _| {
        lines_where(file.production(), |line| {
            let name = public_name(line).unwrap_or("");
            let mut words = words_of_name(name).into_iter();
            let never_said = words.any(|word| NEVER_SAID.split(' ').any(|never| word == never));
            never_said && !NAMES_OF_OTHERS.contains(&name)
        })
    });
}
