//! A Redis server of a test: it has its own folder and port, and ends with the process that started it.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::waiting::until;

/// Runs a server until its standard input is closed, even by the death of the test.
const KEEPER: &str = r#"
    port=$1; shift
    redis-server --bind 127.0.0.1 --port "$port" --save "" "$@" </dev/null &
    cat >/dev/null
    kill -KILL $!
    wait $!
"#;

/// A running server.
pub(crate) struct RedisServer {
    port: u16,
    folder: TempDir,
    settings: Vec<String>,
    keeper: Option<Child>,
}

impl RedisServer {
    /// A server with these additional settings.
    pub(crate) fn start(settings: &[&str]) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = free.local_addr().expect("it is bound").port();
        drop(free);
        let settings = settings.iter().map(|&it| it.to_owned()).collect();
        let folder = TempDir::new().expect("a folder");
        let mut redis = Self { port, folder, settings, keeper: None };
        redis.begin();
        redis
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    pub(crate) const fn port(&self) -> u16 {
        self.port
    }

    /// Starts it with its saved data, if it saves any.
    pub(crate) fn begin(&mut self) {
        let mut keeper = Command::new("sh");
        keeper.args(["-c", KEEPER, "keeper"]).arg(self.port.to_string());
        keeper.arg("--dir").arg(self.folder.path()).args(&self.settings);
        keeper.stdin(Stdio::piped()).stdout(Stdio::null());
        self.keeper = Some(keeper.spawn().expect("there is a shell"));
        until("the server answers", || {
            let answered = self.cli(&["PING"]);
            answered.contains("PONG") || answered.contains("NOAUTH")
        });
    }

    /// Kills it.
    pub(crate) fn kill(&mut self) {
        let Some(mut keeper) = self.keeper.take() else { return };
        drop(keeper.stdin.take());
        keeper.wait().expect("it ends");
    }

    /// Executes a command, and returns its output.
    pub(crate) fn cli(&self, command: &[&str]) -> String {
        let mut cli = Command::new("redis-cli");
        cli.arg("-p").arg(self.port.to_string()).args(command).stderr(Stdio::null());
        let printed = cli.output().expect("redis-cli is installed").stdout;
        String::from_utf8_lossy(&printed).trim().to_owned()
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.kill();
    }
}
