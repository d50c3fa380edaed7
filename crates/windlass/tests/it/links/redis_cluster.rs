//! A Redis Cluster of three nodes: each has a third of the keys, and redirects requests for the others.

use std::process::{Command, Stdio};

use super::redis::works;
use crate::support::cluster::free_port;
use crate::support::redis_server::RedisServer;
use crate::support::waiting::until;

/// Three nodes that know each other.
pub(crate) struct RedisCluster([RedisServer; 3]);

impl RedisCluster {
    pub(crate) fn start() -> Self {
        let node = || {
            let bus = free_port().to_string();
            RedisServer::start(&["--cluster-enabled", "yes", "--cluster-port", &bus])
        };
        let nodes = [node(), node(), node()];
        let places = nodes.each_ref().map(|node| format!("127.0.0.1:{}", node.port()));
        let mut create = Command::new("redis-cli");
        create.args(["--cluster", "create"]).args(&places).arg("--cluster-yes");
        let created = create.stdin(Stdio::null()).output().expect("redis-cli is installed");
        assert!(created.status.success(), "{}", String::from_utf8_lossy(&created.stdout));
        let agrees =
            |node: &RedisServer| node.cli(&["CLUSTER", "INFO"]).contains("cluster_state:ok");
        until("all nodes agree on the cluster", || nodes.iter().all(agrees));
        Self(nodes)
    }

    /// The address of one of them.
    pub(crate) fn url(&self) -> String {
        self.0[0].url()
    }

    /// How many keys each of them has.
    pub(crate) fn keys(&self) -> [usize; 3] {
        self.0.each_ref().map(|node| node.cli(&["KEYS", "windlass:*"]).lines().count())
    }
}

#[test]
fn any_node_of_a_cluster_leads_to_the_one_that_has_a_run() {
    let cluster = RedisCluster::start();
    for number in 0..12 {
        works(&cluster.url(), &format!("run-{number}"));
    }
    let keys = cluster.keys();
    assert!(keys.iter().all(|keys| *keys > 0), "each has some of the runs: {keys:?}");
}
