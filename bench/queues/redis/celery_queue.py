"""Celery on a Redis: `python celery_queue.py rate|rate-tuned|waits URL JOBS` prints what `stopwatch.rs` prints for the others.

The worker is Celery's own, with two processes. Clocks are compared across processes, which the monotonic clock of Linux
allows.
"""

import os
import subprocess
import sys
import time

import redis
from celery import Celery

WITHIN = 110
REST = 0.005

WHAT, URL, JOBS = sys.argv[1:4] if len(sys.argv) == 4 else ("", os.environ.get("BENCH_REDIS", ""), "0")
STARTED = "bench:started"

app = Celery("celery_queue", broker=URL)
app.conf.update(task_ignore_result=True)


@app.task
def noop():
    """What most jobs do."""


@app.task
def tell():
    """Says when it was started."""
    started = time.monotonic()
    redis.Redis.from_url(URL).rpush(STARTED, repr(started))


def worker(*tuned):
    """Celery's worker, as it is started from a shell."""
    command = [sys.executable, "-m", "celery", "-A", "celery_queue", "worker", "-c", "2", "-l", "ERROR", *tuned]
    environment = {**os.environ, "BENCH_REDIS": URL}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, cwd=os.path.dirname(os.path.abspath(__file__)), env=environment, **quiet)


def until(what, holds, pause=0.002):
    """Looks until something holds, for a while."""
    late = time.monotonic() + WITHIN
    while not holds():
        if time.monotonic() > late:
            sys.exit(f"celery: waited {WITHIN} s for {what}")
        time.sleep(pause)


def rate(server, jobs, tuned):
    """Puts jobs into the queue, then has them drained."""
    began = time.monotonic()
    with app.producer_or_acquire() as producer:
        for _ in range(jobs):
            noop.apply_async(producer=producer)
    put = time.monotonic() - began
    more = ["--prefetch-multiplier=500", "--without-gossip", "--without-mingle", "--without-heartbeat"]
    crew = worker(*(more if tuned else []))
    try:
        until("the first job", lambda: server.llen("celery") < jobs)
        first = time.monotonic()
        until("the last job", lambda: server.llen("celery") == 0 and server.hlen("unacked") == 0)
        took = time.monotonic() - first
    finally:
        crew.terminate()
        crew.wait()
    print(*(f"{jobs / it:.0f}" for it in (put + took, put, took)))


def waits(server, jobs):
    """Single jobs, and how long each waited for its handler."""
    crew = worker()
    took = []
    try:
        for job in range(-10, jobs):
            time.sleep(REST)
            began = time.monotonic()
            tell.delay()
            came = server.blpop([STARTED], timeout=WITHIN)
            if came is None:
                sys.exit(f"celery: waited {WITHIN} s for job {job}")
            # The first few include the start of the worker.
            if job >= 0:
                took.append((float(came[1]) - began) * 1e3)
    finally:
        crew.terminate()
        crew.wait()
    took.sort()
    print(*(f"{took[min(len(took) - 1, len(took) * percent // 100)]:.3f}" for percent in (50, 99)))


if __name__ == "__main__":
    SERVER = redis.Redis.from_url(URL)
    SERVER.delete("celery", "unacked", "unacked_index", STARTED)
    if WHAT == "waits":
        waits(SERVER, int(JOBS))
    else:
        rate(SERVER, int(JOBS), WHAT == "rate-tuned")
