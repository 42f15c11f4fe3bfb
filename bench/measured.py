"""What every contestant prints: the seconds of processor time from `started` to `done`, after its imports."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

_started: list[float] = []


def started() -> None:
    """The imports are done; what follows is the work."""
    _started.append(time.process_time())


def done(*, checks: int, passed: int) -> None:
    """Prints one JSON line: `cpu_seconds` over all threads, how many checks there were, and how many held."""
    print(json.dumps({"cpu_seconds": time.process_time() - _started[-1], "checks": checks, "passed": passed}))


def seconds_of(work: Callable[[], object]) -> float:
    """The processor time of a piece of work in this process, over all threads."""
    started = time.process_time()
    work()
    return time.process_time() - started
