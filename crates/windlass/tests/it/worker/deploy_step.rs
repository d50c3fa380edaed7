//! A step that holds a lock, and writes its worker and the processes that run beside it.

/// The flags of a leader that runs no steps. Leases last a minute: a step that moves sooner does not move because its lease
/// has expired.
pub(super) const LEADER: &str = "--no-exec --lease-ttl 1m";

/// A step that runs until it is killed. It writes the name of its worker, and the processes of earlier deliveries that are
/// still alive.
pub(super) const DEPLOY: &str = r#"
steps:
  deploy:
    lock: prod
    run: |
      trap '' TERM
      touch pids
      for pid in $(cat pids); do
        if kill -0 "$pid"; then echo "$pid" >> beside; fi
      done
      echo $$ >> pids
      echo "$WINDLASS_WORKER" >> workers
      while :; do sleep 0.05; done
"#;
