//! The cluster, its workers, locks and queue, and what a worker is offered.

use serde_json::Value;

use crate::api::openapi::schema::{
    and_perhaps, anything, count, flag, list, map, moment, object, or_null, text, word,
};

pub(in crate::api::openapi) const KEY_STATUS: &[&str] = &["pending", "completed", "failed"];

const WORKER_STATUS: &[&str] = &["online", "stale", "draining", "lost", "ended"];

pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        ("Cluster", cluster()),
        ("Worker", worker()),
        ("Lock", lock()),
        ("Key", key()),
        ("Waiting", waiting()),
        ("Offer", offer()),
    ]
}

fn cluster() -> Value {
    let leader = object([("node", text()), ("address", or_null(text()))]);
    object([
        ("id", text()),
        ("version", text()),
        ("protocol", count()),
        ("advertise", text()),
        ("role", word(&["leader", "standby", "observer"])),
        ("leader", or_null(leader)),
        ("term", count()),
        ("position", count()),
        ("lag_ms", count()),
    ])
}

fn key() -> Value {
    object([
        ("key", text()),
        ("status", word(KEY_STATUS)),
        ("run", text()),
        ("step", count()),
        ("name", text()),
        ("at", moment()),
        ("waiting", count()),
    ])
}

fn worker() -> Value {
    let told = object([
        ("id", text()),
        ("name", text()),
        ("status", word(WORKER_STATUS)),
        ("labels", list(text())),
        ("slots", count()),
        ("leases", count()),
        ("since", moment()),
    ]);
    let heard = ("heard", or_null(moment()));
    let reported =
        object([("at", moment()), ("status", or_null(text())), ("metrics", map(anything()))]);
    let reported = ("reported", or_null(reported));
    and_perhaps(told, [heard, ("enrolled_by", anything()), ("revoked", flag()), reported])
}

fn lock() -> Value {
    let holder = object([
        ("run", text()),
        ("step", count()),
        ("name", text()),
        ("worker", text()),
        ("fence", count()),
        ("since", moment()),
    ]);
    object([
        ("name", text()),
        ("slots", count()),
        ("holders", list(holder)),
        ("waiting", count()),
        ("embargo", or_null(moment())),
    ])
}

fn waiting() -> Value {
    object([
        ("requires", text()),
        ("ready", count()),
        ("locked", count()),
        ("oldest", moment()),
        ("workers", count()),
        ("free", count()),
    ])
}

fn offer() -> Value {
    object([
        ("step_id", text()),
        ("run_id", text()),
        ("phase", text()),
        ("lease_expires_at", moment()),
        ("stop_on_lost_contact", flag()),
        ("fence", count()),
        ("run", text()),
        ("env", map(text())),
        ("secrets", list(text())),
        ("other_secrets", list(text())),
        ("dir", or_null(text())),
        ("timeout_ms", or_null(count())),
    ])
}
