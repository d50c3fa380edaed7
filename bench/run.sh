#!/bin/sh
# Prints the table of measurements; see bench/README.md.
set -eu
cd "$(dirname "$0")/.."
exec cargo run --quiet --release --package windlass-bench -- "$@"
