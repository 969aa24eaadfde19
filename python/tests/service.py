"""A decision service that tests start, kill and start again."""

import json
import os
import subprocess
import tempfile
import unittest
import urllib.request

COMMAND = os.environ.get("NOREGRET", "")
TOY = {
    "arms": [{"name": "one", "value": 1}, {"name": "two", "value": 2}, {"name": "three", "value": 3}],
    "metrics": [{"name": "x", "cap": 5}, {"name": "y", "kind": "count", "default": 0}],
    "policy": {"kind": "fixed", "split": {"one": 0.5, "two": 0.3, "three": 0.2}},
}


@unittest.skipUnless(COMMAND, "NOT RUN: NOREGRET, the command, is not set: make python builds it")
class WithService(unittest.TestCase):
    """A test with a service of its own, which has the experiment toy."""

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.dir, self.port = directory.name, "0"
        self.addCleanup(lambda: self.kill())
        self.serve()
        self.apply("toy", TOY)

    def serve(self) -> None:
        """Start the service, on the port that it had before."""
        args = ["serve", "--data", f"{self.dir}/data", "--listen", f"127.0.0.1:{self.port}", "--log-level", "error"]
        self.process = subprocess.Popen([COMMAND, *args], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        self.url = self.process.stdout.readline().split()[-1]
        self.port = self.url.rsplit(":", 1)[1]

    def kill(self) -> None:
        """End the service as kill -9 does."""
        self.process.kill()
        self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()

    def apply(self, name: str, definition: dict) -> None:
        request = urllib.request.Request(f"{self.url}/v1/experiments/{name}", method="PUT")
        request.add_header("Content-Type", "application/json")
        urllib.request.urlopen(request, json.dumps({"name": name, **definition}).encode()).close()
