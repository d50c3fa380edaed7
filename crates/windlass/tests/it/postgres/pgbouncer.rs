//! Stores behind a real pgbouncer that gives every transaction another connection.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, OnceLock};

use windlass::conformance;
use windlass::core::time::Span;
use windlass_link::mailbox::{MailboxAddress, MailboxRegistry};
use windlass_store::archive::{Archive, PostgresArchive};
use windlass_store::conformance::{JournalHandle, StorageHarness, block_on};
use windlass_store::journal::{PostgresJournal, PostgresJournalOptions};
use windlass_store::logs::{LogStore, PostgresLogs};
use windlass_store::sql_views::PostgresSqlViews;

use super::durability::{WATCH, write};
use crate::support::postgres_server::{PgServer, PgServerAccount, fresh_name, shared};
use crate::support::waiting::{is_deep, until};

/// Runs a pooler until its standard input is closed, and removes its files.
const KEEPER: &str = r#"
    "$0" -q "$1/pgbouncer.ini" </dev/null &
    cat >/dev/null
    kill -INT $!
    wait $!
    rm -rf "$1"
"#;

/// A pooler in front of a server.
pub(crate) struct PgBouncer {
    _keeper: Child,
    folder: PathBuf,
    /// The roles that the pooler knows and no test uses yet.
    roles: Mutex<Vec<String>>,
}

/// The pooler of this process, in front of the server that all tests share.
fn bouncer() -> &'static PgBouncer {
    static BOUNCER: OnceLock<PgBouncer> = OnceLock::new();
    // More roles than all checks need, some of which kill a writer many times.
    BOUNCER.get_or_init(|| PgBouncer::before(shared(), 3000))
}

impl PgBouncer {
    /// Starts a pooler in front of this server, which knows this many roles.
    pub(crate) fn before(server: &PgServer, roles: usize) -> Self {
        let folder = tempfile::tempdir().expect("a folder").keep();
        let account = PgServerAccount::of_servers();
        account.give(&folder);
        let (here, there) = (folder.display(), server.folder().display());
        let settings = format!(
            "[databases]\n* = host={there} port=5432\n[pgbouncer]\nlisten_port = 6432\n\
             unix_socket_dir = {here}\nauth_type = trust\nauth_file = {here}/roles\n\
             pool_mode = transaction\ndefault_pool_size = 3\nmax_client_conn = 1000\n\
             server_idle_timeout = 2\nserver_login_retry = 1\n"
        );
        fs::write(folder.join("pgbouncer.ini"), settings).expect("a file");
        // The pooler reads the roles once.
        let roles: Vec<String> = (0..roles).map(|_| fresh_name()).collect();
        let lines: Vec<String> = roles.iter().map(|role| format!("\"{role}\" \"\"")).collect();
        fs::write(folder.join("roles"), lines.join("\n")).expect("a file");
        let mut keeper = account.command("sh");
        keeper.args(["-c", KEEPER, "/usr/sbin/pgbouncer"]).arg(&folder).stdin(Stdio::piped());
        keeper.stdout(Stdio::null()).stderr(Stdio::null());
        let keeper = keeper.spawn().expect("there is a shell");
        let socket = folder.join(".s.PGSQL.6432");
        until("pgbouncer takes connections", || UnixStream::connect(&socket).is_ok());
        Self { _keeper: keeper, folder, roles: Mutex::new(roles) }
    }

    /// Returns the address of an empty schema through the pooler, and the name of the schema.
    fn fresh(&self) -> (String, String) {
        self.fresh_on(shared())
    }

    /// The same without the pooler.
    pub(crate) fn fresh_on(&self, server: &PgServer) -> (String, String) {
        let role = self.roles.lock().expect("nobody panicked").pop().expect("there are enough");
        server.make_role(&role);
        let host = self.folder.display().to_string().replace('/', "%2F");
        (format!("postgres://{role}@{host}:6432/postgres"), role)
    }
}

struct PgBouncerStorage {
    address: String,
    schema: String,
}

impl StorageHarness for PgBouncerStorage {
    fn open(&self) -> JournalHandle {
        let options = PostgresJournalOptions { term: Span::mins(1), partition: 64 };
        Arc::new(block_on(PostgresJournal::open(&self.address, options)).expect("it opens"))
    }

    fn is_costly(&self) -> bool {
        !is_deep()
    }

    fn let_terms_end(&self) {
        let leader = format!("{}.windlass_leader", self.schema);
        shared().psql(&format!("UPDATE {leader} SET until = clock_timestamp()"));
    }
}

#[test]
fn journal_conforms_through_a_pooler() {
    conformance::check_journal("pgbouncer", || {
        let (address, schema) = bouncer().fresh();
        PgBouncerStorage { address, schema }
    });
}

/// A pooler accepts no settings with a connection, so each transaction states what it waits for.
#[test]
fn commits_wait_for_the_disk_through_a_pooler_whatever_the_role_is_set_to() {
    let (address, role) = bouncer().fresh();
    shared().psql(&format!("ALTER ROLE {role} SET synchronous_commit = off"));
    drop(
        block_on(PostgresJournal::open(&address, PostgresJournalOptions::default()))
            .expect("it opens"),
    );
    let psql = |statements: &str| shared().psql_in(&role, "postgres", statements);
    psql(WATCH);
    assert_eq!(psql("SHOW synchronous_commit"), "off", "it is what sessions get");
    assert_eq!(write(&address, &psql), "batch on, condemned on");
}

#[test]
fn archive_and_logs_conform_through_a_pooler() {
    conformance::check_archive("pgbouncer", || {
        let (address, _) = bouncer().fresh();
        move || -> Arc<dyn Archive> {
            Arc::new(block_on(PostgresArchive::open(&address)).expect("the archive opens"))
        }
    });
    conformance::check_logs("pgbouncer", || {
        let (address, _) = bouncer().fresh();
        move || -> Arc<dyn LogStore> {
            Arc::new(block_on(PostgresLogs::open(&address)).expect("the logs open"))
        }
    });
    block_on(PostgresSqlViews::open(&bouncer().fresh().0)).expect("the tables open");
}

/// Mailboxes work too: notifications do not pass the pooler, so messages are polled.
#[test]
fn link_conforms_through_a_pooler() {
    conformance::check_link("pgbouncer", || {
        let (url, _) = bouncer().fresh();
        move || {
            let site = MailboxAddress { url: url.clone(), run: "run".to_owned(), ca: None };
            MailboxRegistry::built_in().open(&site).expect("it is an address")
        }
    });
}
