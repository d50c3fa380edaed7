#!/bin/sh
# Prints the table of measurements; see bench/README.md.
set -eu
cd "$(dirname "$0")/.."
# The other task runners, if they are available; a row names each that is missing.
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
# Redis, and queues on it.
case "${1:-redis}" in
redis | instances)
  if ! command -v redis-server >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    apt-get install --yes --quiet redis-server >/dev/null 2>&1 || true
  fi
  ;;
esac
case "${1:-redis}" in
redis)
  if [ ! -d target/peers/node/node_modules/bullmq ] && command -v npm >/dev/null; then
    mkdir -p target/peers/node
    npm install --silent --no-audit --no-fund --prefix target/peers/node bullmq ioredis || true
  fi
  if [ ! -x target/peers/celery/bin/celery ] && command -v python3 >/dev/null; then
    python3 -m venv target/peers/celery &&
      target/peers/celery/bin/pip install --quiet --disable-pip-version-check 'celery[redis]' || true
  fi
  ;;
esac
# Graphs of functions in Python.
case "${1:-typed}" in
typed)
  if [ ! -d target/peers/python ] && command -v python3 >/dev/null; then
    python3 -m venv target/peers/python &&
      target/peers/python/bin/pip install --quiet --disable-pip-version-check 'dask[distributed]' ray || true
  fi
  ;;
esac
cargo build --quiet --profile dist --package windlass --package windlass-bench
exec target/dist/windlass-bench "$@"
