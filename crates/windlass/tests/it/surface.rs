//! The surface: everything that users, scripts and dashboards depend on, as text in `tests/golden/surface`.
//!
//! A commit that changes one of these files is titled `surface: …`. `WINDLASS_GOLDEN=1` writes them anew.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use rusqlite::Connection;
use serde_json::Value;
use windlass::core::engine::Event;
use windlass::core::problem::ProblemCode;
use windlass::core::time::Time;
use windlass_store::conformance::sample_events;
use windlass_store::sql_views::{SqlViews as _, SqlViewsDiff, SqlViewsMark, SqliteSqlViews};

use crate::support::in_process_controller::InProcessController;

#[test]
fn help_of_every_command() {
    let mut text = String::new();
    write_help(&[], &mut text);
    hold("help.txt", &text);
}

#[test]
fn schema_of_pipeline_files() {
    hold("schema.json", &printed(&["schema"]));
}

#[test]
fn settings_and_their_variables() {
    hold("settings.txt", &printed(&["config", "reference"]));
}

#[test]
fn codes_of_problems() {
    let title =
        |code: &ProblemCode| code.page().lines().next().unwrap_or_default().to_owned() + "\n";
    hold("codes.txt", &ProblemCode::ALL.iter().map(title).collect::<String>());
}

#[test]
fn json_of_every_event() {
    let line = |(at, event): (Time, Event)| format!("{}\n", event.to_json(1, at));
    let lines = sample_events().into_iter().map(line);
    hold("events.ndjson", &lines.collect::<String>());
}

#[tokio::test]
async fn api_and_metrics_of_a_controller() {
    let controller = InProcessController::start().await;
    hold("openapi.ndjson", &lines_of(&controller.get("/openapi.json").await.json));
    let page = controller.get("/metrics").await.body;
    let page = String::from_utf8(page).expect("it is text");
    let declared = page.lines().filter(|line| line.starts_with('#'));
    hold("metrics.txt", &declared.map(|line| line.to_owned() + "\n").collect::<String>());
    controller.shut_down().await;
}

#[tokio::test]
async fn sql_of_the_tables_for_queries() {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let tables = SqliteSqlViews::open(folder.path()).expect("tables can be made");
    let first = SqlViewsDiff::new(None, SqlViewsMark { writer: 1, write: 1 });
    tables.write(Arc::new(first)).await.expect("it is written");
    let database = Connection::open(folder.path().join("tables.db")).expect("it is there");
    let sql = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type, name";
    let mut statement = database.prepare(sql).expect("it is SQL");
    let rows = statement.query_map([], |row| row.get::<_, String>(0)).expect("it has a schema");
    let text: String = rows.map(|sql| sql.expect("it is text") + ";\n\n").collect();
    hold("tables.sql", &text);
}

/// An operation or a schema on each line.
fn lines_of(document: &Value) -> String {
    let mut text = String::new();
    for (pointer, depth) in [("/paths", 2), ("/components/schemas", 1)] {
        let part = document.pointer(pointer).expect("the document has this part");
        write_lines(pointer, part, depth, &mut text);
    }
    text
}

fn write_lines(name: &str, value: &Value, depth: usize, text: &mut String) {
    let members = value.as_object().filter(|_| depth > 0);
    let Some(members) = members else {
        return writeln!(text, "{name} {value}").expect("a text grows");
    };
    for (key, value) in members {
        write_lines(&format!("{name} {key}"), value, depth - 1, text);
    }
}

/// Every name `WINDLASS_…` that the program contains, those of its tests left out.
#[test]
fn names_of_variables() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut names = BTreeSet::new();
    for name in fs::read_dir(crates).expect("the crates are there") {
        let sources = name.expect("an entry").path().join("src");
        if !sources.ends_with("testkit/src") {
            collect_variables(&sources, &mut names);
        }
    }
    hold("variables.txt", &names.into_iter().map(|name| name + "\n").collect::<String>());
}

fn collect_variables(folder: &Path, names: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("a folder of sources is readable") {
        let path = entry.expect("an entry").path();
        if path.ends_with("tests") || path.to_string_lossy().ends_with("tests.rs") {
            continue;
        }
        if path.is_dir() {
            collect_variables(&path, names);
            continue;
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for (start, _) in text.match_indices("WINDLASS_") {
            let is_name = |c: char| c.is_ascii_uppercase() || c == '_';
            let name: String = text[start..].chars().take_while(|c| is_name(*c)).collect();
            names.insert(name);
        }
    }
}

/// The help of a command and of those below it.
fn write_help(command: &[&str], text: &mut String) {
    let mut arguments = command.to_vec();
    arguments.push("--help");
    let help = printed(&arguments);
    writeln!(text, "$ windlass {}\n{help}", arguments.join(" ")).expect("a text grows");
    for below in commands_in(&help, command.is_empty()) {
        let mut command = command.to_vec();
        command.push(&below);
        write_help(&command, text);
    }
}

/// The commands that a help lists: in groups at the top, under `Commands:` below it.
fn commands_in(help: &str, top: bool) -> Vec<String> {
    let mut listed = false;
    let mut commands = Vec::new();
    for line in help.lines() {
        if !line.starts_with(' ') && !line.is_empty() {
            listed = line.ends_with(':') && (line == "Commands:" || top) && line != "Options:";
            listed &= !line.starts_with("The smallest");
        } else if let Some(row) =
            line.strip_prefix("  ").filter(|row| listed && !row.starts_with(' '))
        {
            commands
                .extend(row.split(' ').next().filter(|name| *name != "help").map(str::to_owned));
        }
    }
    commands
}

fn printed(arguments: &[&str]) -> String {
    let mut program = Command::new(env!("CARGO_BIN_EXE_windlass"));
    program.args(arguments).env_clear().env("COLUMNS", "100");
    let output = program.output().expect("the program starts");
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).expect("it prints UTF-8")
}

/// Fails unless the file has this text; writes it if that is wanted.
#[expect(clippy::disallowed_methods, reason = "a switch of this test, not of the program")]
fn hold(name: &str, text: &str) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/surface");
    let path = folder.join(name);
    if std::env::var_os("WINDLASS_GOLDEN").is_some() {
        fs::create_dir_all(&folder).expect("the folder can be made");
        fs::write(&path, text).expect("the file can be written");
    }
    let before = fs::read_to_string(&path).unwrap_or_default();
    let mut lines = before.lines().zip(text.lines()).enumerate();
    let differs = lines.find(|(_, (before, now))| before != now);
    assert!(
        before == text,
        "{name} has changed, first at line {differs:?}; if that is meant, run this test with WINDLASS_GOLDEN=1"
    );
}
