#!/usr/bin/env bash
# Sends a live controller requests that its OpenAPI document allows, and requests that it does not allow.
#
#   fuzz/api/run.sh SECONDS
#
# Schemathesis creates the requests and checks every response: no 5xx; status, content type and body as documented; no
# forbidden request accepted; no data without the token. One check is off: it expects that every request that matches the
# schemas is accepted, but names, ids and pipelines have rules that a schema cannot express.
#
# Both tools come from PyPI, in a virtualenv under target/. If that cannot be created, the check is skipped with a message.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

seconds=${1:?usage: fuzz/api/run.sh SECONDS}
target=${CARGO_TARGET_DIR:-target}
python=$target/api-fuzz
windlass=$(realpath "$target")/debug/windlass

tools() {
    if ! cmp -s fuzz/api/requirements.txt "$python/requirements.txt"; then
        python3 -m venv --clear "$python"
        "$python/bin/pip" install --quiet --disable-pip-version-check --retries 1 --timeout 20 \
            --requirement fuzz/api/requirements.txt
        cp fuzz/api/requirements.txt "$python/requirements.txt"
    fi
}

if ! tools; then
    echo "skipped: schemathesis cannot be installed here (is PyPI reached?)"
    exit 0
fi
cargo build --quiet --package windlass

folder=$(mktemp -d)
token=$(head -c 32 /dev/urandom | od -An -vtx1 | tr -d ' \n')
echo "$token" >"$folder/token"
(
    cd "$folder"
    exec env XDG_CONFIG_HOME="$folder" "$windlass" serve --listen 127.0.0.1:0 --token-file token
) >"$folder/serve.log" 2>&1 &
controller=$!
# The folder is kept after a failure.
end() {
    local code=$?
    kill "$controller" 2>/dev/null || true
    wait "$controller" 2>/dev/null || true
    if ((code == 0)); then
        rm -rf "$folder"
    else
        echo "what the controller said is in $folder/serve.log"
    fi
}
trap end EXIT

for _ in $(seq 100); do
    url=$(sed -n 's/.* leads cluster .* on \(http[^ ]*\)$/\1/p' "$folder/serve.log")
    [[ -z $url ]] || break
    sleep 0.1
done
[[ -n $url ]] || { cat "$folder/serve.log"; exit 1; }

# ask PATH [BODY]: sends a request with the token. The virtualenv has an HTTP client; not every machine has curl.
ask() {
    "$python/bin/python" -c 'import requests, sys
url, token, *body = sys.argv[1:]
answer = requests.request("POST" if body else "GET", url, data=body[0] if body else None,
                          headers={"authorization": f"Bearer {token}"}, timeout=40)
answer.raise_for_status()
print(answer.text)' "$url$1" "$token" "${@:2}"
}
# A run that has ended, and a worker for requests of plain workers.
ask /runs '{"text": "steps: { hello: { run: echo hi } }"}' >/dev/null
secret=$(ask /workers/register '{"hostname": "fuzzed"}' | sed 's/.*"secret":"\([0-9a-f]*\)".*/\1/')

ask /openapi.json >"$folder/openapi.json"
"$python/bin/openapi-spec-validator" "$folder/openapi.json"
"$python/bin/schemathesis" --config-file fuzz/api/schemathesis.toml run "$url/openapi.json" \
    --checks all --exclude-checks positive_data_acceptance \
    --header "Authorization: Bearer $token" --header "windlass-worker: $secret" \
    --max-examples 50 --max-time "$seconds" --request-timeout 40 --warnings off
ask /healthz >/dev/null
if grep -n panicked "$folder/serve.log"; then
    exit 1
fi
