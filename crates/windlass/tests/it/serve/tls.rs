//! TLS between a controller, its workers and the command line.

use std::fs;
use std::net::TcpStream;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use tokio::time::Instant;

use crate::support::certificate_authority::CertificateAuthority;
use crate::support::local_cluster::LocalCluster;
use crate::support::project_folder::ProjectFolder;
use crate::support::waiting::until;

const HERE: &str = "name: here\nsteps: { s: { run: 'echo $WINDLASS_WORKER >> who' } }\n";
const TLS: &str = "--tls-cert tls.pem --tls-key tls.key --jobs 2";

/// A folder with an authority and a certificate for a controller of this machine.
fn vouched(pipeline: &str) -> ProjectFolder {
    let project = ProjectFolder::with(pipeline);
    CertificateAuthority::new(&project, "ca").vouch("tls", "DNS:localhost,IP:127.0.0.1");
    project
}

/// The exit code and the output of a command of the client.
fn client(cluster: &LocalCluster, line: &str) -> (Option<i32>, String) {
    let ended = cluster.run(line);
    (ended.code, ended.out + &ended.err)
}

/// The status of a worker, read over TLS.
fn status_over_tls(cluster: &LocalCluster, worker: &str) -> String {
    let workers = cluster.data("workers --json --ca ca.pem");
    let mut workers = workers.lines().map(|line| serde_json::from_str(line).expect("it is JSON"));
    let known = workers.find(|it: &Value| it["name"] == worker);
    known.and_then(|it| it["status"].as_str().map(str::to_owned)).unwrap_or_default()
}

#[test]
fn workers_clients_and_guards_accept_trusted_certificates() {
    let cluster =
        LocalCluster::start_in(vouched(HERE), &format!("--no-exec --lease-ttl 60s {TLS}"));
    assert!(cluster.url.starts_with("https://127.0.0.1:"), "{}", cluster.url);
    let project = &cluster.project;
    let join = format!("worker --join {} --ca ca.pem --name far --slots 1", cluster.url);
    let worker = project.start(&join);
    until("it has joined", || status_over_tls(&cluster, "far") == "online");
    assert_eq!(client(&cluster, "submit --wait --ca ca.pem").0, Some(0));
    assert_eq!(project.lines("who"), ["far"]);
    let (code, said) = client(&cluster, "runs");
    assert_eq!(code, Some(5), "{said}");
    assert!(said.contains("name its CA bundle with --ca FILE or WINDLASS_CA"), "{said}");
    let mut by_variable = project.command(&format!("runs --to {}", cluster.url));
    by_variable.env("WINDLASS_CA", project.path().join("ca.pem"));
    assert_eq!(project.start_command(by_variable).ended().code, Some(0));
    assert_eq!(project.run(&format!("context {} --ca ca.pem", cluster.url)).code, Some(0));
    assert_eq!(project.run("runs --pipeline here").code, Some(0));
    // The guard reports the death: leases last a minute.
    let began = Instant::now();
    worker.signal(Signal::KILL);
    until("its guard has told its death", || status_over_tls(&cluster, "far") == "ended");
    assert!(began.elapsed() < Duration::from_secs(50), "{:?}", began.elapsed());
}

#[test]
fn plain_http_on_a_tls_port_is_reported_and_vice_versa() {
    let project = vouched(HERE);
    CertificateAuthority::new(&project, "other").vouch("elsewhere", "DNS:build.example");
    let secure = LocalCluster::start_in(project, TLS);
    let plain = LocalCluster::start_in(ProjectFolder::with(HERE), "--jobs 2");
    let refused = secure.answer("/runs");
    assert_eq!((refused.status, &refused.json["code"]), (400, &"tls_needed".into()), "{refused:?}");
    let address = secure.address();
    let ended = secure.project.run(&format!("runs --to http://{address}"));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.err.contains("begins with https://"), "{}", ended.err);
    let ended = secure.project.run(&format!("worker --join http://{address} --name w"));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.err.contains("this port speaks TLS"), "{}", ended.err);
    let ended = plain.project.run(&format!("runs --to https://{}", plain.address()));
    assert_eq!(ended.code, Some(5), "{ended:?}");
    assert!(ended.err.contains("the server does not use TLS"), "{}", ended.err);
    for (flags, code, words) in [
        ("--ca other.pem", 5, "no trusted authority has issued"),
        ("--ca absent.pem", 2, "absent.pem cannot be read"),
        ("--ca tls.key", 2, "tls.key has no certificate"),
    ] {
        let (ended, said) = client(&secure, &format!("runs {flags}"));
        assert_eq!(ended, Some(code), "{flags}: {said}");
        assert!(said.contains(words), "{flags}: {said}");
    }
    secure
        .project
        .file("both.pem", secure.project.read("ca.pem") + &secure.project.read("other.pem"));
    assert_eq!(client(&secure, "runs --ca both.pem").0, Some(0), "several may vouch");
}

#[test]
fn a_certificate_is_renewed_without_a_restart() {
    let project = vouched(HERE);
    CertificateAuthority::new(&project, "new").vouch("renewed", "IP:127.0.0.1");
    let cluster = LocalCluster::start_in(project, TLS);
    let project = &cluster.project;
    let put = |from: &str, to: &str| {
        fs::rename(project.path().join(from), project.path().join(to)).expect("it is there");
    };
    assert_eq!(client(&cluster, "runs --ca ca.pem").0, Some(0));
    assert_eq!(client(&cluster, "runs --ca new.pem").0, Some(5));
    put("renewed.pem", "tls.pem");
    // The key of the new certificate is missing: nothing changes, and the controller logs that.
    until("it is told", || {
        assert_eq!(client(&cluster, "runs --ca ca.pem").0, Some(0), "what was shown is shown on");
        cluster.controller.said().contains("do not fit")
    });
    put("renewed.key", "tls.key");
    until("the new one is shown", || client(&cluster, "runs --ca new.pem").0 == Some(0));
    assert_eq!(client(&cluster, "runs --ca ca.pem").0, Some(5));
    assert!(cluster.controller.said().contains("the certificate has changed"));
}

#[test]
fn unfinished_handshake_delays_no_other_client() {
    let cluster = LocalCluster::start_in(vouched(HERE), TLS);
    let address = cluster.address();
    let silent: Vec<TcpStream> =
        (0..50).map(|_| TcpStream::connect(&address).expect("it listens")).collect();
    let began = Instant::now();
    assert_eq!(client(&cluster, "runs --ca ca.pem").0, Some(0));
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    drop(silent);
}

#[test]
fn unusable_certificates_are_refused_at_the_start() {
    let project = vouched(HERE);
    CertificateAuthority::new(&project, "other").vouch("elsewhere", "DNS:build.example");
    project.file("empty.pem", "");
    for (flags, words) in [
        ("--tls-cert tls.pem", "--tls-key"),
        ("--tls-cert absent.pem --tls-key tls.key", "absent.pem cannot be read"),
        ("--tls-cert empty.pem --tls-key tls.key", "empty.pem has no certificate"),
        ("--tls-cert tls.pem --tls-key tls.pem", "tls.pem has no private key"),
        ("--tls-cert tls.pem --tls-key elsewhere.key", "do not fit"),
        ("--tls-cert tls.pem --tls-key tls.key --advertise http://build.example", "https://"),
    ] {
        let ended = project.run(&format!("serve --listen 127.0.0.1:0 {flags}"));
        assert_eq!(ended.code, Some(2), "{flags}: {ended:?}");
        assert!(ended.err.contains(words), "{flags}: {}", ended.err);
    }
    let open = project.run(&format!("serve --listen 0.0.0.0:0 {TLS}"));
    assert_eq!(open.code, Some(2), "{open:?}");
    assert!(open.err.contains("no token exists"), "TLS is no token: {}", open.err);
    assert!(!project.path().join(".windlass").exists(), "nothing was made");
}
