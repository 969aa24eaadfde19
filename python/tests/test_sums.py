"""Sums and their outbox against a service that is killed, and answers that are lost."""

import http.server
import json
import random
import tempfile
import threading
import unittest
import urllib.request

from noregret import Client, Local, Policy, ServiceError
from noregret.outbox import Outbox
from noregret.sums import Sums

from .service import WithService

FORM = {
    "experiment": "toy", "version": 3, "digest": "", "arms": [{"name": "a", "value": 1}], "control": 0, "salt": "s",
    "hold_back": "0", "stream": "arm", "links": [{"version": 1, "split": [str(1 << 64)]}],
    "metrics": [
        {"name": "x", "kind": "mean", "cap": 2}, {"name": "n", "kind": "count", "default": 4},
        {"name": "z", "kind": "mean", "range": [0, 1]}, {"name": "r", "kind": "ratio", "numerator": "x", "denominator": "n"},
    ],
}


class Adding(unittest.TestCase):
    def test_sums(self) -> None:
        policy, sums = Policy(FORM), Sums(2)
        for unit, metrics in (("u", {"x": -3.0}), ("v", {"x": 1, "n": 2})):
            self.assertTrue(sums.add(policy, policy.decide(unit), metrics))
        self.assertFalse(sums.add(policy, policy.decide("u"), {"x": 1}), "a unit counts once")
        for metrics, words in (
            ({"w": 1}, "metrics.w: not a metric of 'toy'"), ({"r": 1}, "metrics.r: not a metric"),
            ({"z": 1.5}, "1.5: want a number in \\[0, 1\\]"), ({"x": float("nan")}, "nan: want"),
            ({"n": 0.5}, "a count is a whole number"), ({"n": -1}, "want a number in \\[0, 1e"),
        ):
            with self.assertRaisesRegex(ValueError, words):
                sums.add(policy, policy.decide("w"), metrics)
        self.assertEqual(sums.items(), [{
            "version": 3, "arm": "a", "units": 2,
            "metrics": {
                "x": {"n": 2, "sum": -1, "squares": 5, "low": -2, "high": 1},
                "n": {"n": 2, "sum": 6, "squares": 20, "low": 2, "high": 4},
            },
            "pairs": {"r": {"n": 2, "x": -1, "y": 6, "xx": 5, "yy": 20, "xy": -6}},
        }])
        for unit in ("w", "x", "u"):  # u is forgotten by now
            self.assertTrue(sums.add(policy, policy.decide(unit), {}))

    def test_outboxes_that_are_not_its_own(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            outbox = Outbox(directory, "toy")
            self.addCleanup(outbox.close)
            with self.assertRaisesRegex(OSError, "uses this outbox"):
                Outbox(directory, "toy")
            self.assertIsNone(outbox.load())
            for text, words in (
                ("{", "damaged"), ('{"format": 2}', "format 2: want 1"),
                ('{"format": 1, "experiment": "other", "source": "a", "sequence": 1}', "of the experiment 'other'"),
                ('{"format": 1, "experiment": "toy", "source": ""}', "the source or the number"),
                ('{"format": 1, "experiment": "toy", "source": "a", "sequence": 2, '
                 '"pending": {"source": "a", "sequence": 1}}', "the source or the number"),
            ):
                outbox.store(text)
                with self.assertRaisesRegex(ValueError, words):
                    outbox.load()


class Line(http.server.BaseHTTPRequestHandler):
    """A line to the service that loses reports, or their answers. reports are all it was sent."""

    url, fate, reports = "", "counted", []
    kill = staticmethod(lambda: None)
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/v1/aggregates":
            self.reports.append(body)
            if Line.fate == "refused":
                return self.answer(503, b"{}")
            if Line.fate == "forbidden":
                return self.answer(403, b"{}")
        request = urllib.request.Request(Line.url + self.path, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as r:
            text = r.read()
        if self.path == "/v1/aggregates" and Line.fate != "counted":
            if Line.fate == "killed":
                Line.kill()
            self.close_connection = True
            return  # the answer never arrives
        self.answer(200, text)

    def do_GET(self) -> None:  # a poll, which comes again in a minute
        self.answer(503, b"{}")

    def answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Retry-After", "59" if self.command == "GET" else "0")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


class Restarts(WithService):
    def setUp(self) -> None:
        super().setUp()
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Line)
        server.daemon_threads, server.handle_error = True, lambda *_: None  # type: ignore
        Line.url, Line.fate, Line.reports, Line.kill = self.url, "counted", [], staticmethod(self.kill)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.client = Client(f"http://127.0.0.1:{server.server_port}", pause=0.001)
        self.addCleanup(self.client.close)
        self.direct = Client(self.url)
        self.addCleanup(self.direct.close)
        self.form = self.direct.policy("toy")

    def start(self) -> Local:
        return Local(self.client, "toy", outbox=f"{self.dir}/outbox", every=3600, first=self.form, wait=60)

    def die(self, local: Local) -> None:
        """End a Local as if its process were killed: nothing more is sent or kept."""
        local._outbox.store = lambda text: None  # type: ignore
        Line.fate, fate = "refused", Line.fate
        try:
            local.close(0)
        except Exception:
            pass
        Line.fate = fate

    def counted(self) -> dict:
        arms = self.direct.report("toy")["arms"]
        return {name: a["n"] for name, a in arms.items() if a["n"]}

    def test_the_service_dies_between_the_write_and_the_answer(self) -> None:
        self.client.pause = 100  # the first failure ends a flush
        local, want = self.start(), {}
        for i in range(50):
            d = local.decide(f"u{i}")
            want[d.arm] = want.get(d.arm, 0) + 1
            self.assertTrue(local.record(d, {"x": i}))
            self.assertFalse(local.record(d, {"x": i}))
        Line.fate = "killed"
        with self.assertRaises(Exception):
            local.flush(20)
        self.die(local)
        self.serve()
        Line.fate, sent = "counted", len(Line.reports)
        self.assertEqual(self.counted(), want, "the report was on the disk")
        with self.start() as local:
            local.flush()
            self.assertEqual(len(Line.reports), sent + 1)
            self.assertEqual(Line.reports[-1], Line.reports[0], "the same bytes")
            local.record(local.decide("more"), {"x": 1})
        self.assertEqual(json.loads(Line.reports[-1])["sequence"], 2)
        self.assertEqual(sum(self.counted().values()), 51)

    def test_a_report_of_a_wrong_token_goes_out_again(self) -> None:
        with self.start() as local:
            d = local.decide("ann")
            local.record(d, {"x": 1})
            Line.fate = "forbidden"
            with self.assertRaises(ServiceError):
                local.flush(20)
            Line.fate = "counted"
            local.flush()
        self.assertEqual(Line.reports[-1], Line.reports[0], "the same bytes")
        self.assertEqual(self.counted(), {d.arm: 1})

    def test_what_was_kept_counts_once_whatever_happens(self) -> None:
        rand, want, since, unit = random.Random(1), {}, [], 0
        local = self.start()

        def kept() -> None:
            for arm in since:
                want[arm] = want.get(arm, 0) + 1
            since.clear()

        for _ in range(150):
            step = rand.choice(("record", "record", "keep", "flush", "die", "end"))
            Line.fate = rand.choice(("counted", "refused", "lost"))
            if step == "record":
                for _ in range(rand.randrange(1, 5)):
                    d = local.decide(f"unit-{unit}")
                    unit += 1
                    local.record(d, {"x": 1})
                    since.append(d.arm)
            elif step == "keep":
                local.keep()
                kept()
            elif step == "flush":
                try:
                    local.flush(0.005)
                except Exception:
                    pass
                kept()  # each report is kept with all that was recorded
            elif step == "die":
                self.die(local)
                since.clear()
                local = self.start()
            else:
                try:
                    local.close(0.005)
                except Exception:
                    pass
                kept()
                local = self.start()
        Line.fate = "counted"
        local.close()
        kept()
        self.assertEqual(self.counted(), want)
        self.assertGreater(len(Line.reports), len(set(Line.reports)), "no report was sent again")
