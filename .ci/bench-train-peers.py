"""Trains what is installed of scikit-learn, LIBLINEAR and Vowpal Wabbit on the sets of
"make bench-train", and prints lines as Go's benchmarks do: examples for each second of
processor time of this process. The sets are those of classify/train_bench_test.go.

    python3 .ci/bench-train-peers.py DIRECTORY COUNT
"""

import gzip
import importlib
import os
import sys
import tempfile
import time

INSTALL = {
    "sklearn": "pip install scikit-learn",
    "liblinear": "pip install liblinear-official",
    "vowpalwabbit": "pip install vowpalwabbit",
}


def has(module):
    try:
        importlib.import_module(module)
        return True
    except Exception as e:  # any failure means that it cannot be used here
        print(f"{module} is left out ({e}): {INSTALL[module]}", file=sys.stderr)
        return False


def report(name, examples, seconds):
    print(f"BenchmarkTrain/{name} 1 {examples / seconds:.0f} examples/cpu-s", flush=True)


def load(directory):
    """The sets as (name, rows, labels of -1 and 1, how often, path of svmlight text or None)."""
    import numpy as np
    import scipy.sparse as sp
    from sklearn.datasets import load_svmlight_file

    def path(*name):
        return os.path.join(directory, *name)

    for name, file in (("ijcnn1x10", "ijcnn1/ijcnn1.libsvm.gz"), ("w8ax10", "w8a/w8a.libsvm.gz")):
        if os.path.exists(path(file)):
            x, y = load_svmlight_file(path(file), dtype=np.float32)
            yield name, x, np.where(y > 0, 1, -1), 10, path(file)
    file = path("covtype/covtype-sample10000.data.gz")
    if os.path.exists(file):
        a = np.loadtxt(file, delimiter=",", dtype=np.float32)
        yield "covtype", sp.csr_matrix(a[:, :-1]), np.where(a[:, -1] == 2, 1, -1), 50, None
    file = path("spambase/spambase-standardized.csv.gz")
    if os.path.exists(file):
        a = np.loadtxt(file, delimiter=",", dtype=np.float32)
        yield "spambasex20", sp.csr_matrix(a[:, :-1]), np.where(a[:, -1] == 1, 1, -1), 20, None
    file = path("mnist/train-images-idx3-ubyte.gz")
    if os.path.exists(file):
        with gzip.open(file) as f:
            a = np.frombuffer(f.read(), np.uint8, offset=16).reshape(-1, 784)
        with gzip.open(path("mnist/train-labels-idx1-ubyte.gz")) as f:
            y = np.frombuffer(f.read(), np.uint8, offset=8)
        yield "mnist", sp.csr_matrix(a.astype(np.float32)), np.where(y == 5, 1, -1), 1, None


def scikit_learn(name, x, y, text):
    from sklearn.datasets import load_svmlight_file
    from sklearn.linear_model import SGDClassifier

    for order, shuffle in (("file-order", False), ("shuffled", True)):
        model = SGDClassifier(max_iter=5, tol=None, shuffle=shuffle, average=True, random_state=1)
        start = time.process_time()
        model.fit(x, y)
        report(f"{name}/memory/cores=1/scikit-learn-{order}", 5 * len(y), time.process_time() - start)
    if text:
        start = time.process_time()
        a, b = load_svmlight_file(text)
        a.indices, a.indptr = a.indices.astype("int32"), a.indptr.astype("int32")
        SGDClassifier(average=True, random_state=1).partial_fit(a, b, [-1, 1])
        report(f"{name}/text/cores=1/scikit-learn", len(b), time.process_time() - start)


def liblinear(name, x, y, order):
    from liblinear.liblinearutil import problem, train

    for how, rows in (("file-order", slice(None)), ("shuffled", order)):
        start = time.process_time()
        train(problem(y[rows].astype(float), x[rows]), "-s 1 -q")
        report(f"{name}/memory/cores=1/liblinear-to-tolerance-{how}", len(y), time.process_time() - start)


def vowpal_wabbit(name, x, y, order, times, work):
    from vowpalwabbit import Workspace

    for how, rows in (("file-order", range(len(y))), ("shuffled", order)):
        lines = []
        for i in rows:
            lo, hi = x.indptr[i], x.indptr[i + 1]
            features = " ".join(f"{j}:{v:g}" for j, v in zip(x.indices[lo:hi], x.data[lo:hi]))
            lines.append(f"{y[i]} | {features}\n")
        text = os.path.join(work, name + ".vw")
        with open(text, "w") as f:
            f.writelines(lines * times)
        cache = text + ".cache"
        arguments = "--loss_function hinge --quiet"
        for source, more in (("text", ""), (None, f"-k --cache_file {cache}"), ("cache", f"--cache_file {cache}")):
            start = time.process_time()
            Workspace(arg_list=f"{arguments} -d {text} {more}".split()).finish()
            if source:
                report(f"{name}/{source}/cores=1/vw-{how}", times * len(y), time.process_time() - start)
        os.remove(text)
        os.remove(cache)


def main(directory, count):
    there = {m for m in INSTALL if has(m)}
    if "sklearn" not in there:
        print("without scikit-learn the sets cannot be read: no others are measured", file=sys.stderr)
        return
    import numpy as np
    import scipy.sparse as sp

    for name, x, y, times, packed in load(directory):
        if name not in (os.environ.get("SETS") or name):
            continue
        order = np.random.default_rng(1).permutation(len(y))
        many, labels = sp.vstack([x] * times, format="csr"), np.tile(y, times)
        with tempfile.TemporaryDirectory() as work:
            text = None
            if packed:
                text = os.path.join(work, "x.svm")
                with gzip.open(packed) as f, open(text, "wb") as out:
                    out.write(f.read() * times)
            for _ in range(count):
                scikit_learn(name, many, labels, text)
                if "liblinear" in there:
                    liblinear(name, many, labels, np.tile(order, times))
                if "vowpalwabbit" in there:
                    vowpal_wabbit(name, x, y, order, times, work)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
