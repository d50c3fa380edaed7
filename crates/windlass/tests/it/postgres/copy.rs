//! A store that moves from a folder to PostgreSQL and back.

use windlass::core::id::RunId;
use windlass::embedded::system_now;
use windlass_store::archive::{Archive as _, SqliteArchive, SubmissionKeyClaim};
use windlass_store::conformance::{block_on, sealed_run as sealed};
use windlass_store::db::STORE_FORMAT;
use windlass_store::journal::{
    CampaignOutcome, Journal as _, LeaderCandidate, Position, SqliteJournal,
};

use crate::support::postgres_server::shared;
use crate::support::project_folder::ProjectFolder;

const PIPELINE: &str = "
name: ship
params: { cargo: { default: coal } }
steps:
  load: { run: 'echo loads ${{ params.cargo }}' }
  sail: { needs: load, run: 'test ${{ params.cargo }} = coal' }
";

/// A folder with a store in which two runs ended, one of them failed, and one was sealed long ago.
fn port() -> ProjectFolder {
    let project = ProjectFolder::with(PIPELINE);
    assert_eq!(project.run("run").code, Some(0));
    assert_eq!(project.run("run -p cargo=lead").code, Some(1));
    assert_eq!(project.run("token create boss --scope admin").code, Some(0));
    let archive = SqliteArchive::open(project.path().join(".windlass")).expect("it opens");
    block_on(archive.keep(sealed(7, 20_000))).expect("it is kept");
    // A recent run: a controller that leads the store for a moment may prune an old one.
    let claim = SubmissionKeyClaim {
        key: "a\0b".to_owned(),
        body: [7; 32],
        run: RunId(7),
        at: system_now(),
    };
    block_on(archive.claim(claim)).expect("it is bound");
    project
}

/// The content of a store, as commands show it.
fn seen(project: &ProjectFolder, store: &str) -> Vec<String> {
    ["runs --json", "show --json", "logs", "token list --json"]
        .map(|line| project.run(&format!("{line} --store {store}")).out)
        .into()
}

#[test]
fn a_store_moves_to_postgres_and_back_with_everything() {
    let project = port();
    let (there, schema) = shared().fresh();
    let copied = project.run(&format!("store copy sqlite:.windlass {there}"));
    assert_eq!(copied.code, Some(0), "{copied:?}");
    assert!(copied.out.starts_with("copied 1 runs with 20000 events, "), "{copied:?}");
    assert!(copied.out.ends_with(" 2 logs of 22 bytes and 1 keys\n"), "{copied:?}");
    let again = project.run(&format!("store copy sqlite:.windlass {there}"));
    assert_eq!(again.code, Some(2), "{again:?}");
    assert!(again.err.contains("name an empty one"), "{again:?}");
    let back = project.run(&format!("store copy --json {there} sqlite:back"));
    assert_eq!(back.code, Some(0), "{back:?}");
    let before = seen(&project, ".windlass");
    assert!(before.iter().all(|shown| !shown.is_empty()), "{before:#?}");
    assert_eq!(seen(&project, "back"), before);
    let archive = SqliteArchive::open(project.path().join("back")).unwrap();
    let events = block_on(archive.events(RunId(7), Position(0), usize::MAX)).unwrap();
    assert_eq!(events, sealed(7, 20_000).events.iter().collect::<Vec<_>>());
    assert_eq!(block_on(archive.keys(None, 9)).unwrap()[0].key, "a\0b");
    drop(archive);
    // Terms and fences continue, so the next leader has a later term than all before.
    let term = |query: &str| shared().psql(query).parse::<u64>().expect("a number");
    let last = term(&format!("SELECT max(term) FROM {schema}.windlass_journal"));
    assert!(term(&format!("SELECT term FROM {schema}.windlass_leader")) > last);
    // The copy is a store like any other.
    let again = project.run("rerun latest --store back");
    assert_eq!(again.code, Some(1), "{again:?}");
}

#[test]
fn copy_is_refused_while_a_leader_is_active() {
    let project = port();
    let (there, _) = shared().fresh();
    let journal = SqliteJournal::open(project.path().join(".windlass"), system_now).unwrap();
    let ann = LeaderCandidate { node: "ann".to_owned(), address: None };
    let won = block_on(journal.campaign(ann)).unwrap();
    assert!(matches!(won, CampaignOutcome::Won(_)), "{won:?}");
    for (from, to) in [("sqlite:.windlass", there.as_str()), (there.as_str(), "sqlite:.windlass")] {
        let refused = project.run(&format!("store copy {from} {to}"));
        assert_eq!(refused.code, Some(5), "{refused:?}");
        assert!(refused.err.contains("is led by ann"), "{refused:?}");
    }
    drop(journal);
    assert_eq!(project.run(&format!("store copy sqlite:.windlass {there}")).code, Some(0));
}

/// An incomplete copy is not used as a store, and the next copy starts again.
#[test]
fn interrupted_copy_is_unusable_and_is_restarted() {
    let project = port();
    let (there, schema) = shared().fresh();
    let copy = |from: &str, to: &str| project.run(&format!("store copy {from} {to}"));
    assert_eq!(copy("sqlite:.windlass", &there).code, Some(0));
    let mark = format!("('copying', 1, '{STORE_FORMAT}')");
    shared().psql(&format!("INSERT INTO {schema}.windlass_schema VALUES {mark}"));
    assert_eq!(copy(&there, "sqlite:back").code, Some(2));
    let refused = project.run(&format!("serve --listen 127.0.0.1:0 --store {there}"));
    assert!(refused.err.contains("a copy to it was not finished"), "{refused:?}");
    assert_eq!(copy("sqlite:.windlass", &there).code, Some(0));
    let half = project.path().join("half");
    assert_eq!(copy(&there, "sqlite:half").code, Some(0));
    std::fs::write(half.join("copying"), "").unwrap();
    assert_eq!(copy("sqlite:half", "sqlite:back").code, Some(2));
    for line in ["runs --store half", "run --store half"] {
        let refused = project.run(line);
        assert!(refused.err.contains("a copy to it was not finished"), "{line}: {refused:?}");
    }
    assert_eq!(copy(&there, "sqlite:half").code, Some(0));
    assert_eq!(seen(&project, "half"), seen(&project, ".windlass"));
}
