"""Client and Local against a service."""

import queue
import threading

from noregret import Client, Local, ServiceError

from .service import TOY, WithService


class Calls(WithService):
    def test_decide_expose_feedback_report(self) -> None:
        client = Client(self.url)
        self.addCleanup(client.close)
        d = client.decide("toy", ["ann"])[0]
        self.assertEqual(client.expose([d["token"]])["accepted"], 1)
        self.assertEqual(client.feedback([{"token": d["token"], "metrics": {"x": 2}}])["accepted"], 1)
        self.assertEqual(client.feedback([{"token": d["token"], "metrics": {"x": 2}}])["duplicate"], 1)
        self.assertEqual(client.report("toy")["feedback"]["accepted"], 1)
        with self.assertRaises(ServiceError) as refused:
            client.decide("no/ne", ["ann"])
        self.assertEqual(refused.exception.status, 404)
        self.kill()
        self.serve()
        self.assertEqual(client.decide("toy", ["ann"])[0]["arm"], d["arm"], "the connection was closed meanwhile")

    def test_local_follows_the_policy(self) -> None:
        client = Client(self.url, pause=0.001)
        self.addCleanup(client.close)
        policies: queue.Queue = queue.Queue()
        failed = threading.Event()
        units = [f"local-{i}" for i in range(100)]
        with Local(client, "toy", on_policy=policies.put, on_error=lambda e: failed.set()) as local:
            first = local.policy
            for d, want in zip(map(local.decide, units), client.decide("toy", units)):
                got = {"unit": d.unit, "arm": d.arm, "value": d.value, "propensity": d.propensity, "version": d.version}
                self.assertEqual(got, {k: want[k] for k in got})
            self.assertEqual(client.expose([{"decided": d.decided}])["accepted"], 1)
            self.assertEqual(client.expose([want["token"]])["duplicate"], 1)
            self.kill()
            self.assertTrue(failed.wait(60))
            self.assertEqual(local.decide("ann").version, first["version"], "without the service the last one decides")
            self.serve()
            self.apply("toy", {**TOY, "policy": {"kind": "fixed", "split": {"one": 0.1, "two": 0.2, "three": 0.7}}})
            second = policies.get(timeout=60)
            self.assertEqual(local.decide("ann").version, second["version"])
            self.assertGreater(second["version"], first["version"])
        self.assertIsNone(local.error)
        with Local(client, "toy", first=first, on_policy=policies.put) as local:
            self.assertEqual(policies.get(timeout=60)["version"], second["version"])

    def test_contextual_policies_are_refused(self) -> None:
        features = [{"name": "age", "kind": "number", "range": [0, 100]}]
        self.apply("seen", {
            "arms": TOY["arms"], "metrics": [{"name": "x", "range": [0, 1]}],
            "objective": {"goals": [{"metric": "x"}]},
            "context": features, "policy": {"kind": "lin-ucb"},
        })
        client = Client(self.url)
        self.addCleanup(client.close)
        with self.assertRaisesRegex(ValueError, "the policy of seen is contextual: ask the service"):
            Local(client, "seen")
