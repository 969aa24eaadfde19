"""Decisions in the process by a copy of an experiment's policy, and sums of feedback."""

from __future__ import annotations

import os
import secrets
import threading
import time
from typing import Any, Callable, Mapping, Optional

from .client import Client, Line, Pauses, is_bad, passes
from .outbox import Outbox
from .policy import Decision, Policy
from .sums import Sums


class Local:
    """Decides in the process for one experiment. Its methods may be called by several threads.

    Daemon threads follow the policy by long polls and send sums of what is recorded. While the
    service is away, the last policy decides. Use it in a `with` statement, or call close: what is
    recorded and not sent is lost without, but for what an outbox has. A process that forks makes one
    in each child.
    """

    def __init__(
        self, client: Client, experiment: str, *, wait: float = 30.0, every: float = 5.0, source: str = "local",
        outbox: str = "", remember: int = 100_000, first: Optional[dict[str, Any]] = None,
        on_policy: Optional[Callable[[dict[str, Any]], None]] = None,
        on_error: Optional[Callable[[Exception], None]] = None,
    ) -> None:
        """Fetch the policy of an experiment and follow it.

        wait is how many seconds a poll waits for a new policy, above 0, at most 60. Every `every`
        seconds sums are sent, and kept in the directory outbox, if there is one. source names this
        process in its reports; a random part follows, which a restart with the same outbox keeps.
        remember is how many of the latest units are known, so that one that is recorded twice counts
        once. With first, an earlier policy, nothing waits for the service. A thread calls on_policy
        with each new policy after the first, and on_error with each failure, and with a ValueError
        for sums that the service does not count. ValueError: the policy is contextual, the outbox is
        damaged, or an argument out of range.
        """
        if not 0 < wait <= 60 or every <= 0 or remember < 1 or not 1 <= len(source.encode()) <= 100:
            raise ValueError(
                f"polls of {wait} s, reports every {every} s, {remember} units, a source of {len(source)}: "
                "want above 0, at most 60; above 0; at least 1; 1 to 100 bytes"
            )
        self._client, self._experiment, self._wait, self._every = client, experiment, wait, every
        self._on_policy, self._on_error, self._process = on_policy, on_error, os.getpid()
        self._stop, self._line, self._closed = threading.Event(), Line(), False
        self.error: Optional[Exception] = None
        """The error of the last poll if it failed: the policy may be out of date."""
        self.confirmed = 0.0
        """When the service last said which policy is in force, in seconds since 1970; 0 for never."""
        self._mutex = threading.Lock()  # guards what is recorded
        self._keeping = threading.Lock()  # guards the outbox; taken before mutex
        self._sending = threading.Lock()  # guards the sending of reports; taken before keeping
        self._source, self._sequence = f"{source}-{secrets.token_hex(13)}", 0
        self._pending: Optional[dict[str, Any]] = None
        self._sums = Sums(remember)
        self._outbox = Outbox(outbox, experiment) if outbox else None
        try:
            kept = self._outbox.load() if self._outbox else None
            if kept:
                self._source, self._sequence, self._pending = kept["source"], kept["sequence"], kept.get("pending")
                self._sums.restore(kept.get("sums", []))
            self._policy = Policy(first or client.policy(experiment) or {})
        except BaseException:
            if self._outbox:
                self._outbox.close()
            raise
        if not first:
            self.confirmed = time.time()
        loops = [self._poll, lambda: self._regularly(self.flush)]
        if self._outbox:
            loops.append(lambda: self._regularly(self.keep))
        self._threads = [threading.Thread(target=f, daemon=True, name=f"noregret {experiment}") for f in loops]
        for t in self._threads:
            t.start()

    @property
    def policy(self) -> dict[str, Any]:
        """The policy that decides, which another Local can have as its first."""
        return self._policy.form

    def decide(self, unit: str) -> Decision:
        """Return the decision for a unit: the service's own while both have the same policy."""
        return self._policy.decide(unit)

    def record(self, decision: Decision, metrics: Mapping[str, float]) -> bool:
        """Count a unit as exposed, and add all of its metrics to the sums.

        Call it once for each unit and policy version; False: the unit was recorded before. A metric
        that is missing counts as its default, or not at all. ValueError: the service would reject a
        metric, and nothing is counted.
        """
        if self._process != os.getpid():
            raise RuntimeError("this Local was made before a fork: make one in each process")
        with self._mutex:
            if self._closed:
                raise RuntimeError("this Local is closed")
            return self._sums.add(self._policy, decision, metrics)

    def keep(self) -> None:
        """Write what is recorded and not sent to the outbox. Then it survives the process."""
        if self._outbox:
            with self._keeping:
                with self._mutex:
                    text = self._outbox.encode(self._source, self._sequence, self._pending, self._sums.items())
                self._outbox.store(text)

    def flush(self, timeout: Optional[float] = None) -> None:
        """Send what is recorded, again and again for `timeout` seconds, None for until it is sent.

        A report without an answer keeps its number, and goes out with the next flush. Raises the
        error of the last attempt, or a ValueError for sums that the service does not count.
        """
        end = float("inf") if timeout is None else time.monotonic() + timeout
        if not self._sending.acquire(timeout=-1 if timeout is None else timeout):
            raise TimeoutError("another thread is sending")
        try:
            refused: list[str] = []
            while self._pending or self._collect():
                self.keep()  # a report that is sent and not kept would be followed by another of its number
                refused += self._send(end)
            if refused:
                raise ValueError("; ".join(refused))
        finally:
            self._sending.release()

    def _collect(self) -> bool:
        """Move the sums to the pending report, if there are any."""
        with self._mutex:
            items = self._sums.items()
            if items:
                self._sequence += 1
                self._pending = {
                    "experiment": self._experiment, "source": self._source, "sequence": self._sequence, "items": items
                }
                self._sums.clear()
            return bool(items)

    def _send(self, end: float) -> list[str]:
        """Send the pending report until it is answered, and return what the service does not count."""
        pauses, report, stop, line = Pauses(self._client.pause), self._pending or {}, self._stop, self._line
        while True:
            try:
                timeout = max(0.001, min(self._client.timeout, end - time.monotonic()))
                answer = self._client.call("POST", "/v1/aggregates", report, timeout=timeout, attempts=1, line=line)
                break
            except Exception as e:
                if is_bad(e):
                    self._pending = None
                    raise
                pause = pauses.next(e)
                if not passes(e) or stop.is_set() or time.monotonic() + pause > end:
                    raise
                self._failed(e)
                stop.wait(pause)
        self._pending = None
        return [
            f"version {i['version']}, arm {i['arm']}: the sums of {i['units']} units are {r['status']}: {r.get('error')}"
            for i, r in zip(report["items"], answer["items"])
            if r["status"] in ("rejected", "late")
        ]

    def _regularly(self, action: Callable[[], None]) -> None:
        while not self._stop.wait(self._every):
            try:
                action()
            except Exception as e:
                if not self._stop.is_set():
                    self._failed(e)
        self._client.close()

    def _poll(self) -> None:
        pauses = Pauses(self._client.pause)
        while not self._stop.is_set():
            wait = self._wait if self.confirmed and not self.error else 0
            try:
                form = self._client.policy(self._experiment, self._policy.digest, wait, attempts=1, line=self._line)
                if form:
                    self._policy = Policy(form)
                self.error, self.confirmed = None, time.time()
                pauses.reset()
                if form and self._on_policy:
                    self._on_policy(form)
            except Exception as e:
                if self._stop.is_set():
                    break
                self.error = e
                self._failed(e)
                self._stop.wait(pauses.next(e))
        self._client.close()

    def _failed(self, error: Exception) -> None:
        if self._on_error:
            self._on_error(error)

    def close(self, timeout: float = 10.0) -> None:
        """End the threads, and send what is recorded, again and again for `timeout` seconds.

        Raises as flush does. What was not sent stays in the outbox, if there is one.
        """
        with self._mutex:
            if self._closed:
                return
            self._closed = True
        self._stop.set()
        self._line.cut()
        for t in self._threads:
            t.join()
        self._stop, self._line = threading.Event(), Line()
        try:
            self.flush(timeout)
        finally:
            try:
                self.keep()
            finally:
                if self._outbox:
                    self._outbox.close()
                self._client.close()

    def __enter__(self) -> Local:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
