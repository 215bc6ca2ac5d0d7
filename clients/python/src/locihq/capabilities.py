"""A capability that is kept, and where."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class KeptCapability:
    token: str
    #: Milliseconds since 1970, by the clock of this machine.
    ends_at: float
    renew_at: float

    @property
    def is_fresh(self) -> bool:
        return now_ms() < self.renew_at

    @property
    def is_valid(self) -> bool:
        return now_ms() < self.ends_at


class CapabilityStore(Protocol):
    """Where a program keeps capabilities beyond its own life. Both answer at once: a file or a mapping."""

    def load(self, service_id: str) -> KeptCapability | None: ...

    def save(self, service_id: str, kept: KeptCapability | None) -> None: ...


def kept_from(token: str, expires_in: float) -> KeptCapability:
    """One is kept until shortly before its end."""
    now, life_ms = now_ms(), expires_in * 1_000
    return KeptCapability(token, now + life_ms, now + life_ms - max(30_000, life_ms / 10))


def now_ms() -> float:
    return time.time() * 1_000
