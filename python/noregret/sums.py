"""Sums of metrics by policy version and arm, which reports are made of."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Mapping

from .policy import Decision, Policy


def _check(policy: Policy, name: str, v: float) -> float:
    """Return a value, or raise the error for one that the service would reject."""
    m = next((m for m in policy.metrics if m["name"] == name and m["kind"] != "ratio"), None)
    if m is None:
        raise ValueError(f"metrics.{name}: not a metric of {policy.experiment!r}")
    low, high = m.get("range") or (0 if m["kind"] == "count" else -1e15, 1e15)
    if isinstance(v, bool) or not low <= v <= high:
        raise ValueError(f"metrics.{name}: {v}: want a number in [{low:g}, {high:g}]")
    if m["kind"] == "count" and v != int(v):
        raise ValueError(f"metrics.{name}: {v}: a count is a whole number")
    return float(v)


def _add(sums: dict[str, Any], values: dict[str, float]) -> None:
    sums["n"] = sums.get("n", 0) + 1
    for k, v in values.items():
        sums[k] = sums.get(k, 0.0) + v


class Sums:
    """Sums that grow by units. It remembers the latest units, which count once."""

    def __init__(self, remember: int) -> None:
        self._remember = remember
        self._seen: OrderedDict[tuple[int, int], None] = OrderedDict()
        self._items: dict[tuple[int, bool, str], dict[str, Any]] = {}

    def restore(self, items: list[dict[str, Any]]) -> None:
        """Begin with sums of an earlier process."""
        for i in items:
            self._items[i["version"], i.get("held_back", False), i["arm"]] = i

    def add(self, policy: Policy, d: Decision, metrics: Mapping[str, float]) -> bool:
        """Count a unit; False if it was counted before. After an error nothing has changed."""
        if d.experiment != policy.experiment:
            raise ValueError(f"decision: of the experiment {d.experiment!r}: want one of {policy.experiment!r}")
        values = {name: _check(policy, name, v) for name, v in metrics.items()}
        if (d.version, d.hash) in self._seen:
            return False
        self._seen[d.version, d.hash] = None
        if len(self._seen) > self._remember:
            self._seen.popitem(last=False)
        new = {"version": d.version, "arm": d.arm, "units": 0}
        item = self._items.setdefault((d.version, d.held_back, d.arm), new)
        if d.held_back:
            item["held_back"] = True
        item["units"] += 1
        for m in policy.metrics:
            if m.get("default") is not None and m["name"] not in values:
                values[m["name"]] = float(m["default"])
        for m in policy.metrics:
            if m["name"] in values:
                v = values[m["name"]]
                if m.get("cap") is not None:
                    v = values[m["name"]] = min(max(v, -float(m["cap"])), float(m["cap"]))
                sums = item.setdefault("metrics", {}).setdefault(m["name"], {})
                if not sums or "low" in sums:
                    sums.update(low=min(sums.get("low", v), v), high=max(sums.get("high", v), v))
                _add(sums, {"sum": v, "squares": v * v})
        for m in policy.metrics:
            x, y = values.get(m.get("numerator", "")), values.get(m.get("denominator", ""))
            if m["kind"] == "ratio" and x is not None and y is not None:
                pair = item.setdefault("pairs", {}).setdefault(m["name"], {})
                _add(pair, {"x": x, "y": y, "xx": x * x, "yy": y * y, "xy": x * y})
        return True

    def items(self) -> list[dict[str, Any]]:
        """Return the sums in the order of versions, held back last, and arms."""
        return [item for _, item in sorted(self._items.items(), key=lambda pair: pair[0])]

    def clear(self) -> None:
        """Forget the sums, but not the units."""
        self._items = {}
