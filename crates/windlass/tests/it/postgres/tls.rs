//! TLS to a server that has a certificate of its own authority.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use windlass_store::conformance::block_on;
use windlass_store::db::StoreError;
use windlass_store::journal::{Journal as _, PostgresJournal, PostgresJournalOptions};

use crate::support::certificate_authority::CertificateAuthority;
use crate::support::postgres_server::{PgServer, PgServerAccount};
use crate::support::project_folder::ProjectFolder;
use crate::support::waiting::until;

/// A server on a port of this machine, and its certificate authority.
struct TlsPgServer {
    server: PgServer,
    project: ProjectFolder,
    port: u16,
}

impl TlsPgServer {
    fn start(settings: &str) -> Self {
        let project = ProjectFolder::with("name: none\nsteps: { s: { run: 'true' } }\n");
        CertificateAuthority::new(&project, "ca").vouch("tls", "DNS:localhost");
        CertificateAuthority::new(&project, "other");
        // The port was free a moment ago.
        let port = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
        let port = port.expect("there is a port").port();
        let settings = format!("listen_addresses = '127.0.0.1'\n{settings}");
        let server =
            PgServer::start_on(port, &settings, |folder| give_certificate(&project.path(), folder));
        Self { server, project, port }
    }

    /// Whether a journal opens with these settings of TLS.
    fn open(&self, host: &str, asked: &str) -> Result<(), StoreError> {
        let role = self.server.fresh_role();
        let Self { port, .. } = self;
        let ca = self.project.path().display().to_string().replace('/', "%2F");
        let asked = asked.replace("CA", &ca);
        let url = format!("postgres://{role}:hush@{host}:{port}/postgres?{asked}");
        let journal = block_on(PostgresJournal::open(&url, PostgresJournalOptions::default()))?;
        block_on(journal.head()).map(drop)
    }
}

/// The server reads only files of its own account.
fn give_certificate(from: &Path, folder: &Path) {
    for file in ["tls.pem", "tls.key"] {
        let to = folder.join(file);
        fs::copy(from.join(file), &to).expect("a file");
        fs::set_permissions(&to, fs::Permissions::from_mode(0o600)).expect("it is ours");
        PgServerAccount::of_servers().give(&to);
    }
}

const ON: &str = "ssl = on\nssl_cert_file = '../tls.pem'\nssl_key_file = '../tls.key'\n";

#[test]
fn certificate_is_checked_as_strictly_as_the_address_requests() {
    let server = TlsPgServer::start(ON);
    for (host, asked) in [
        ("localhost", "sslmode=verify-full&sslrootcert=CA%2Fca.pem"),
        ("localhost", "sslmode=verify-ca&sslrootcert=CA%2Fca.pem"),
        ("127.0.0.1", "sslmode=verify-ca&sslrootcert=CA%2Fca.pem"),
        ("127.0.0.1", "sslmode=require"),
        ("127.0.0.1", "sslmode=prefer"),
        ("127.0.0.1", "sslmode=disable"),
        ("127.0.0.1", ""),
    ] {
        assert_eq!(server.open(host, asked), Ok(()), "{host} {asked}");
    }
    for (host, asked, text) in [
        ("127.0.0.1", "sslmode=verify-full&sslrootcert=CA%2Fca.pem", "is for another host"),
        ("localhost", "sslmode=verify-full&sslrootcert=CA%2Fother.pem", "sslrootcert=FILE"),
        ("localhost", "sslmode=require&sslrootcert=CA%2Fother.pem", "sslrootcert=FILE"),
        ("localhost", "sslmode=verify-full", "sslrootcert=FILE"),
        ("localhost", "sslmode=verify-full&sslrootcert=CA%2Fnone.pem", "cannot be read"),
        ("localhost", "sslmode=strict", "verify-full"),
    ] {
        let error = server.open(host, asked).expect_err(asked);
        assert!(matches!(error, StoreError::Unusable { .. }), "{host} {asked}: {error:?}");
        assert!(error.to_string().contains(text), "{host} {asked}: {error}");
        assert!(!error.to_string().contains("hush"), "{error}");
    }
}

/// Without a setting, the connection is encrypted if the server has TLS, and plain otherwise.
#[test]
fn required_tls_is_used_or_refused_with_the_reason() {
    let plain = TlsPgServer::start("");
    for asked in ["", "sslmode=prefer", "sslmode=disable"] {
        assert_eq!(plain.open("127.0.0.1", asked), Ok(()), "{asked}");
    }
    let error = plain.open("127.0.0.1", "sslmode=require").unwrap_err();
    assert!(error.to_string().contains("does not speak TLS"), "{error}");
    let secured = TlsPgServer::start(ON);
    let role = secured.server.fresh_role();
    let seen = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
                WHERE usename =";
    for (asked, is_secure) in [("", "t"), ("?sslmode=require", "t"), ("?sslmode=disable", "f")] {
        let url = format!("postgres://{role}:hush@127.0.0.1:{}/postgres{asked}", secured.port);
        let journal =
            block_on(PostgresJournal::open(&url, PostgresJournalOptions::default())).unwrap();
        block_on(journal.head()).unwrap();
        until("only its own connections are there", || {
            secured.server.psql(&format!("{seen} '{role}'")) == is_secure
        });
    }
}
