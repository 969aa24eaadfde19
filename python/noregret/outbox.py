"""What a Local has still to send, kept in a directory through restarts."""

from __future__ import annotations

import json
import os
from typing import Any, Optional
from urllib.parse import quote

try:
    import fcntl
except ImportError:  # Windows, which has no such locks
    fcntl = None  # type: ignore[assignment]


class Outbox:
    """The file EXPERIMENT.outbox.json of a directory, of the same form as the Go client's.

    It is written under another name, flushed to the disk and renamed: a process that is killed
    leaves the old file or the new one.
    """

    def __init__(self, directory: str, experiment: str) -> None:
        """Open the outbox; OSError if another process has it open (not noticed on Windows)."""
        os.makedirs(directory, exist_ok=True)
        self._experiment = experiment
        self.path = os.path.join(directory, quote(experiment, "") + ".outbox.json")
        self._lock = os.open(self.path + ".lock", os.O_RDWR | os.O_CREAT, 0o666)
        if fcntl:
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as e:
                self.close()
                raise OSError(e.errno, "another process, or another Local, uses this outbox", self.path) from None

    def load(self) -> Optional[dict[str, Any]]:
        """Return what was stored last, None for nothing; ValueError if it is not of this experiment."""
        try:
            with open(self.path, encoding="utf-8") as f:
                form = json.load(f)
        except FileNotFoundError:
            return None
        except ValueError as e:
            raise ValueError(f"{self.path}: damaged: {e}") from None
        if form.get("format") != 1:
            raise ValueError(f"{self.path}: format {form.get('format')}: want 1")
        if form.get("experiment") != self._experiment:
            other = form.get("experiment")
            raise ValueError(f"{self.path}: it is of the experiment {other!r}: want one outbox for each")
        p = form.get("pending")
        if not form.get("source") or p and (p["source"], p["sequence"]) != (form["source"], form["sequence"]):
            raise ValueError(f"{self.path}: damaged: the source or the number of the report does not fit")
        return form

    def encode(
        self, source: str, sequence: int, pending: Optional[dict[str, Any]], sums: list[dict[str, Any]]
    ) -> str:
        """Return what store takes: the report whose fate is unknown, and the sums since."""
        form: dict[str, Any] = {"format": 1, "experiment": self._experiment, "source": source, "sequence": sequence}
        form.update({k: v for k, v in (("pending", pending), ("sums", sums)) if v})
        return json.dumps(form, allow_nan=False)

    def store(self, text: str) -> None:
        """Replace what is kept. Once this returns, it survives the process and the machine."""
        with open(self.path + ".tmp", "w", encoding="utf-8") as f:
            f.write(text)
            f.flush()
            os.fsync(f.fileno())
        os.replace(self.path + ".tmp", self.path)
        if os.name != "nt":
            directory = os.open(os.path.dirname(self.path) or ".", os.O_RDONLY)
            try:
                os.fsync(directory)
            finally:
                os.close(directory)

    def close(self) -> None:
        """Let another process open the outbox."""
        os.close(self._lock)
