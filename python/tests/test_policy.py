"""The vectors that the Go package and the JavaScript client decide as well."""

import json
import pathlib
import unittest

from noregret import Policy

VECTORS = pathlib.Path(__file__).parents[2] / "docs" / "formats" / "policy-vectors.json"


class Vectors(unittest.TestCase):
    def setUp(self) -> None:
        self.cases = json.loads(VECTORS.read_text("utf-8"))

    def test_decisions(self) -> None:
        checked = 0
        for case in self.cases:
            policy = Policy(case["policy"])
            for want in case["decisions"]:
                d = policy.decide(want["unit"])
                got = {"unit": d.unit, "hash": f"{d.hash:016x}", "arm": d.index, "propensity": d.propensity}
                self.assertEqual({**got, "held_back": d.held_back}, want, case["name"])
                self.assertEqual((d.arm, d.value), tuple(case["policy"]["arms"][want["arm"]].values()))
                checked += 1
        self.assertGreaterEqual(checked, 200)

    def test_refusals(self) -> None:
        form = self.cases[1]["policy"]
        for change, words in (
            ({"linear": {"kind": "lin-ucb"}}, "contextual: ask the service"),
            ({"links": []}, "no decision"),
            ({"links": [{"version": 1, "split": ["1", "2"]}]}, "2\\^64"),
            ({"hold_back": "5", "control": -1}, "without a control arm"),
        ):
            with self.assertRaisesRegex(ValueError, words):
                Policy({**form, **change})
        for unit, words in (("", "want 1 to 512"), ("ż" * 257, "514 bytes"), ("\ud800", "surrogates")):
            with self.assertRaisesRegex(ValueError, words):
                Policy(form).decide(unit)
