"""Decisions in the process by a copy of an experiment's policy."""

from __future__ import annotations

import threading
import time
from typing import Any, Callable, Optional

from .client import Client, Line, Pauses
from .policy import Decision, Policy


class Local:
    """Decides in the process for one experiment. Its methods may be called by several threads.

    A daemon thread follows the policy by long polls. While the service is away, the last policy
    decides. Use it in a `with` statement, or call close. A process that forks makes one in each
    child, as threads do not survive a fork.
    """

    def __init__(
        self,
        client: Client,
        experiment: str,
        *,
        wait: float = 30.0,
        first: Optional[dict[str, Any]] = None,
        on_policy: Optional[Callable[[dict[str, Any]], None]] = None,
        on_error: Optional[Callable[[Exception], None]] = None,
    ) -> None:
        """Fetch the policy of an experiment and follow it.

        wait is how many seconds a poll waits for a new policy, above 0, at most 60. With first, an
        earlier policy, nothing waits for the service. A thread calls on_policy with each new policy
        after the first, and on_error with each failure that passes. ValueError: the policy is
        contextual, or an argument out of range.
        """
        if not 0 < wait <= 60:
            raise ValueError(f"polls of {wait} s: want above 0, at most 60")
        self._client, self._experiment, self._wait = client, experiment, wait
        self._on_policy, self._on_error = on_policy, on_error
        self._stop, self._line = threading.Event(), Line()
        self.error: Optional[Exception] = None
        """The error of the last poll if it failed: the policy may be out of date."""
        self.confirmed = 0.0
        """When the service last said which policy is in force, in seconds since 1970; 0 for never."""
        self._policy = Policy(first or client.policy(experiment) or {})
        if not first:
            self.confirmed = time.time()
        self._threads = [self._start(self._poll)]

    def _start(self, run: Callable[[], None]) -> threading.Thread:
        t = threading.Thread(target=run, daemon=True, name=f"noregret {self._experiment}")
        t.start()
        return t

    @property
    def policy(self) -> dict[str, Any]:
        """The policy that decides, which another Local can have as its first."""
        return self._policy.form

    def decide(self, unit: str) -> Decision:
        """Return the decision for a unit: the service's own while both have the same policy."""
        return self._policy.decide(unit)

    def _poll(self) -> None:
        pauses = Pauses(self._client.pause)
        while not self._stop.is_set():
            wait = self._wait if self.confirmed and not self.error else 0
            try:
                form = self._client.policy(
                    self._experiment, self._policy.digest, wait, attempts=1, line=self._line
                )
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

    def close(self) -> None:
        """End the threads, at once."""
        self._stop.set()
        self._line.cut()
        for t in self._threads:
            t.join()

    def __enter__(self) -> Local:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
