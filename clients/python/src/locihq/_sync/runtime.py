"""What differs between the two clients; the twin of this file is _async/runtime.py."""

from __future__ import annotations

import threading
import time
from typing import TypeVar

Result = TypeVar("Result")

Lock = threading.Lock


class OutOfTime(Exception):
    pass


def within(ms: float, work: Result) -> Result:
    """Done already: a thread cannot be ended from outside, so the work looks at the time by itself."""
    return work


def sleep(ms: float) -> None:
    time.sleep(ms / 1_000)
