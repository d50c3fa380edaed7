//! The environment of the steps of a cluster's worker.

use crate::support::cluster::TestCluster as _;
use crate::support::local_cluster::LocalCluster;
use crate::support::project_folder::ProjectFolder;

const SHOWN: &str = r#"
name: shown
steps:
  shows:
    secrets: [DEPLOY_TOKEN]
    run: |
      echo "${DEPLOY_TOKEN:-none} ${NPM_TOKEN:-none} ${AWS_SECRET_ACCESS_KEY:-none} ${PLAIN:-none}"
      echo "${WINDLASS_TOKEN_FILE:-none}"
"#;

fn shown(flags: &str) -> String {
    let project =
        ProjectFolder::with("").set("DEPLOY_TOKEN", "deploy-value").set("NPM_TOKEN", "npm-value");
    let project = project.set("AWS_SECRET_ACCESS_KEY", "aws-value").set("PLAIN", "plain-value");
    let cluster = LocalCluster::start_in(project, "--no-exec");
    let _worker = cluster.worker("far", flags);
    let run = cluster.submit(SHOWN);
    assert_eq!(cluster.ended(&run)["status"], "succeeded");
    cluster.project.data(&format!("logs {run} shows"))
}

#[test]
fn a_worker_withholds_credentials_that_the_step_does_not_list() {
    assert_eq!(shown(""), "*** none none plain-value\nnone\n");
}

#[test]
fn a_worker_passes_the_credentials_that_its_operator_names() {
    assert_eq!(shown("--pass-env NPM_TOKEN,AWS_*"), "*** npm-value aws-value plain-value\nnone\n");
}
