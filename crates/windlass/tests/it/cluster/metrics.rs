//! The metrics of a cluster that has seen some things.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use rustix::process::Signal;
use windlass_controller::metrics::FAMILIES;

use super::arrange::{ClusterFolder, free_port};
use crate::exposition::ParsedMetricsPage;
use crate::run::arrange::until;

/// Fails once and succeeds then, fails for good, and a step that outlives its worker.
const STORY: &str = "\
name: 'odd_name-of-a_pipeline'
steps:
  flaky:
    run: test -e tried || { touch tried; exit 1; }
    retry: { times: 2, wait: 10ms }
  broken: { run: exit 3, ignore_failure: true }
  long: { run: 'echo $$ >> pids; until test -e go; do sleep 0.05; done' }
";

/// The metrics at an address of their own.
pub(super) fn scrape(port: u16) -> Option<ParsedMetricsPage> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    let ask = "GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n";
    stream.write_all(ask.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    Some(ParsedMetricsPage::read(body))
}

#[test]
fn what_a_cluster_went_through_is_in_its_metrics() {
    let port = free_port();
    let flags = format!("--lease-ttl 3s --no-exec --metrics-listen 127.0.0.1:{port}");
    let cluster = ClusterFolder::start(&flags);
    let value = |name: &str, labels: &[(&str, &str)]| {
        scrape(port).expect("it answers").value(name, labels).to_string()
    };
    let frozen = cluster.worker("frozen", "--slots 4");
    let run = cluster.submit(STORY);
    cluster.place.until_lines("pids", 1);
    until("the flaky one has succeeded", || {
        value("windlass_outcomes_total", &[("outcome", "succeeded")]) == "1"
    });
    let _other = cluster.worker("other", "--slots 4");
    frozen.signal(Signal::STOP);
    until("its worker is lost", || value("windlass_workers", &[("status", "lost")]) == "1");
    cluster.place.until_lines("pids", 2);
    assert_eq!(value("windlass_workers_online", &[]), "2", "the controller's own and the other");
    assert_eq!(value("windlass_leases", &[]), "1");
    assert_eq!(value("windlass_lease_expired_total", &[]), "1");
    cluster.place.file("go", "");
    cluster.ended(&run);
    until("the end is counted", || {
        value("windlass_runs_ended_total", &[("status", "succeeded")]) == "1"
    });
    let page = scrape(port).expect("it answers");
    let outcomes = |outcome| page.value("windlass_outcomes_total", &[("outcome", outcome)]);
    assert_eq!(["succeeded", "failed", "lost"].map(|it| outcomes(it).to_string()), ["2", "2", "1"]);
    assert_eq!(page.value("windlass_step_retry_total", &[]).to_string(), "1");
    let exchanges = [("route", "/workers/{id}/exchange"), ("method", "POST"), ("status", "200")];
    assert!(page.value("windlass_http_requests_total", &exchanges) > 0.0);
    assert!(page.value("process_resident_memory_bytes", &[]) > 1e6);
    assert!(page.value("process_start_time_seconds", &[]) > 1e9);
    let mut known: Vec<&str> = FAMILIES.iter().map(|family| family.name).collect();
    known.sort_unstable();
    assert_eq!(page.names(), known, "everything that there is, and nothing else");
    frozen.signal(Signal::CONT);
}

#[test]
fn open_metrics_require_a_loopback_address() {
    let place = crate::run::arrange::RunFolder::with("");
    let ended = place.run("serve --metrics-listen 0.0.0.0:0");
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.err.contains("loopback"), "{ended:?}");
}
