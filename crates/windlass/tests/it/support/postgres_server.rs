//! A PostgreSQL server of the tests: it has its own folder and socket, and ends with the processes that use it.

use std::fs::{self, File};
use std::hash::{BuildHasher as _, DefaultHasher, Hash as _, Hasher as _, RandomState};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock};

use super::waiting::until;

/// Runs a server until its standard input is closed, even by the death of the test, and removes its files.
/// Each line on the standard input stops the server as in a crash, or starts it again.
const KEEPER: &str = r#"
    serve() { "$0" -D "$1/data" -k "$1" </dev/null & }
    serve "$1"
    while read -r order; do
        case $order in
            stop) kill -QUIT $!; wait $! ;;
            start) serve "$1" ;;
        esac
    done
    kill -INT $!
    wait $!
    rm -rf "$1"
"#;

/// Runs a server until no process shares the lock of the file any more, and removes its files.
const SHARED_KEEPER: &str = r#"
    exec 9<"$2"
    "$0" -D "$1/data" -k "$1" </dev/null 9<&- &
    while sleep 1; do
        if flock -n -x 9; then
            kill -INT $!
            wait $!
            rm -rf "$1"
            exit
        fi
    done
"#;

/// The number of the socket of the shared server.
const PORT: u16 = 5432;

/// The settings of a server: commits wait for the disk, as they should.
const SETTINGS: &str = "max_connections = 300\nlisten_addresses = ''\n";

/// A running server.
pub(crate) struct PgServer {
    /// The resource that keeps it alive: the other end of the keeper's standard input, or the lock.
    kept: PgServerFiles,
    folder: PathBuf,
    port: u16,
    psql: Mutex<Child>,
}

enum PgServerFiles {
    Own(Mutex<Child>),
    Shared { _lock: File },
}

/// The server of this process, which ends with it.
pub(crate) fn server() -> &'static PgServer {
    static SERVER: OnceLock<PgServer> = OnceLock::new();
    SERVER.get_or_init(PgServer::start)
}

/// The server that all test processes share. Tests that stop their server use another one. Creating a server takes most of
/// the time of such a test.
pub(crate) fn shared() -> &'static PgServer {
    static SERVER: OnceLock<PgServer> = OnceLock::new();
    SERVER.get_or_init(PgServer::shared)
}

impl PgServer {
    pub(crate) fn start() -> Self {
        Self::start_on(PORT, "", |_| {})
    }

    /// A server with its own settings and files; its socket has the number of its port.
    pub(crate) fn start_on(port: u16, settings: &str, arrange: impl FnOnce(&Path)) -> Self {
        Self::keep(port, |folder| {
            arrange(folder);
            initialise(folder, &format!("port = {port}\n{settings}"));
        })
    }

    /// A server in its own folder, whose files this function creates.
    pub(crate) fn keep(port: u16, make: impl FnOnce(&Path)) -> Self {
        let folder = tempfile::tempdir().expect("a folder").keep();
        make(&folder);
        let mut keeper = PgServerAccount::of_servers().command("sh");
        keeper.args(["-c", KEEPER]).arg(program("postgres")).arg(&folder);
        keeper.stdin(Stdio::piped());
        let kept = PgServerFiles::Own(Mutex::new(start(keeper, &folder, port)));
        Self::of(folder, port, kept)
    }

    /// Finds the shared server, or starts it. Each process that holds the lock uses it.
    fn shared() -> Self {
        let base = Path::new("/dev/shm");
        let base = if base.is_dir() { base.to_owned() } else { std::env::temp_dir() };
        let mut hash = DefaultHasher::new();
        std::env::current_exe().expect("it runs").hash(&mut hash);
        let folder = base.join(format!("windlass-postgres-{:016x}", hash.finish()));
        let lock = |end: &str| File::create(folder.with_extension(end)).expect("a file");
        let (used, starting) = (lock("used"), lock("starting"));
        used.lock_shared().expect("it can be locked");
        starting.lock().expect("it can be locked");
        if !is_ready(&folder, PORT) {
            drop(fs::remove_dir_all(&folder));
            fs::create_dir(&folder).expect("a folder");
            initialise(&folder, "");
            let mut keeper = PgServerAccount::of_servers().command("sh");
            keeper.args(["-c", SHARED_KEEPER]).arg(program("postgres")).arg(&folder);
            keeper.arg(folder.with_extension("used")).process_group(0);
            drop(start(keeper, &folder, PORT));
        }
        drop(starting);
        Self::of(folder, PORT, PgServerFiles::Shared { _lock: used })
    }

    fn of(folder: PathBuf, port: u16, kept: PgServerFiles) -> Self {
        let psql = Mutex::new(psql(&folder, port));
        Self { kept, folder, port, psql }
    }

    /// Ends at once, as in a crash: committed data is present when it starts again.
    pub(crate) fn stop(&self) {
        self.order("stop");
        // The server removes this file last, so it has not been ready for a while.
        until("the server is gone", || !self.folder.join("data/postmaster.pid").exists());
    }

    /// Starts again after a stop.
    pub(crate) fn start_again(&self) {
        self.order("start");
        wait(&self.folder, self.port);
        *self.psql.lock().expect("nobody panicked") = psql(&self.folder, self.port);
    }

    fn order(&self, order: &str) {
        let PgServerFiles::Own(keeper) = &self.kept else { panic!("others use this server") };
        let mut keeper = keeper.lock().expect("nobody panicked");
        writeln!(keeper.stdin.as_mut().expect("it is piped"), "{order}").expect("it reads");
    }

    /// Copies its files, as they are after a crash. The server must be stopped.
    pub(crate) fn back_up(&self) {
        self.copy("data", "backup");
    }

    /// Restores the copy: everything committed since is lost. The server must be stopped.
    pub(crate) fn restore(&self) {
        fs::remove_dir_all(self.folder.join("data")).expect("it is there");
        self.copy("backup", "data");
    }

    fn copy(&self, from: &str, to: &str) {
        let mut copy = Command::new("cp");
        let copied = copy.arg("-a").arg(self.folder.join(from)).arg(self.folder.join(to)).status();
        assert!(copied.expect("there is cp").success(), "{from} is copied");
    }

    /// The content of a schema, as `pg_dump` writes it.
    pub(crate) fn dump(&self, schema: &str) -> String {
        let mut dump = self.client("pg_dump");
        let dumped = dump.args(["-n", schema]).output().expect("pg_dump is installed");
        assert!(dumped.status.success(), "{dumped:?}");
        String::from_utf8(dumped.stdout).expect("it is text")
    }

    /// Replaces the content of a schema by a dump.
    pub(crate) fn put_back(&self, schema: &str, dump: &str) {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let drop = format!("SET client_min_messages = warning; DROP SCHEMA {schema} CASCADE;\n");
        fs::write(file.path(), drop + dump).expect("there is room");
        let mut psql = self.client("psql");
        psql.args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-f"]).arg(file.path());
        let restored = psql.output().expect("psql is installed");
        assert!(restored.status.success(), "{restored:?}");
    }

    /// Returns the output of statements for a role in a database, in a session of their own.
    pub(crate) fn psql_in(&self, role: &str, database: &str, statements: &str) -> String {
        let mut psql = self.client("psql");
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"]);
        psql.args(["-U", role, "-d", database, "-c", statements]);
        let printed = psql.output().expect("psql is installed");
        assert!(printed.status.success(), "{printed:?}");
        String::from_utf8(printed.stdout).expect("it is text").trim().to_owned()
    }

    /// The command of a program that connects to the server as its owner.
    fn client(&self, name: &str) -> Command {
        let mut client = Command::new(program(name));
        client.args(["-U", "windlass", "-d", "postgres", "-p", &self.port.to_string(), "-h"]);
        client.arg(&self.folder);
        client
    }

    /// The socket that it listens on.
    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.join(format!(".s.PGSQL.{}", self.port))
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// Creates a role that may only log in, with a schema of its own. Returns the name of both.
    pub(crate) fn fresh_role(&self) -> String {
        let name = fresh_name();
        self.make_role(&name);
        name
    }

    pub(crate) fn make_role(&self, name: &str) {
        self.psql(&format!(
            "CREATE ROLE {name} LOGIN PASSWORD 'hush'; CREATE SCHEMA {name} AUTHORIZATION {name};
             ALTER ROLE {name} SET search_path = {name}"
        ));
    }

    /// Returns the address of a new, empty schema, and the name of the schema.
    pub(crate) fn fresh(&self) -> (String, String) {
        let schema = fresh_name();
        self.psql(&format!("CREATE SCHEMA {schema}"));
        let host = self.folder.display().to_string().replace('/', "%2F");
        let url = format!("postgres://windlass@{host}/postgres?options=-csearch_path%3D{schema}");
        (url, schema)
    }

    /// Executes a statement, and returns its output.
    pub(crate) fn psql(&self, statement: &str) -> String {
        let mut psql = self.psql.lock().expect("nobody panicked");
        writeln!(psql.stdin.as_mut().expect("it is piped"), "{statement};\n\\echo {DONE}")
            .expect("psql reads");
        let mut printed = String::new();
        let mut out = BufReader::with_capacity(1, psql.stdout.as_mut().expect("it is piped"));
        while !printed.ends_with(&format!("{DONE}\n")) {
            assert!(
                out.read_line(&mut printed).expect("it is text") > 0,
                "psql has ended: {statement}"
            );
        }
        printed.trim_end_matches(&format!("{DONE}\n")).trim().to_owned()
    }
}

/// A unique name: processes share a server.
pub(crate) fn fresh_name() -> String {
    format!("t{:016x}", RandomState::new().hash_one(0))
}

/// Creates the files of a server.
fn initialise(folder: &Path, settings: &str) {
    let account = PgServerAccount::of_servers();
    account.give(folder);
    let data = folder.join("data");
    let mut initdb = account.command("initdb");
    initdb.args(["--auth=trust", "--username=windlass", "--encoding=UTF8", "--no-locale"]);
    initdb.arg("--no-sync").arg("--pgdata").arg(&data).stdout(Stdio::null());
    assert!(initdb.status().expect("initdb is installed").success(), "initdb");
    let mut file = File::options().append(true).open(data.join("postgresql.conf"));
    let file = file.as_mut().expect("it was made");
    write!(file, "{SETTINGS}{settings}").expect("there is room");
}

/// Starts a server through its keeper, and waits until it accepts connections.
fn start(mut keeper: Command, folder: &Path, port: u16) -> Child {
    let said = File::create(folder.join("said")).expect("a file");
    keeper.stdout(Stdio::null()).stderr(said);
    let keeper = keeper.spawn().expect("there is a shell");
    wait(folder, port);
    keeper
}

/// Waits until a server accepts connections.
fn wait(folder: &Path, port: u16) {
    until("the server takes connections", || is_ready(folder, port));
}

fn is_ready(folder: &Path, port: u16) -> bool {
    let mut command = Command::new(program("pg_isready"));
    command.args(["-q", "-p", &port.to_string(), "-h"]).arg(folder);
    command.status().is_ok_and(|status| status.success())
}

/// The text that `psql` prints after each answer.
const DONE: &str = "-- done";

fn psql(folder: &Path, port: u16) -> Child {
    let mut psql = Command::new(program("psql"));
    psql.args([
        "-X",
        "-q",
        "-A",
        "-t",
        "-v",
        "ON_ERROR_STOP=1",
        "-U",
        "windlass",
        "-d",
        "postgres",
    ]);
    psql.args(["-p", &port.to_string()]);
    psql.arg("-h")
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("psql is installed")
}

/// The account that runs servers, which refuse to run as root.
pub(crate) enum PgServerAccount {
    Own,
    Postgres { user: u32, group: u32 },
}

impl PgServerAccount {
    pub(crate) fn of_servers() -> Self {
        if !rustix::process::geteuid().is_root() {
            return Self::Own;
        }
        let accounts = fs::read_to_string("/etc/passwd").expect("there are accounts");
        let line = accounts.lines().find(|line| line.starts_with("postgres:"));
        let fields: Vec<&str> = line.expect("an account `postgres`").split(':').collect();
        Self::Postgres {
            user: fields[2].parse().expect("a number"),
            group: fields[3].parse().expect("a number"),
        }
    }

    pub(crate) fn give(&self, folder: &Path) {
        if let Self::Postgres { user, group } = *self {
            chown(folder, Some(user), Some(group)).expect("root may");
        }
    }

    pub(crate) fn command(&self, name: &str) -> Command {
        let mut command = Command::new(program(name));
        command.stdin(Stdio::null()).current_dir("/");
        if let Self::Postgres { user, group } = *self {
            command.uid(user).gid(group);
        }
        command
    }
}

/// Where a program of PostgreSQL is: Debian keeps them apart by version.
fn program(name: &str) -> PathBuf {
    let mut versions: Vec<PathBuf> = fs::read_dir("/usr/lib/postgresql")
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    versions.sort();
    let found = versions.into_iter().rev().map(|version| version.join("bin").join(name));
    found.into_iter().find(|path| path.exists()).unwrap_or_else(|| PathBuf::from(name))
}
