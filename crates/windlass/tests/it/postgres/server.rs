//! A PostgreSQL of the tests' own: its own folder, its own socket, no port, and an end with the process that started it.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};

use crate::run::arrange::until;

/// Runs a server until nobody holds the other end of its standard input any more, and leaves nothing of it: whoever
/// started it may have died. Each line that it reads there stops the server as a crash would, or starts it again.
const KEEPER: &str = r#"
    serve() { "$0" -D "$1/data" -k "$1" -c listen_addresses= -c max_connections=300 </dev/null & }
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

/// A server that runs.
pub(crate) struct Server {
    /// Holds the other end of the keeper's standard input.
    keeper: Mutex<Child>,
    folder: PathBuf,
    psql: Mutex<Child>,
}

/// The server of this process. It ends with it: nothing is left to the next.
pub(crate) fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(Server::start)
}

impl Server {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path().join("data");
        let account = Account::of_servers();
        account.give(folder.path());
        let mut initdb = account.command("initdb");
        initdb.args(["--auth=trust", "--username=windlass", "--encoding=UTF8", "--no-locale"]);
        initdb.arg("--pgdata").arg(&data).stdout(Stdio::null());
        assert!(initdb.status().expect("initdb is installed").success(), "initdb");
        let folder = folder.keep();
        let mut keeper = account.command("sh");
        keeper.args(["-c", KEEPER]).arg(program("postgres")).arg(&folder);
        let said = fs::File::create(folder.join("said")).expect("a file");
        keeper.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(said);
        let keeper = keeper.spawn().expect("there is a shell");
        wait(&folder);
        let psql = Mutex::new(psql(&folder));
        Self { keeper: Mutex::new(keeper), folder, psql }
    }

    /// Ends at once, as in a crash: what was committed is there when it starts again.
    pub(crate) fn stop(&self) {
        self.order("stop");
        until("the server is gone", || !is_ready(&self.folder));
    }

    /// Starts again after a stop.
    pub(crate) fn start_again(&self) {
        self.order("start");
        wait(&self.folder);
        *self.psql.lock().expect("nobody panicked") = psql(&self.folder);
    }

    fn order(&self, order: &str) {
        let mut keeper = self.keeper.lock().expect("nobody panicked");
        writeln!(keeper.stdin.as_mut().expect("it is piped"), "{order}").expect("it reads");
    }

    /// The socket that it listens on.
    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.join(".s.PGSQL.5432")
    }

    /// The address of an empty schema that nobody else has, and its name.
    pub(crate) fn fresh(&self) -> (String, String) {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let schema = format!("t{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        self.psql(&format!("CREATE SCHEMA {schema}"));
        let host = self.folder.display().to_string().replace('/', "%2F");
        let url = format!("postgres://windlass@{host}/postgres?options=-csearch_path%3D{schema}");
        (url, schema)
    }

    /// Has a statement done, and returns what it prints.
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

/// Waits until a server takes connections.
fn wait(folder: &Path) {
    until("the server takes connections", || is_ready(folder));
}

fn is_ready(folder: &Path) -> bool {
    let mut asked = Command::new(program("pg_isready"));
    asked.arg("-q").arg("-h").arg(folder).status().is_ok_and(|status| status.success())
}

/// What `psql` prints behind each answer.
const DONE: &str = "-- done";

fn psql(folder: &Path) -> Child {
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
    psql.arg("-h")
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("psql is installed")
}

/// Who runs servers: they refuse to be root.
enum Account {
    Own,
    Postgres { user: u32, group: u32 },
}

impl Account {
    fn of_servers() -> Self {
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

    fn give(&self, folder: &Path) {
        if let Self::Postgres { user, group } = *self {
            chown(folder, Some(user), Some(group)).expect("root may");
        }
    }

    fn command(&self, name: &str) -> Command {
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
