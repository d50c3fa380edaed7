//! TLS between a controller, its workers and the command line.

use std::fs;
use std::net::TcpStream;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use tokio::time::Instant;

use super::arrange::ServeController;
use super::certificate_authority::CertificateAuthority;
use crate::run::arrange::{RunFolder, until};

const HERE: &str = "name: here\nsteps: { s: { run: 'echo $WINDLASS_WORKER >> who' } }\n";
const TLS: &str = "--tls-cert tls.pem --tls-key tls.key";

/// A folder with an authority and a certificate for a controller of this machine.
fn vouched(pipeline: &str) -> RunFolder {
    let place = RunFolder::with(pipeline);
    CertificateAuthority::new(&place, "ca").vouch("tls", "DNS:localhost,IP:127.0.0.1");
    place
}

impl ServeController {
    /// What the command line gets there.
    fn says(&self, line: &str) -> (Option<i32>, String) {
        let ended = self.place.run(&format!("{line} --to {}", self.url));
        (ended.code, ended.out + &ended.err)
    }

    /// How a worker stands.
    fn status_of(&self, worker: &str) -> String {
        let workers = self.place.data(&format!("workers --json --ca ca.pem --to {}", self.url));
        let mut workers =
            workers.lines().map(|line| serde_json::from_str(line).expect("it is JSON"));
        let known = workers.find(|it: &Value| it["name"] == worker);
        known.and_then(|it| it["status"].as_str().map(str::to_owned)).unwrap_or_default()
    }
}

#[test]
fn workers_clients_and_guards_accept_trusted_certificates() {
    let controller =
        ServeController::start(vouched(HERE), &format!("--no-exec --lease-ttl 60s {TLS}"));
    assert!(controller.url.starts_with("https://127.0.0.1:"), "{}", controller.url);
    let place = &controller.place;
    let join = format!("worker --join {} --ca ca.pem --name far --slots 1", controller.url);
    let worker = place.start(&join);
    until("it has joined", || controller.status_of("far") == "online");
    assert_eq!(controller.says("submit --wait --ca ca.pem").0, Some(0));
    assert_eq!(place.lines("who"), ["far"]);
    let (code, said) = controller.says("runs");
    assert_eq!(code, Some(5), "{said}");
    assert!(said.contains("name its CA bundle with --ca FILE or WINDLASS_CA"), "{said}");
    let mut by_variable = place.command(&format!("runs --to {}", controller.url));
    by_variable.env("WINDLASS_CA", place.path().join("ca.pem"));
    assert_eq!(place.start_command(by_variable).ended().code, Some(0));
    assert_eq!(place.run(&format!("context {} --ca ca.pem", controller.url)).code, Some(0));
    assert_eq!(place.run("runs --pipeline here").code, Some(0));
    // Its guard is what tells: leases last a minute.
    let began = Instant::now();
    worker.signal(Signal::KILL);
    until("its guard has told its death", || controller.status_of("far") == "ended");
    assert!(began.elapsed() < Duration::from_secs(50), "{:?}", began.elapsed());
}

#[test]
fn plain_http_on_a_tls_port_is_reported_and_vice_versa() {
    let place = vouched(HERE);
    CertificateAuthority::new(&place, "other").vouch("elsewhere", "DNS:build.example");
    let secure = ServeController::start(place, TLS);
    let plain = ServeController::start(RunFolder::with(HERE), "");
    let (status, problem) = secure.get("/runs");
    assert_eq!((status, &problem["code"]), (400, &"tls_needed".into()), "{problem}");
    let address = secure.address();
    let ended = secure.place.run(&format!("runs --to http://{address}"));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.err.contains("begins with https://"), "{}", ended.err);
    let ended = secure.place.run(&format!("worker --join http://{address} --name w"));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.err.contains("this port speaks TLS"), "{}", ended.err);
    let ended = plain.place.run(&format!("runs --to https://{}", plain.address()));
    assert_eq!(ended.code, Some(5), "{ended:?}");
    assert!(ended.err.contains("the server does not use TLS"), "{}", ended.err);
    for (flags, code, words) in [
        ("--ca other.pem", 5, "no trusted authority has issued"),
        ("--ca absent.pem", 2, "absent.pem cannot be read"),
        ("--ca tls.key", 2, "tls.key has no certificate"),
    ] {
        let (ended, said) = secure.says(&format!("runs {flags}"));
        assert_eq!(ended, Some(code), "{flags}: {said}");
        assert!(said.contains(words), "{flags}: {said}");
    }
    secure.place.file("both.pem", secure.place.read("ca.pem") + &secure.place.read("other.pem"));
    assert_eq!(secure.says("runs --ca both.pem").0, Some(0), "several may vouch");
}

#[test]
fn a_certificate_is_renewed_without_a_restart() {
    let place = vouched(HERE);
    CertificateAuthority::new(&place, "new").vouch("renewed", "IP:127.0.0.1");
    let controller = ServeController::start(place, TLS);
    let place = &controller.place;
    let put = |from: &str, to: &str| {
        fs::rename(place.path().join(from), place.path().join(to)).expect("it is there");
    };
    assert_eq!(controller.says("runs --ca ca.pem").0, Some(0));
    assert_eq!(controller.says("runs --ca new.pem").0, Some(5));
    put("renewed.pem", "tls.pem");
    // Its key is not there yet: nothing changes but that it is told.
    until("it is told", || {
        assert_eq!(controller.says("runs --ca ca.pem").0, Some(0), "what was shown is shown on");
        controller.process.said().contains("do not fit")
    });
    put("renewed.key", "tls.key");
    until("the new one is shown", || controller.says("runs --ca new.pem").0 == Some(0));
    assert_eq!(controller.says("runs --ca ca.pem").0, Some(5));
    assert!(controller.process.said().contains("the certificate has changed"));
}

#[test]
fn unfinished_handshake_delays_no_other_client() {
    let controller = ServeController::start(vouched(HERE), TLS);
    let address = controller.address();
    let silent: Vec<TcpStream> =
        (0..50).map(|_| TcpStream::connect(address).expect("it listens")).collect();
    let began = Instant::now();
    assert_eq!(controller.says("runs --ca ca.pem").0, Some(0));
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    drop(silent);
}

#[test]
fn what_cannot_be_shown_is_refused_at_the_start() {
    let place = vouched(HERE);
    CertificateAuthority::new(&place, "other").vouch("elsewhere", "DNS:build.example");
    place.file("empty.pem", "");
    for (flags, words) in [
        ("--tls-cert tls.pem", "--tls-key"),
        ("--tls-cert absent.pem --tls-key tls.key", "absent.pem cannot be read"),
        ("--tls-cert empty.pem --tls-key tls.key", "empty.pem has no certificate"),
        ("--tls-cert tls.pem --tls-key tls.pem", "tls.pem has no private key"),
        ("--tls-cert tls.pem --tls-key elsewhere.key", "do not fit"),
        ("--tls-cert tls.pem --tls-key tls.key --advertise http://build.example", "https://"),
    ] {
        let ended = place.run(&format!("serve --listen 127.0.0.1:0 {flags}"));
        assert_eq!(ended.code, Some(2), "{flags}: {ended:?}");
        assert!(ended.err.contains(words), "{flags}: {}", ended.err);
    }
    let open = place.run(&format!("serve --listen 0.0.0.0:0 {TLS}"));
    assert_eq!(open.code, Some(2), "{open:?}");
    assert!(open.err.contains("no token exists"), "TLS is no token: {}", open.err);
    assert!(!place.path().join(".windlass").exists(), "nothing was made");
}
