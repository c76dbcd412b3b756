#!/usr/bin/env bash
# scripts/run as the README has it, on a machine that has nothing yet: the server starts, denies one command, allows
# another and ends when it is told to.
set -euo pipefail
python=$(command -v python3)
scripts/run >run.out 2>run.err &
server=$!
"$python" - "$server" <<'PYTHON' || { cat run.out run.err >&2; kill "$server" 2>/dev/null || true; exit 1; }
import json, os, sys, time, urllib.error, urllib.request

server = int(sys.argv[1])
URL = "http://127.0.0.1:8080"


def request(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    wanted = urllib.request.Request(URL + path, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(wanted, timeout=60) as answer:
        return json.load(answer)


def is_up():
    os.kill(server, 0)  # raises when scripts/run has ended
    try:
        return bool(request("/healthz"))
    except (urllib.error.URLError, ConnectionError):
        return False


while not is_up():
    time.sleep(0.2)
for command, decision in (("rm -rf /", "deny"), ("ls", "allow")):
    payload = {"name": "Bash", "arguments": {"command": command}}
    said = request("/api/v1/intercept", {"event": "tools/call", "phase": "request", "payload": payload})
    assert said["info"]["decision"] == decision, said
    print(f"· {command!r}: {decision}")
PYTHON
kill -TERM "$server"
wait "$server"
echo "· scripts/run started, decided and ended"
