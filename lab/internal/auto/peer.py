"""A logistic regression of scikit-learn that is tuned for a measure on the training rows.

Usage: peer.py TRAIN TEST DIM MEASURE...

The files are svmlight with the features 0 to DIM - 1 and the classes 0, 1, ... (for two classes 1
is the positive one). For each measure, scaling, class weights and C are chosen by cross-fitted
values on at most 20,000 rows, and with two classes then a threshold on the cross-fitted scores of
all rows. Prints the confusion of each measure's model on the test rows, [class][predicted], and the
processor time of the choice and the training.
"""

import itertools
import json
import sys
import time
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, StandardScaler

MOST_ROWS, MOST_NUMBERS, FOLDS, ITERATIONS = 20_000, 2_000_000, 3, 200

warnings.filterwarnings("ignore")  # lbfgs that ends at its iterations, classes of fewer rows than folds


def recipes():
    for scaling, weight, c in itertools.product(
        ("none", "standard", "max-abs"), (None, "balanced"), (0.01, 0.1, 1.0, 10.0, 100.0)
    ):
        yield scaling, weight, c


def model_of(recipe, sparse):
    scaling, weight, c = recipe
    scaler = {
        "none": FunctionTransformer(accept_sparse=True),
        "standard": StandardScaler(with_mean=not sparse),
        "max-abs": MaxAbsScaler(),
    }[scaling]
    return make_pipeline(scaler, LogisticRegression(C=c, class_weight=weight, max_iter=ITERATIONS))


def value_of_two(measure, tp, fn, tn, fp):
    """The measure of counts, which may be arrays; 0 where it is undefined."""
    with np.errstate(divide="ignore", invalid="ignore"):
        tpr, tnr = tp / (tp + fn), tn / (tn + fp)
        value = {
            "f1": 2 * tp / (2 * tp + fn + fp),
            "gmean": np.sqrt(tpr * tnr),
            "qmean": 1 - np.sqrt(((1 - tpr) ** 2 + (1 - tnr) ** 2) / 2),
            "min": np.minimum(tpr, tnr),
        }[measure]
    return np.nan_to_num(value)


def confusion_of(y, predicted, classes):
    out = np.zeros((classes, classes))
    np.add.at(out, (y, predicted), 1)
    return out


def value_of_many(measure, counts):
    """The mean over the classes that have rows."""
    hits, rows = np.diag(counts), counts.sum(1)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = {
            "macro_f1": 2 * hits / (rows + counts.sum(0)),
            "macro_recall": hits / rows,
        }[measure]
    return np.nan_to_num(value)[rows > 0].mean()


def best_threshold(measure, y, scores):
    """The threshold with the largest value, in the middle between two scores, and the value."""
    order = np.argsort(-scores, kind="stable")
    y, scores = y[order], scores[order]
    tp, fp = np.cumsum(y == 1), np.cumsum(y == 0)
    ends = np.flatnonzero(np.diff(scores, append=-np.inf))  # the last row of each score
    tp, fp = np.append(0, tp[ends]), np.append(0, fp[ends])
    values = value_of_two(measure, tp, tp[-1] - tp, fp[-1] - fp, fp)
    k, at = int(np.argmax(values)), scores[ends]
    if k == 0:
        return np.inf, values[0]
    return ((at[k - 1] + at[k]) / 2 if k < len(at) else -np.inf), values[k]


def cross_fitted(recipe, x, y, sparse, classes):
    """The scores of two classes, or the predicted of several, of each row by a model without it."""
    out = np.zeros(len(y))
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=1).split(x, y):
        model = clone(model_of(recipe, sparse))
        if len(np.unique(y[train])) < 2:
            out[test] = y[train][0]
            continue
        model.fit(x[train], y[train])
        out[test] = model.decision_function(x[test]) if classes == 2 else model.predict(x[test])
    return out


def main():
    train, test, dim, measures = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4:]
    read = lambda name: load_svmlight_file(name, n_features=dim, zero_based=True)
    (x, y), (test_x, test_y) = read(train), read(test)
    y, test_y = y.astype(int), test_y.astype(int)
    classes = 1 + max(y.max(), test_y.max())
    sparse = x.nnz < 0.25 * x.shape[0] * x.shape[1]
    if not sparse:
        x, test_x = x.toarray(), test_x.toarray()
    begin = time.process_time()
    numbers = x.nnz / x.shape[0] if sparse else dim
    rows = int(min(len(y), MOST_ROWS, max(1_000, MOST_NUMBERS / numbers)))
    part = np.arange(len(y))
    if rows < len(y):
        few = np.isin(y, np.flatnonzero(np.bincount(y) < 2))  # cannot be stratified
        part, _ = train_test_split(part[~few], train_size=rows, stratify=y[~few], random_state=1)
    best = {m: (-1.0, None) for m in measures}
    for recipe in recipes():
        out = cross_fitted(recipe, x[part], y[part], sparse, classes)
        for m in measures:
            if classes == 2:
                _, value = best_threshold(m, y[part], out)
            else:
                value = value_of_many(m, confusion_of(y[part], out.astype(int), classes))
            if value > best[m][0]:
                best[m] = value, recipe
    answer, fitted = {}, {}
    for m in measures:
        recipe = best[m][1]
        if recipe not in fitted:
            scores = cross_fitted(recipe, x, y, sparse, classes) if classes == 2 else None
            fitted[recipe] = model_of(recipe, sparse).fit(x, y), scores
        model, scores = fitted[recipe]
        if classes == 2:
            threshold, _ = best_threshold(m, y, scores)
            predicted = (model.decision_function(test_x) > threshold).astype(int)
        else:
            predicted = model.predict(test_x)
        answer[m] = confusion_of(test_y, predicted, classes).tolist()
    print(json.dumps({"seconds": time.process_time() - begin, "confusions": answer}))


main()
