//! Busy machines, and steps that print without an end.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;
use windlass::core::id::{Incarnation, Seq, Term};
use windlass::core::requirement::{Labels, WorkerScope};
use windlass::core::session::{Exchange, FormerIncarnationProof, RegisterRequest, WorkerLocality};
use windlass_net::credentials::WorkerSecret;
use windlass_net::http::{ClientCredentials, HttpClient, TcpDialer};

use crate::support::cluster::TestCluster as _;
use crate::support::local_cluster::LocalCluster;
use crate::support::waiting::{is_deep, pause};

/// A process that keeps a core busy until it is dropped.
struct BusyProcess(Child);

impl BusyProcess {
    fn start() -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", "while :; do :; done"]).stdin(Stdio::null());
        Self(command.spawn().expect("there is a shell"))
    }
}

impl Drop for BusyProcess {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
fn no_worker_is_lost_when_every_core_is_busy() {
    let cluster = LocalCluster::start("--no-exec");
    let _workers = ["one", "two"].map(|name| cluster.worker(name, "--slots 1"));
    let run = cluster.submit(
        "name: busy\nsteps:\n  s: { matrix: { n: [1, 2] }, lock: ./n, run: 'until test -e go; do sleep 0.05; done' }\nlocks: { ./n: 2 }\n",
    );
    let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    let busy: Vec<BusyProcess> = (0..2 * cores).map(|_| BusyProcess::start()).collect();
    pause(if is_deep() { Duration::from_mins(5) } else { Duration::from_secs(20) });
    drop(busy);
    cluster.project.file("go", "");
    let run = cluster.ended(&run);
    assert_eq!(run["counts"], json!({ "succeeded": 2 }), "{run}");
    assert!(!cluster.controller.said().contains("is lost"), "{}", cluster.controller.said());
    for step in run["steps"].as_array().expect("a list") {
        assert_eq!(step["attempts"].as_array().map(Vec::len), Some(1), "{step}");
    }
}

/// A worker that only makes exchanges.
struct IdleWorker {
    secret: WorkerSecret,
    client: HttpClient,
    project: windlass_net::http::ControllerAddress,
    runtime: tokio::runtime::Runtime,
}

impl IdleWorker {
    fn join(cluster: &LocalCluster) -> Self {
        let secret = WorkerSecret::generate().expect("there is chance");
        let credentials = ClientCredentials { token: None, worker: Some(secret.clone()) };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let probe = Self {
            client: HttpClient::new(Arc::new(TcpDialer), credentials),
            project: format!("127.0.0.1:{}", cluster.port).parse().expect("a place"),
            runtime: runtime.expect("there are threads"),
            secret,
        };
        let register = RegisterRequest {
            worker: probe.secret.worker_id(),
            name: "probe".into(),
            incarnation: Incarnation(1),
            labels: Labels::default(),
            slots: 1,
            locality: WorkerLocality::Apart,
            scope: WorkerScope::PinnedOnly,
            former: FormerIncarnationProof::Unknown,
            spooled: Vec::new(),
        };
        probe.post("join", &register);
        probe
    }

    fn post(&self, what: &str, message: &impl serde::Serialize) {
        let path = format!("/workers/{}/{what}", self.secret.worker_id().0);
        let answer = self.client.post(&self.project, &path, message, Duration::from_mins(1));
        self.runtime.block_on(answer).expect("it answers");
    }

    /// Returns the duration of exchanges that are answered at once: the longest of a hundred.
    fn p99(&self) -> Duration {
        let exchange = Exchange {
            worker: self.secret.worker_id(),
            drains: false,
            incarnation: Incarnation(1),
            // This exchange is older than the first, so the leader's loop refuses it at once.
            seq: Seq(0),
            seen: Seq(0),
            term: Term(0),
            finished: Vec::new(),
            in_flight: Vec::new(),
            want: 0,
        };
        let mut times: Vec<Duration> = (0..400)
            .map(|_| {
                let asked_at = Instant::now();
                self.post("exchange", &exchange);
                asked_at.elapsed()
            })
            .collect();
        times.sort_unstable();
        times[times.len() * 99 / 100]
    }
}

/// Four steps that keep every core busy for a while; their output goes to `/dev/null` or to the log.
fn four(cluster: &LocalCluster, name: &str, to: &str) -> String {
    cluster.submit(&format!(
        "name: {name}\nsteps:\n  s: {{ matrix: {{ n: [1, 2, 3, 4] }}, run: 'echo >> {name}; timeout 4 yes {to} || true' }}\n",
    ))
}

#[test]
fn steps_that_print_without_end_delay_no_lease() {
    let cluster = LocalCluster::start("--no-exec --lease-ttl 3s");
    let _workers = ["one", "two"].map(|name| cluster.worker(name, "--slots 2"));
    let probe = IdleWorker::join(&cluster);
    let idle = probe.p99();
    let quiet = four(&cluster, "quiet", "> /dev/null");
    cluster.project.until_lines("quiet", 4);
    let busy = probe.p99();
    cluster.ended(&quiet);
    let run = four(&cluster, "flood", "");
    cluster.project.until_lines("flood", 4);
    let flooded = probe.p99();
    let run = cluster.ended(&run);
    println!(
        "exchanges at p99: {idle:?} idle, {busy:?} beside four steps that keep the cores busy, {flooded:?} if they print, too"
    );
    assert_eq!(run["counts"], json!({ "succeeded": 4 }), "{run}");
    let said = cluster.controller.said();
    assert!(!said.contains("one is lost") && !said.contains("two is lost"), "{said}");
    for step in run["steps"].as_array().expect("a list") {
        // A lease ahead that an idle worker takes over is `released`; no lease was lost with it.
        let attempts = step["attempts"].as_array().expect("a list");
        let kept = attempts.iter().filter(|attempt| attempt["outcome"] != "released");
        assert_eq!(kept.count(), 1, "{step}");
    }
    // A time slice of the scheduler takes milliseconds; below that, a ratio would be random.
    assert!(flooded <= 2 * busy.max(idle) + Duration::from_millis(20), "{flooded:?}");
}
