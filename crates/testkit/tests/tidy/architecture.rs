//! Dependencies between crates and modules, the purity of core, and the words of public names.

use windlass_testkit::house::words_of_name;

use crate::hold;
use crate::source::{code_and_imports, lines_where, public_name, words_in};

/// The basic modules of core, and the modules above them that they must not use.
const ABOVE_BASICS: &[&str] =
    &["crate::engine", "crate::session", "crate::report", "crate::leader"];
const DIRECTIONS: &[(&str, &[&str])] = &[
    ("crates/core/src/id", ABOVE_BASICS),
    ("crates/core/src/slab", ABOVE_BASICS),
    ("crates/core/src/planted_bugs", ABOVE_BASICS),
    ("crates/core/src/time", ABOVE_BASICS),
    ("crates/core/src/outcome", ABOVE_BASICS),
    ("crates/core/src/requirement", ABOVE_BASICS),
    ("crates/core/src/spec", ABOVE_BASICS),
    ("crates/core/src/expr", ABOVE_BASICS),
    ("crates/core/src/shell", ABOVE_BASICS),
    ("crates/core/src/problem", ABOVE_BASICS),
    ("crates/core/src/plan", ABOVE_BASICS),
    ("crates/core/src/engine", &["crate::session::worker_session", "crate::report"]),
    ("crates/core/src/session/worker_session", &["crate::engine"]),
];
/// The crates of the workspace that each crate may use: `core ← net ← store ← link ← {worker, controller} ← windlass`.
const CRATES: &[(&str, &str)] = &[
    ("core", ""),
    ("macros", ""),
    ("net", "core"),
    ("store", "core net"),
    ("link", "core net store"),
    ("worker", "core net store link"),
    ("controller", "core net store link"),
    ("windlass", "core net store link worker controller macros"),
    // Unit tests of a crate never depend on the testkit: nothing may.
    ("testkit", "core"),
];
const CORE_DEPENDENCIES: &[&str] = &["serde", "serde_json", "blake3", "thiserror", "granit-parser"];
/// Dependencies that only a feature adds.
const CORE_OPTIONAL_DEPENDENCIES: &[&str] = &["schemars"];
const CORE_TEST_DEPENDENCIES: &[&str] = &["insta"];
/// Code that exists once, and the folder in which it may be: a file is planned, a worker is assembled, and a run is watched
/// in one place each.
const ONE_PLACE: &[(&str, &str)] = &[
    ("expand_pipeline(", "crates/core/src/expand/"),
    ("leases_expire:", "crates/worker/src/"),
    ("Screen::new(", "crates/windlass/src/cli/run_watch/"),
];
/// Names that would make a decision of core depend on more than its arguments.
const IMPURE: &str = "async tokio std::env std::fs std::net std::process std::thread SystemTime \
    Instant::now HashMap HashSet";
/// Words for which the glossary has another word.
const NEVER_SAID: &str =
    "workflow job task mutex semaphore ticket transport broker primary master agent plugin";
/// Names of the standard library and of operating systems that contain such a word.
const NAMES_OF_OTHERS: &[&str] = &["Mutex", "MutexGuard", "JobObject"];

#[test]
fn core_depends_on_little() {
    let planted = [
        "[dependencies]\ninsta = \"1\"",
        "[dependencies]\nschemars.workspace = true",
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
            let optional =
                line.contains("optional = true") && CORE_OPTIONAL_DEPENDENCIES.contains(&name);
            !name.is_empty() && !dev && !optional && !CORE_DEPENDENCIES.contains(&name)
        })
    });
}

#[test]
fn crates_depend_in_one_direction() {
    let planted = [
        ("crates/core/Cargo.toml", "[dependencies]\nwindlass-net.workspace = true"),
        ("crates/worker/Cargo.toml", "[dependencies.windlass-controller]\nworkspace = true"),
        ("crates/link/Cargo.toml", "[dev-dependencies]\nwindlass-testkit.workspace = true"),
        ("crates/another/Cargo.toml", "[package]"),
    ];
    hold(&planted, |file, _| {
        let Some(name) = file.path.strip_prefix("crates/") else { return Vec::new() };
        let Some(name) = name.strip_suffix("/Cargo.toml") else { return Vec::new() };
        let Some((_, allowed)) = CRATES.iter().find(|(known, _)| *known == name) else {
            return vec!["is not in the list of crates and their directions".to_owned()];
        };
        let used = file.text.lines().filter_map(|line| {
            let name = line.split_once("windlass-")?.1.split(['.', ' ', ']', '=']).next()?;
            let begins = line.starts_with("windlass-") || line.contains("dependencies.windlass-");
            begins.then_some(name)
        });
        let wrong = used.filter(|used| *used != name && !allowed.split(' ').any(|it| it == *used));
        wrong.map(|used| format!("uses `windlass-{used}`")).collect()
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
fn modules_depend_in_one_direction() {
    let planted = [
        ("crates/core/src/plan/a.rs", "use crate::{engine::{A}, id};"),
        ("crates/core/src/id.rs", "use super::session;"),
        ("crates/core/src/engine/state/a.rs", "use crate::report::A;"),
        ("crates/core/src/session/worker_session.rs", "super::super::engine"),
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
fn plans_workers_and_watches_are_made_in_one_place() {
    let planted = [
        ("crates/controller/src/a.rs", "let plan = expand_pipeline(&pipeline, inputs);"),
        ("crates/windlass/src/cli/a.rs", "WorkerRuntime { leases_expire: true, ..worker }"),
        ("crates/windlass/src/cli/local_run/a.rs", "let screen = Screen::new(summary, options);"),
    ];
    hold(&planted, |file, _| {
        let callers = ["crates/controller/src/", "crates/windlass/src/"];
        let is_caller = callers.iter().any(|folder| file.path.starts_with(folder));
        let production = if is_caller { file.production() } else { "" };
        let elsewhere = ONE_PLACE.iter().filter(|(_, folder)| !file.path.starts_with(folder));
        elsewhere
            .flat_map(|(code, _)| lines_where(production, |line| line.contains(code)))
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
