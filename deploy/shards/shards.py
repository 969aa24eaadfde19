#!/usr/bin/env python3
"""Train on shards and merge after every pass, on this machine, Ray or Spark.

    shards.py [--on local|ray|spark] [--shards N] [--passes P] MEASURE MODEL DATA [FLAG...]

All workers need the command noregret and the files at the same paths. MODEL names the model of the
last pass; those of the shards stand beside it. Flags after DATA go to noregret train.
"""
import argparse
import concurrent.futures
import subprocess


def train(task):
    """Runs one shard. It is a plain function of a tuple, so that any engine can ship it."""
    command, shard = task
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return shard


def local(tasks):
    with concurrent.futures.ProcessPoolExecutor() as pool:
        return list(pool.map(train, tasks))


def ray(tasks):
    import ray
    remote = ray.remote(train)
    return ray.get([remote.remote(t) for t in tasks])


def spark(tasks):
    from pyspark import SparkContext
    return SparkContext.getOrCreate().parallelize(tasks, len(tasks)).map(train).collect()


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--on", choices=["local", "ray", "spark"], default="local")
    p.add_argument("--shards", type=int, default=4)
    p.add_argument("--passes", type=int, default=2)
    p.add_argument("measure")
    p.add_argument("model")
    p.add_argument("data")
    o, flags = p.parse_known_args()
    engine = {"local": local, "ray": ray, "spark": spark}[o.on]
    start = []
    for i in range(1, o.passes + 1):
        tasks = []
        for k in range(1, o.shards + 1):
            part = f"{o.model}.part-{k}"
            tasks.append((["noregret", "train", "--measure", o.measure, "--shard", f"{k}/{o.shards}", *start,
                           "--model", part, *flags, o.data], part))
        merged = o.model if i == o.passes else f"{o.model}.pass-{i}"
        subprocess.run(["noregret", "merge", "--model", merged, *engine(tasks)], check=True)
        start = ["--from", merged]


if __name__ == "__main__":
    main()
