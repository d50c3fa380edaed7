//! Acknowledged data is on the disk of the server, whatever its settings are.

use std::sync::Arc;

use windlass::core::id::RunId;
use windlass_store::conformance::{block_on, sample_history};
use windlass_store::db::StoreError;
use windlass_store::journal::{
    BatchId, CampaignOutcome, EventBatch, Journal as _, JournalLeadership, LeaderCandidate,
    PostgresJournal, PostgresJournalOptions,
};

use crate::support::postgres_server::{PgServer, fresh_name, shared};
use crate::support::project_folder::ProjectFolder;
use crate::support::waiting::until;

/// Records what a commit of a batch or of a condemned run waits for, at the end of its transaction.
pub(super) const WATCH: &str = "
    CREATE TABLE waited (what text, setting text);
    CREATE FUNCTION notes() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO waited VALUES (TG_ARGV[0], current_setting('synchronous_commit'));
        RETURN NULL;
    END $$;
    CREATE CONSTRAINT TRIGGER noted AFTER INSERT ON windlass_journal
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION notes('batch');
    CREATE CONSTRAINT TRIGGER noted AFTER INSERT ON windlass_condemned
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION notes('condemned')";

/// A database of its own, whose connections start with a setting of its owner.
struct DurabilityDatabase {
    name: String,
    url: String,
}

impl DurabilityDatabase {
    fn new() -> Self {
        let name = fresh_name();
        shared().psql(&format!("CREATE ROLE {name} LOGIN"));
        shared().psql(&format!("CREATE DATABASE {name} OWNER {name}"));
        let host = shared().folder().display().to_string().replace('/', "%2F");
        let url = format!("postgres://{name}@{host}/{name}");
        drop(
            block_on(PostgresJournal::open(&url, PostgresJournalOptions::default()))
                .expect("it opens"),
        );
        let database = Self { name, url };
        database.psql(WATCH);
        database
    }

    fn psql(&self, statements: &str) -> String {
        shared().psql_in(&self.name, &self.name, statements)
    }

    fn written(&self) -> String {
        write(&self.url, &|statements| self.psql(statements))
    }
}

/// Leads, writes a batch and condemns a run; returns what each commit waited for.
pub(super) fn write(url: &str, psql: &dyn Fn(&str) -> String) -> String {
    psql("DELETE FROM waited");
    let journal = block_on(PostgresJournal::open(url, PostgresJournalOptions::default()));
    let journal = journal.expect("it opens");
    let CampaignOutcome::Won(won) = block_on(journal.campaign(candidate())).expect("it answers")
    else {
        panic!("nobody leads it")
    };
    block_on(journal.append(batch(won))).expect("it is written");
    block_on(journal.condemn(won.term, RunId(won.term.0))).expect("it is written");
    block_on(journal.resign(won.term)).expect("it answers");
    psql("SELECT string_agg(what || ' ' || setting, ', ' ORDER BY what) FROM waited")
}

fn candidate() -> LeaderCandidate {
    LeaderCandidate { node: "ann".to_owned(), address: None }
}

fn batch(won: JournalLeadership) -> Arc<EventBatch> {
    let history = sample_history();
    let events = history.batches[0].iter().map(|it| (it.at, it.event.clone()));
    Arc::new(EventBatch::new(won.term, BatchId(won.term.0), won.head, events))
}

#[test]
fn commits_wait_for_the_disk_whatever_the_role_and_the_database_are_set_to() {
    let database = DurabilityDatabase::new();
    let name = &database.name;
    for weak in ["off", "local", "remote_write"] {
        shared().psql(&format!("ALTER DATABASE {name} SET synchronous_commit = {weak}"));
        assert_eq!(database.psql("SHOW synchronous_commit"), weak, "it is what sessions get");
        assert_eq!(database.written(), "batch on, condemned on", "of the database: {weak}");
    }
    shared().psql(&format!("ALTER DATABASE {name} RESET synchronous_commit"));
    for weak in ["off", "local", "remote_write"] {
        shared().psql(&format!("ALTER ROLE {name} SET synchronous_commit = {weak}"));
        assert_eq!(database.psql("SHOW synchronous_commit"), weak, "it is what sessions get");
        assert_eq!(database.written(), "batch on, condemned on", "of the role: {weak}");
    }
    shared().psql(&format!("DROP DATABASE {name} WITH (FORCE)"));
}

/// Everything that the server confirms may be lost in a crash of its machine.
#[test]
fn a_server_that_does_not_wait_for_its_disk_is_refused() {
    let server = PgServer::start();
    let (url, _) = server.fresh();
    let open =
        || block_on(PostgresJournal::open(&url, PostgresJournalOptions::default())).map(drop);
    assert_eq!(open(), Ok(()));
    for setting in ["fsync", "full_page_writes"] {
        let set = |to: &str| {
            server.psql(&format!("ALTER SYSTEM SET {setting} = {to}"));
            server.psql("SELECT pg_reload_conf()");
            let shown = format!("SELECT setting FROM pg_settings WHERE name = '{setting}'");
            until("it is set", || server.psql(&shown) == to);
        };
        set("off");
        let text = format!("its server runs with {setting} = off and loses what it has confirmed");
        let hint = format!("set {setting} = on in its configuration");
        let error = open().expect_err("it is refused");
        assert!(matches!(error, StoreError::Unusable { .. }), "{error:?}");
        assert!(error.to_string().contains(&text) && error.to_string().contains(&hint), "{error}");
        let serve = format!("serve --no-exec --listen 127.0.0.1:0 --no-token --store {url}");
        let refused = ProjectFolder::with("").run(&serve);
        assert!(refused.code.is_some_and(|code| code != 0), "{refused:?}");
        assert!(refused.err.contains(&text), "{refused:?}");
        set("on");
        assert_eq!(open(), Ok(()), "it is taken again");
    }
}
