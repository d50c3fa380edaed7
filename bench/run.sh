#!/bin/sh
# Prints the table of measurements; see bench/README.md.
set -eu
cd "$(dirname "$0")/.."
# The other task runners, where they can be had; a row says who is not here.
if ! command -v ninja >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  apt-get install --yes --quiet ninja-build make >/dev/null 2>&1 || true
fi
if ! command -v just >/dev/null; then
  cargo install --quiet --locked just --root target/peers || true
  PATH="$PATH:$PWD/target/peers/bin"
fi
# PostgreSQL, and queues on it: their crates take five minutes to build, once.
case "${1:-postgres}" in
postgres)
  if [ ! -d /usr/lib/postgresql ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get install --yes --quiet postgresql >/dev/null 2>&1 || true
  fi
  cargo build --quiet --release --manifest-path bench/queues/Cargo.toml --target-dir target/queues || true
  ;;
esac
cargo build --quiet --release --package windlass --package windlass-bench
exec target/release/windlass-bench "$@"
