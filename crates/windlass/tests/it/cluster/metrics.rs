//! The metrics of a cluster with failures, retries and lost workers.

use rustix::process::Signal;
use windlass_controller::metrics::FAMILIES;

use crate::exposition::ParsedMetricsPage;
use crate::support::cluster::{TestCluster as _, free_port};
use crate::support::http_client::HttpRequest;
use crate::support::local_cluster::LocalCluster;
use crate::support::project_folder::ProjectFolder;
use crate::support::waiting::{PATIENCE, until};

/// A step that fails once and then succeeds, one that fails finally, and one that outlives its worker.
const STORY: &str = "\
name: 'odd_name-of-a_pipeline'
steps:
  flaky:
    run: test -e tried || { touch tried; exit 1; }
    retry: { times: 2, wait: 10ms }
  broken: { run: exit 3, ignore_failure: true }
  long: { run: 'echo $$ >> pids; until test -e go; do sleep 0.05; done' }
";

/// The page of metrics on a port.
pub(super) fn scrape(port: u16) -> Option<ParsedMetricsPage> {
    let answer = HttpRequest::get("/metrics").send(port, PATIENCE)?;
    assert_eq!(answer.status, 200, "{}", answer.head);
    Some(ParsedMetricsPage::read(&answer.text()))
}

#[test]
fn events_of_a_cluster_are_in_its_metrics() {
    let port = free_port();
    let flags = format!("--lease-ttl 3s --no-exec --metrics-listen 127.0.0.1:{port}");
    let cluster = LocalCluster::start(&flags);
    let value = |name: &str, labels: &[(&str, &str)]| {
        scrape(port).expect("it answers").value(name, labels).to_string()
    };
    let frozen = cluster.worker("frozen", "--slots 4");
    let run = cluster.submit(STORY);
    cluster.project.until_lines("pids", 1);
    until("the flaky one has succeeded", || {
        value("windlass_outcomes_total", &[("outcome", "succeeded")]) == "1"
    });
    let _other = cluster.worker("other", "--slots 4");
    frozen.signal(Signal::STOP);
    until("its worker is lost", || value("windlass_workers", &[("status", "lost")]) == "1");
    cluster.project.until_lines("pids", 2);
    assert_eq!(value("windlass_workers_online", &[]), "2", "the controller's own and the other");
    assert_eq!(value("windlass_leases", &[]), "1");
    assert_eq!(value("windlass_lease_expired_total", &[]), "1");
    cluster.project.file("go", "");
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
    let project = ProjectFolder::with("");
    let ended = project.run("serve --metrics-listen 0.0.0.0:0");
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.err.contains("loopback"), "{ended:?}");
}
