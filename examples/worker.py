#!/usr/bin/env python3
"""A worker for windlass in plain Python: the standard library, and nothing of windlass.

    examples/worker.py http://127.0.0.1:7700 --label python --token-file token

It shows all that a worker of one's own has to do (docs/reference/api.md, "Workers of your own"):

    register    once; with its secret again, it takes over from its former incarnation
    claim       a step, with a request_id that it repeats until it is answered: no step is claimed twice by mistake
    heartbeat   while the step runs, naming its fence; the answer names what must be stopped, and when the lease expires
    events      what the step prints, as it comes
    complete    how it ended; 409 `stale` means that another worker has the step by now
    goodbye     before it ends: nothing of its steps is left, so their locks are free at once

A controller that is away is asked again until it is back. A step that holds a lock is ended before its lease expires.
SIGTERM lets the step finish, then the worker ends.
"""

import argparse
import datetime
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import uuid

# The pause before a request is repeated, and before the next step is requested, in seconds.
PAUSE = 0.5
# The timeout of a request, in seconds.
PATIENCE = 30


class Refused(Exception):
    """The controller has answered, and the answer is no."""

    def __init__(self, status, problem):
        super().__init__(f"{status} {problem.get('code')}: {problem.get('detail')}")
        self.status, self.code = status, problem.get("code")


class Controller:
    """Questions to the controller. Each is asked until it is answered: all of them may be repeated."""

    def __init__(self, url, token):
        self.url, self.token, self.secret = url.rstrip("/"), token, None

    def post(self, path, body, ending=None):
        """The answer; nothing if the worker is to end before there is one."""
        while ending is None or not ending.is_set():
            try:
                return self.ask(path, body)
            except Refused as refused:
                # This controller does not lead, is overloaded, or has failed: try again later.
                if refused.status != 429 and refused.status < 500:
                    raise
                say(str(refused))
            except OSError as error:
                say(f"{self.url} does not answer: {error}")
            time.sleep(PAUSE)
        return None

    def ask(self, path, body, patience=PATIENCE):
        headers = {"content-type": "application/json"}
        if self.token:
            headers["authorization"] = f"Bearer {self.token}"
        if self.secret:
            headers["windlass-worker"] = self.secret
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), headers)
        try:
            with urllib.request.urlopen(request, timeout=patience) as answer:
                text = answer.read()
                return json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            text = error.read()
            is_problem = error.headers.get_content_type() == "application/problem+json"
            raise Refused(error.code, json.loads(text) if is_problem else {}) from None


class Worker:
    def __init__(self, controller, name, labels):
        self.controller, self.name, self.labels = controller, name, labels
        self.id, self.heartbeat = None, 5.0
        self.ending = threading.Event()

    def run(self):
        self.register()
        while not self.ending.is_set():
            offer = self.claim()
            if offer is None:
                self.ending.wait(PAUSE)
            else:
                Step(self, offer).run()
        self.goodbye()

    def goodbye(self):
        """Leaves. The step is over and its processes are dead. Without an answer its leases end by time."""
        if self.id is None:
            return
        try:
            self.controller.ask(f"/workers/{self.id}/goodbye", {})
        except (Refused, OSError) as error:
            say(f"no goodbye: {error}")

    def register(self):
        me = {"hostname": self.name, "capabilities": self.labels, "slots": 1}
        told = self.controller.post("/workers/register", me, self.ending)
        if told is None:
            return
        self.id, self.controller.secret = told["worker_id"], told["secret"]
        self.heartbeat = told["heartbeat_ms"] / 1000
        say(f"registered as {self.name}, number {self.id}")

    def claim(self):
        """The next step; nothing if there is none."""
        try:
            wish = {"request_id": str(uuid.uuid4())}
            return self.controller.post(f"/workers/{self.id}/claim", wish, self.ending)
        except Refused as refused:
            if refused.status not in (404, 409):
                raise
            # The lease duration has passed without contact: register again.
            say(str(refused))
            self.register()
            return None


class Step:
    """A step that this worker has a lease of."""

    def __init__(self, worker, offer):
        self.worker, self.controller, self.offer = worker, worker.controller, offer
        self.fence, self.path = offer["fence"], f"/steps/{offer['step_id']}"
        self.process, self.over = None, threading.Event()
        self.stopped = self.stale = False
        self.deadline = deadline(offer["lease_expires_at"])

    def run(self):
        say(f"{self.offer['phase']}: begins under fence {self.fence}")
        with tempfile.NamedTemporaryFile() as outputs:
            status, code = self.execute(outputs.name)
            done = {"status": status, "outputs": read_outputs(outputs.name)}
        if code is not None:
            done["exit_code"] = code
        try:
            self.controller.post(f"{self.path}/complete", done)
            say(f"{self.offer['phase']}: {status}")
        except Refused as refused:
            # The lease belongs to another worker, or has ended: this outcome does not count.
            say(f"{self.offer['phase']}: {refused}")

    def execute(self, outputs):
        missing = [name for name in self.offer["secrets"] if name not in os.environ]
        if missing:
            self.tell(f"this worker has no secret {', '.join(missing)}\n")
            return "failed", None
        withheld = self.offer["other_secrets"]
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("WINDLASS_") and name not in withheld}
        environment.update(self.offer["env"], WINDLASS_OUTPUT=outputs)
        try:
            # A process group of its own, so that a stop reaches every process of the step.
            self.process = subprocess.Popen(
                ["sh", "-e", "-c", self.offer["run"]], cwd=self.offer["dir"], env=environment,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            self.tell(f"it cannot be started: {error}\n")
            return "failed", None
        helpers = [threading.Thread(target=what) for what in (self.beat, self.read)]
        for helper in helpers:
            helper.start()
        status, code = self.wait()
        # Leftover processes end with the step.
        self.kill()
        self.over.set()
        for helper in helpers:
            helper.join()
        return status, code

    def wait(self):
        timeout = self.offer["timeout_ms"]
        try:
            code = self.process.wait(timeout and timeout / 1000)
        except subprocess.TimeoutExpired:
            self.kill()
            self.process.wait()
            return "timed_out", None
        if self.stopped:
            return "cancelled", None
        # A process that a signal ended has no exit code.
        return ("succeeded" if code == 0 else "failed"), (code if code >= 0 else None)

    def beat(self):
        """Renews the lease until the step is over, and stops it on order, or when a lock would be lost."""
        while not self.over.wait(self.pause()):
            left = self.deadline - time.monotonic()
            if self.offer["stop_on_lost_contact"] and left <= 0:
                self.stop("its lease has expired")
                continue
            try:
                beat = {"status": "busy", "metrics": {"load": os.getloadavg()[0]}, "leases": [self.fence]}
                # A step that holds a lock must not rely on a reply after its deadline.
                patience = left if self.offer["stop_on_lost_contact"] else PATIENCE
                told = self.controller.ask(f"/workers/{self.worker.id}/heartbeat", beat, patience)
                self.deadline = deadline(told["lease_expires_at"])
                if self.fence in told["stop"]:
                    self.stop("the controller ordered it to stop")
            except Refused as refused:
                # The controller has given up this incarnation and its leases.
                if refused.status in (404, 409):
                    self.stop(str(refused))
            except OSError as error:
                say(f"no heartbeat: {error}")

    def pause(self):
        """How long to wait before the next heartbeat."""
        if not self.offer["stop_on_lost_contact"]:
            return self.worker.heartbeat
        return max(0.01, min(self.worker.heartbeat, self.deadline - time.monotonic()))

    def read(self):
        """Hands on what the step prints, as it comes."""
        while chunk := self.process.stdout.read1(65536):
            self.tell(chunk.decode(errors="replace"))

    def tell(self, text):
        if self.stale:
            return
        try:
            self.controller.post(f"{self.path}/events", {"event_type": "output", "payload": text})
        except Refused as refused:
            if refused.code == "stale":
                self.stale = True
                self.stop(str(refused))
            else:
                say(str(refused))

    def stop(self, why):
        if self.process is not None and not self.stopped:
            self.stopped = True
            say(f"{self.offer['phase']}: stopped, {why}")
            self.kill()

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def read_outputs(file):
    """`name=value` lines that the step has written to $WINDLASS_OUTPUT."""
    with open(file, encoding="utf-8", errors="replace") as lines:
        pairs = [line.rstrip("\n").partition("=") for line in lines]
    return {name: value for name, equals, value in pairs if equals}


def deadline(moment):
    """A moment of the controller's clock on this process's monotonic clock; both machines' clocks have to agree."""
    expires = datetime.datetime.fromisoformat(moment.replace("Z", "+00:00"))
    return time.monotonic() + (expires - datetime.datetime.now(datetime.timezone.utc)).total_seconds()


def say(text):
    print(text, file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description="A worker for windlass in plain Python.")
    parser.add_argument("url", help="the controller")
    parser.add_argument("--token-file", help="a file with the token that it asks for")
    parser.add_argument("--name", default=socket.gethostname() + "-python")
    parser.add_argument("--label", action="append", default=[], help="what this worker can do")
    given = parser.parse_args()
    token = None
    if given.token_file:
        with open(given.token_file, encoding="ascii") as file:
            token = file.read().strip()
    worker = Worker(Controller(given.url, token), given.name, given.label)
    signal.signal(signal.SIGTERM, lambda *_: worker.ending.set())
    try:
        worker.run()
    except Refused as refused:
        sys.exit(str(refused))
    say("ended")


if __name__ == "__main__":
    main()
