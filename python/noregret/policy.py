"""Decisions by a copy of the policy, as docs/formats/policy.md defines them."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field
from typing import Any, Sequence

_ALL = 1 << 64
_MASK = _ALL - 1


def hash64(purpose: str, salt: str, unit: str) -> int:
    """Return Hash(purpose, salt, unit) of policy.md."""
    h = hashlib.sha256()
    for part in (purpose, salt, unit):
        data = part.encode()
        h.update(len(data).to_bytes(4, "big") + data)
    return int.from_bytes(h.digest()[:8], "big")


def mix(z: int) -> int:
    """Return Mix(z) of policy.md."""
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & _MASK
    return z ^ z >> 31


def _fall(parts: Sequence[int], x: int) -> int:
    """Return the index on which x falls when the parts divide a range in their order."""
    end = 0
    for i, part in enumerate(parts):
        end += part
        if x < end:
            return i
    raise ValueError("the parts do not fill the range")


@dataclass(frozen=True)
class Decision:
    """The arm of a unit. A unit that is held back has the control arm, for the whole experiment."""

    experiment: str
    unit: str
    arm: str
    index: int
    value: Any
    propensity: float
    version: int
    held_back: bool
    hash: int
    time: float = field(default_factory=time.time, compare=False)

    @property
    def decided(self) -> dict[str, Any]:
        """What takes the place of a token in the items of Client.expose and Client.feedback."""
        at = int(1000 * self.time)
        return {"experiment": self.experiment, "version": self.version, "unit": self.unit, "time": at}


@dataclass(frozen=True)
class _Link:
    shares: list[int]
    coin: int
    move: int
    before: list[int]
    growth: list[int]
    grown: int


class Policy:
    """A policy that decides for units, made of the answer of GET /v1/experiments/{name}/policy.

    ValueError: it is contextual, in which case only the service can decide, or it allows no
    decision.
    """

    def __init__(self, form: dict[str, Any]) -> None:
        if form.get("linear"):
            raise ValueError(f"the policy of {form.get('experiment')} is contextual: ask the service")
        self.form = form
        self.experiment: str = form["experiment"]
        self.version: int = form["version"]
        self.digest: str = form["digest"]
        self.metrics: list[dict[str, Any]] = form.get("metrics") or []
        self._arms, self._control, self._salt = form["arms"], form["control"], form["salt"]
        self._hold_back = int(form["hold_back"])
        self._hold_key, self._arm_key = self._key("hold-back"), self._key(form["stream"])
        self._links: list[_Link] = []
        for i, link in enumerate(form["links"]):
            shares = [int(s) for s in link["split"]]
            if len(shares) != len(self._arms) or min(shares) < 0 or sum(shares) != _ALL:
                raise ValueError(f"link {i} does not split 2^64 among {len(self._arms)} arms")
            last = self._links[-1].shares if self._links else shares
            growth = [max(w - h, 0) for w, h in zip(shares, last)]
            coin, move = self._key(f"coin/{link['version']}"), self._key(f"move/{link['version']}")
            self._links.append(_Link(shares, coin, move, [min(h, _MASK) for h in last], growth, sum(growth)))
        if not self._links or self._hold_back > 0 and not 0 <= self._control < len(self._arms):
            raise ValueError("no links, or units are held back without a control arm: no decision is possible")

    def _key(self, purpose: str) -> int:
        return hash64(purpose, self._salt, "")

    def decide(self, unit: str) -> Decision:
        """Return the service's own decision for a unit: text of 1 to 512 bytes."""
        size = len(unit.encode())  # a single surrogate is a UnicodeEncodeError, a ValueError
        if not 1 <= size <= 512:
            raise ValueError(f"unit: {size} bytes: want 1 to 512")
        u = hash64("unit", self._salt, unit)
        k, propensity = self._control, 1.0
        held_back = mix(u ^ self._hold_key) < self._hold_back
        if not held_back:
            k = _fall(self._links[0].shares, mix(u ^ self._arm_key))
            for link in self._links[1:]:
                w, h = link.shares[k], link.before[k]
                if w < h and mix(u ^ link.coin) * h >> 64 >= w:
                    k = _fall(link.growth, mix(u ^ link.move) * link.grown >> 64)
            propensity = self._links[-1].shares[k] / _ALL
        arm = self._arms[k]
        return Decision(
            self.experiment, unit, arm["name"], k, arm["value"], propensity, self.version, held_back, u
        )
