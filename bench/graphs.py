"""Runs one graph with Dask or Ray and prints the seconds of each repetition: steps that do nothing, and one that takes
all their results. Two processes do the work, on one machine.

    graphs.py dask|ray STEPS REPETITIONS
"""

import sys
import time

RESULT = "0123456789abcdef0123456789abcdef01234567"


def noop(_):
    return RESULT


def gather(results):
    return len(results)


def with_dask(steps):
    from distributed import Client, LocalCluster

    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    client = Client(cluster)

    def run():
        results = client.map(noop, range(steps), pure=False)
        return client.submit(gather, results, pure=False).result()

    return run


def with_ray(steps):
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    step, join = ray.remote(noop), ray.remote(lambda *results: gather(results))

    def run():
        return ray.get(join.remote(*[step.remote(at) for at in range(steps)]))

    return run


def main():
    who, steps, repetitions = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    run = {"dask": with_dask, "ray": with_ray}[who](steps)
    run()
    for _ in range(repetitions):
        began = time.monotonic()
        assert run() == steps
        print(time.monotonic() - began, flush=True)


if __name__ == "__main__":
    main()
