//! The link through Redis, in a real one.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use windlass::conformance;
use windlass_link::mailbox::{
    MAILBOX_BYTES_MAX, MailboxAddress, MailboxError, MailboxId, MailboxMessage, MailboxRegistry,
    Mailboxes,
};

use crate::support::certificate_authority::CertificateAuthority;
use crate::support::cluster::free_port;
use crate::support::project_folder::ProjectFolder;
use crate::support::redis_server::RedisServer;

const TERM: Duration = Duration::from_mins(1);

fn open(url: &str, run: &str) -> Arc<dyn Mailboxes> {
    let site = MailboxAddress { url: url.to_owned(), run: run.to_owned(), ca: None };
    MailboxRegistry::built_in().open(&site).expect("it is an address")
}

fn story<T>(story: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let limited = async { tokio::time::timeout(Duration::from_mins(1), story).await };
    runtime.block_on(limited).expect("it ends")
}

/// Leads there, and sends and receives a message.
pub(super) fn works(url: &str, run: &str) {
    let mailboxes = open(url, run);
    story(async {
        mailboxes.bind("ann".to_owned(), TERM).await?;
        mailboxes.send(vec![MailboxMessage { to: MailboxId(7), bytes: b"hello".to_vec() }]).await?;
        let messages = mailboxes.receive(MailboxId(7), TERM).await?;
        assert_eq!(messages, [b"hello"]);
        assert_eq!(mailboxes.binding().await?.by.as_deref(), Some("ann"));
        Ok::<(), MailboxError>(())
    })
    .unwrap_or_else(|error| panic!("{run}: {error}"));
}

/// Returns the reason why it cannot be bound.
fn refusal(mailboxes: &dyn Mailboxes) -> MailboxError {
    story(mailboxes.bind("ann".to_owned(), TERM)).expect_err("it cannot be used")
}

#[test]
fn redis_conforms() {
    let redis = RedisServer::start(&[]);
    let (url, number) = (redis.url(), AtomicU32::new(0));
    conformance::check_link("redis", || {
        let run = format!("run-{}", number.fetch_add(1, Ordering::Relaxed));
        let url = url.clone();
        move || open(&url, &run)
    });
}

#[test]
fn unusable_server_is_refused_with_the_remedy() {
    let secret = RedisServer::start(&["--requirepass", "p@ss"]);
    let without = refusal(&*open(&secret.url(), "r")).to_string();
    assert!(without.contains("it requires a password"), "{without}");
    let at = format!("127.0.0.1:{}", secret.port());
    let wrong = refusal(&*open(&format!("redis://:wrong@{at}"), "r")).to_string();
    assert!(wrong.contains("password is wrong") && !wrong.contains("wrong@"), "{wrong}");
    let right = open(&format!("redis://:p%40ss@{at}/2"), "r");
    story(right.bind("ann".to_owned(), TERM)).expect("it is let in");

    let evicts = RedisServer::start(&["--maxmemory", "10mb", "--maxmemory-policy", "allkeys-lru"]);
    let refused = refusal(&*open(&evicts.url(), "r"));
    assert!(!refused.is_retryable() && refused.to_string().contains("noeviction"), "{refused}");

    let replica = RedisServer::start(&["--replicaof", "127.0.0.1", "1"]);
    let refused = refusal(&*open(&replica.url(), "r")).to_string();
    assert!(refused.contains("address of its primary"), "{refused}");

    let full = RedisServer::start(&["--maxmemory", "1"]);
    let refused = refusal(&*open(&full.url(), "r"));
    assert!(matches!(&refused, MailboxError::Full { .. }), "{refused}");
    assert!(refused.to_string().contains("maxmemory"), "{refused}");
}

#[test]
fn tls_certificate_is_checked_against_the_ca_bundle() {
    let project = ProjectFolder::with("");
    CertificateAuthority::new(&project, "ca").vouch("redis", "IP:127.0.0.1");
    let port = free_port().to_string();
    let file = |name: &str| project.path().join(name).display().to_string();
    let (certificate, key, ca) = (file("redis.pem"), file("redis.key"), file("ca.pem"));
    let tls = ["--tls-port", &port, "--tls-cert-file", &certificate, "--tls-key-file", &key];
    let _redis = RedisServer::start(
        &[&tls[..], &["--tls-ca-cert-file", &ca, "--tls-auth-clients", "no"]].concat(),
    );
    let open = |ca: Option<PathBuf>| {
        let (url, run) = (format!("rediss://127.0.0.1:{port}"), "r".to_owned());
        MailboxRegistry::built_in()
            .open(&MailboxAddress { url, run, ca })
            .expect("it is an address")
    };
    let refused = refusal(&*open(None)).to_string();
    assert!(refused.contains("certificate"), "{refused}");
    story(open(Some(ca.into())).bind("ann".to_owned(), TERM)).expect("it is vouched for");
}

#[test]
fn a_user_needs_the_permissions_of_the_documentation_and_its_own_keys_only() {
    let redis = RedisServer::start(&[]);
    let user = |name: &str, may: &[&str]| {
        let command = [&["ACL", "SETUSER", name, "on", ">hush"], may].concat();
        assert_eq!(redis.cli(&command), "OK");
        open(&format!("redis://{name}:hush@127.0.0.1:{}", redis.port()), "r")
    };
    let may = ["~windlass:*", "+@read", "+@write", "+@scripting", "+time", "+info"];
    let works = async |mailboxes: Arc<dyn Mailboxes>| {
        let epoch = mailboxes.bind("ann".to_owned(), TERM).await?;
        mailboxes.send(vec![MailboxMessage { to: MailboxId(7), bytes: b"hello".to_vec() }]).await?;
        mailboxes.receive(MailboxId(7), TERM).await?;
        mailboxes.unbind(epoch, None).await
    };
    story(works(user("ci", &may))).expect("it may");
    story(works(user("terse", &may[..5])))
        .expect("a user without the permission for INFO is accepted");
    let refused = story(works(user("stranger", &["~other:*", "+@all"])));
    let Err(MailboxError::Refused { reason, .. }) = refused else { panic!("{refused:?}") };
    assert!(reason.contains("lacks a permission"), "{reason}");
}

#[test]
fn server_that_is_not_redis_is_reported() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let url = format!("redis://{}", listener.local_addr().expect("it is bound"));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 100]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let refused = refusal(&*open(&url, "r")).to_string();
    assert!(refused.contains("the server at this address is not Redis"), "{refused}");
    let nobody = refusal(&*open("redis://127.0.0.1:1", "r"));
    assert!(nobody.is_retryable() && nobody.to_string().contains("refused"), "{nobody}");
}

#[test]
fn every_redis_key_expires() {
    let redis = RedisServer::start(&[]);
    let mailboxes = open(&redis.url(), "r");
    story(async {
        let epoch = mailboxes.bind("ann".to_owned(), TERM).await.expect("nobody leads");
        let message = |to| MailboxMessage { to: MailboxId(to), bytes: b"hello".to_vec() };
        mailboxes.send(vec![message(0), message(7)]).await.expect("there is room");
        mailboxes.renew(epoch, TERM).await.expect("it is bound");
        let keys = redis.cli(&["KEYS", "*"]);
        let keys: Vec<&str> = keys.lines().collect();
        assert_eq!(keys.len(), 6, "{keys:?}");
        for key in keys {
            assert!(key.starts_with("windlass:{r}:"), "{key}");
            let left: i64 = redis.cli(&["TTL", key]).parse().expect("a number");
            assert!((1..=86_400).contains(&left), "{key}: {left}");
        }
        mailboxes.unbind(epoch, Some("succeeded".to_owned())).await.expect("it is bound");
        let left: i64 = redis.cli(&["TTL", "windlass:{r}:place"]).parse().expect("a number");
        assert!(left > 3_600, "{left}");
    });
}

#[test]
fn mailbox_size_is_bounded() {
    let redis = RedisServer::start(&[]);
    let mailboxes = open(&redis.url(), "r");
    story(async {
        let message = || MailboxMessage { to: MailboxId(7), bytes: vec![b'x'; 1 << 20] };
        let fits = MAILBOX_BYTES_MAX >> 20;
        for _ in 0..fits {
            mailboxes.send(vec![message()]).await.expect("there is room");
        }
        let full = mailboxes.send(vec![message()]).await;
        assert!(matches!(full, Err(MailboxError::Full { .. })), "{full:?}");
        let mut taken = 0;
        while taken < fits {
            taken += mailboxes.receive(MailboxId(7), TERM).await.expect("it reads").len();
        }
        mailboxes.send(vec![message()]).await.expect("there is room again");
    });
}

#[test]
fn fifty_runs_beside_each_other_do_not_mix() {
    let redis = RedisServer::start(&[]);
    story(async {
        let mut runs = tokio::task::JoinSet::new();
        for number in 0..50 {
            let mailboxes = open(&redis.url(), &format!("run {number}"));
            runs.spawn(async move {
                let by = format!("leader {number}");
                mailboxes.bind(by.clone(), TERM).await?;
                for message in 0..20 {
                    let bytes = format!("{number} {message}").into_bytes();
                    mailboxes.send(vec![MailboxMessage { to: MailboxId::LEADER, bytes }]).await?;
                }
                let mut received = Vec::new();
                while received.len() < 20 {
                    received.extend(mailboxes.receive(MailboxId::LEADER, TERM).await?);
                }
                let wanted = (0..20).map(|message| format!("{number} {message}").into_bytes());
                assert_eq!(received, wanted.collect::<Vec<_>>());
                assert_eq!(mailboxes.binding().await?.by, Some(by));
                Ok::<(), MailboxError>(())
            });
        }
        for run in runs.join_all().await {
            run.expect("it answers");
        }
    });
}

#[test]
fn cut_connections_reconnect_and_a_restart_keeps_persisted_messages() {
    let mut redis = RedisServer::start(&["--appendonly", "yes"]);
    let mailboxes = open(&redis.url(), "r");
    story(async {
        let epoch = mailboxes.bind("ann".to_owned(), TERM).await.expect("nobody leads");
        for number in 0..5 {
            redis.cli(&["CLIENT", "KILL", "TYPE", "normal"]);
            let bytes = format!("letter {number}").into_bytes();
            mailboxes
                .send(vec![MailboxMessage { to: MailboxId(7), bytes }])
                .await
                .expect("it is made anew");
        }
        redis.kill();
        assert!(mailboxes.renew(epoch, TERM).await.is_err_and(|error| error.is_retryable()));
        redis.begin();
        mailboxes.renew(epoch, TERM).await.expect("it is bound");
        let messages = mailboxes.receive(MailboxId(7), TERM).await.expect("it reads");
        assert_eq!(messages.len(), 5);
    });
}

#[test]
fn a_restart_without_data_is_noticed_and_gives_no_epoch_again() {
    let mut redis = RedisServer::start(&[]);
    let mailboxes = open(&redis.url(), "r");
    story(async {
        let epoch = mailboxes.bind("ann".to_owned(), TERM).await.expect("nobody leads");
        redis.kill();
        redis.begin();
        let kept = mailboxes.renew(epoch, TERM).await;
        let Err(MailboxError::StateLost { reason, .. }) = kept else { panic!("{kept:?}") };
        assert!(reason.contains("restarted without"), "{reason}");
        let next = mailboxes.bind("ben".to_owned(), TERM).await.expect("nobody leads");
        assert!(next > epoch, "{next} {epoch}");
    });
}
