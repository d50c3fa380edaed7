#!/usr/bin/env bash
# Everything that must hold before a change is merged, in stages.
#
#   ./test.sh                 all stages, in order; stops at the first that fails
#   ./test.sh --deep          the same, then the long stages
#   ./test.sh fmt lint        these stages only
#   ./test.sh --list          the names of the stages
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

DEFAULT_STAGES=(setup fmt lint features build test api sim hunt doc generated lockfile)
DEEP_STAGES=(test-deep coverage api-deep sim-deep fuzz book typos deny machete)

# Duration of fuzzing per kind of input.
FUZZ_SECONDS=600
# Duration of the API fuzzer.
API_SECONDS=25
API_SECONDS_DEEP=600
# Maximum number of packages in Cargo.lock. Raise it in the commit that adds a dependency, with the reason.
PACKAGES_MAX=218
# Minimum line coverage of core, store, link, controller and worker, each in percent.
COVERAGE_MIN=90
SCHEDULES=10000
# Tests that measure delays or wait for leases to expire: each runs alone. cargo-nextest reads this from .config/nextest.toml;
# with cargo test they run after the others.
ALONE=(cost::rounds witness::rounds thousand_stream_clients_are_not_delayed steps_that_print_without_end_delay)
SCHEDULES_DEEP=200000

stage_setup() {
    local missing=()
    command -v git >/dev/null || missing+=(git)
    # A linker, and the C compiler that blake3 asks for.
    command -v cc >/dev/null || missing+=(gcc)
    # The authority that vouches for a controller in the tests of TLS.
    command -v openssl >/dev/null || missing+=(openssl)
    # Counts the syncs of a journal.
    command -v strace >/dev/null || missing+=(strace)
    # A journal in PostgreSQL is tested in a server of the tests' own.
    compgen -G '/usr/lib/postgresql/*/bin/postgres' >/dev/null || command -v postgres >/dev/null || missing+=(postgresql)
    # Stores work through a pooler that hands each transaction another connection.
    [[ -x /usr/sbin/pgbouncer ]] || command -v pgbouncer >/dev/null || missing+=(pgbouncer)
    # The link through Redis is tested in servers of the tests' own.
    command -v redis-server >/dev/null || missing+=(redis-server)
    # Reads the units of deploy/ as it would to start them.
    # Checks the spelling of help and documents.
    [[ -e /usr/share/hunspell/en_GB.dic ]] && command -v hunspell >/dev/null || missing+=(hunspell hunspell-en-gb)
    command -v systemd-analyze >/dev/null || [[ ! -e /etc/debian_version ]] || missing+=(systemd)
    # An independent reader of the JSON Schema that `windlass schema` prints.
    python3 -c 'import jsonschema, yaml' 2>/dev/null || missing+=(python3-jsonschema python3-yaml)
    [[ -e /usr/include/stdlib.h || ! -e /etc/debian_version ]] || missing+=(libc6-dev)
    if ((${#missing[@]})); then
        install "${missing[@]}"
    fi
    command -v cargo >/dev/null || fail "cargo is missing: install Rust 1.95 or newer"
    cargo fmt --version >/dev/null 2>&1 || fail "rustfmt is missing: rustup component add rustfmt"
    cargo clippy --version >/dev/null 2>&1 || fail "clippy is missing: rustup component add clippy"
    cargo --version
    if has_nextest; then
        echo "tests run with cargo-nextest"
    else
        echo "cargo-nextest is not installed: tests run with cargo test"
    fi
    cargo fetch --locked
}

stage_fmt() {
    cargo xfmt --check
}

stage_lint() {
    cargo lint
}

# Each crate alone, and the library with each of its features: one feature can hide that another one does not compile.
stage_features() {
    local crate features
    for crate in core net store link worker controller macros testkit; do
        cargo check -q -p "windlass-$crate"
    done
    for crate in core net link; do
        cargo check -q -p "windlass-$crate" --features schema
    done
    for features in "" http tls sqlite postgres redis tracing http,sqlite conformance; do
        cargo check -q -p windlass --lib --no-default-features --features "$features"
    done
}

stage_build() {
    cargo build --workspace --all-targets
}

# Unit tests, integration tests, conformance and tidy tests; then the examples in the documentation.
stage_test() {
    if has_nextest; then
        cargo nextest run --workspace --profile ci
    else
        run_tests --workspace --lib --bins --tests --no-fail-fast
    fi
    cargo test --workspace --doc
}

# A fuzzer sends requests from the OpenAPI document to a live controller; skipped if PyPI cannot be reached.
stage_api() {
    fuzz/api/run.sh "$API_SECONDS"
}

stage_api-deep() {
    fuzz/api/run.sh "$API_SECONDS_DEEP"
}

stage_sim() {
    cargo sim --schedules "$SCHEDULES"
}

# The simulator must find each planted bug; one that it misses fails the stage.
stage_hunt() {
    cargo test --profile sim -p windlass-testkit --features planted --test it
    cargo run -q --profile sim -p windlass-testkit --features planted --bin sim -- --hunt
}

stage_doc() {
    RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --workspace
}

# Each generator compares its output with the committed file.
stage_generated() {
    cargo run -q -p windlass-testkit --bin transitions -- --check
    cargo run -q -p windlass-testkit --bin reference -- --check
}

stage_lockfile() {
    cargo metadata --locked --format-version 1 >/dev/null
    local packages
    packages=$(grep -c '^\[\[package\]\]$' Cargo.lock)
    echo "$packages packages in Cargo.lock, at most $PACKAGES_MAX"
    ((packages <= PACKAGES_MAX)) || fail "too many packages; see PACKAGES_MAX in test.sh"
}

stage_sim-deep() {
    cargo sim --schedules "$SCHEDULES_DEEP"
}

# Journals and runs that are killed many times, floods of output, long freezes.
stage_test-deep() {
    WINDLASS_DEEP=1 run_tests -p windlass --all-features --lib --tests
    cargo test -p windlass-macros -- --include-ignored
}

# Line coverage of each part, including processes that tests start; less than the minimum fails.
stage_coverage() {
    local report=target/coverage.lcov
    rustup component add llvm-tools 2>/dev/null || echo "no rustup: llvm-tools have to be here already"
    command -v cargo-llvm-cov >/dev/null || cargo install --quiet --locked cargo-llvm-cov --root target/tools
    local run=(test --lib --tests)
    ! has_nextest || run=(nextest)
    # All processes merge into a few files: one file for each of the thousands would fill the disk. Failures are ignored,
    # because instrumented tests are slower; other stages check them.
    PATH="$PATH:$PWD/target/tools/bin" LLVM_PROFILE_FILE_NAME='windlass-%8m.profraw' \
        cargo llvm-cov "${run[@]}" --all-features --workspace --exclude windlass-bench --ignore-run-fail \
        --failure-mode all --lcov --output-path "$report" >target/coverage.log 2>&1 ||
        fail "no coverage: see target/coverage.log"
    cargo run -q -p windlass-testkit --bin coverage -- "$report" --floor "$COVERAGE_MIN"
}

# Random input to the parsers, ten minutes each.
stage_fuzz() {
    local target
    for target in spec expr shell manifest junit; do
        (cd fuzz && cargo run --release --locked -- "$target" --seconds "$FUZZ_SECONDS")
    done
}

# The documents as a book.
stage_book() {
    command -v mdbook >/dev/null || cargo install --quiet --locked mdbook --root target/tools
    PATH="$PATH:$PWD/target/tools/bin" mdbook build docs
}

stage_typos() {
    run_if_installed typos typos
}

stage_deny() {
    run_if_installed cargo-deny cargo deny check
}

stage_machete() {
    run_if_installed cargo-machete cargo machete
}

# run_tests ARGUMENT...: cargo test with these arguments, those that run alone last.
run_tests() {
    local test skipped=() failed=
    for test in "${ALONE[@]}"; do
        skipped+=(--skip "$test")
    done
    cargo test "$@" -- "${skipped[@]}" || failed=1
    for test in "${ALONE[@]}"; do
        # A filter that finds nothing would pass.
        cargo test -q "$@" -- --list "$test" | grep ': test$' || fail "no test is called $test: see ALONE in test.sh"
        cargo test "$@" -- --test-threads=1 "$test" || failed=1
    done
    [[ -z $failed ]]
}

has_nextest() {
    command -v cargo-nextest >/dev/null
}

# install PACKAGE...: installs with apt-get as root on Debian and its derivatives; otherwise reports what is missing.
install() {
    if command -v apt-get >/dev/null && [[ $EUID == 0 ]]; then
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
    else
        fail "missing, please install: $*"
    fi
}

# run_if_installed PROGRAM COMMAND...: a missing program skips the stage, and the table shows it.
run_if_installed() {
    local program=$1
    shift
    if command -v "$program" >/dev/null; then
        "$@"
    else
        note="skipped: $program is not installed"
        echo "$note"
    fi
}

fail() {
    echo "test.sh: $*" >&2
    exit 1
}

table=()
current=
note=
began=0

minutes() {
    printf '%d.%02d' $(($1 / 60)) $(($1 % 60 * 100 / 60))
}

end_stage() {
    table+=("$(printf '%-10s %8s  %s' "$current" "$(minutes $((SECONDS - began)))" "$1")")
    current=
}

# Runs at every exit, so that the table also appears after a failure and Ctrl-C.
finish() {
    local status=$?
    local failed=$current
    [[ -z $current ]] || end_stage FAILED
    if ((${#table[@]})); then
        printf '\n%-10s %8s\n' stage minutes
        printf '%s\n' "${table[@]}"
        printf '%-10s %8s\n' total "$(minutes $SECONDS)"
    fi
    [[ -z $failed ]] || echo "test.sh: stage $failed failed" >&2
    exit "$status"
}

is_stage() {
    declare -F "stage_$1" >/dev/null
}

main() {
    local stages=() argument
    for argument in "$@"; do
        case $argument in
            --deep) stages+=("${DEFAULT_STAGES[@]}" "${DEEP_STAGES[@]}") ;;
            --list) printf '%s\n' "${DEFAULT_STAGES[@]}" "${DEEP_STAGES[@]}" && exit ;;
            --help | -h) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' test.sh && exit ;;
            *) is_stage "$argument" || fail "no stage \`$argument\`; see ./test.sh --list" ;;&
            [!-]*) stages+=("$argument") ;;
        esac
    done
    ((${#stages[@]})) || stages=("${DEFAULT_STAGES[@]}")

    trap finish EXIT
    for current in "${stages[@]}"; do
        echo "==> $current"
        began=$SECONDS
        note=
        "stage_$current"
        end_stage "${note:-ok}"
    done
}

main "$@"
