"""Server-sent events, as they come in pieces."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from .error import LociError

#: The server writes at least a comment every 15 s.
SILENCE_S = 45.0
_WAIT_MS_MIN = 200
_WAIT_MS_MAX = 10_000


@dataclass(frozen=True)
class ServiceEvent:
    #: What to hand to `after` to go on behind this event; None for a notice, which has no place in the order.
    id: str | None
    type: str
    #: 0 for a notice.
    seq: int
    at: str | None
    database: str | None
    domain: str | None
    #: Of an event of an organization: the id that it is about.
    subject: str | None
    data: dict[str, Any]


@dataclass(frozen=True)
class Frame:
    id: str | None
    event: str
    data: str


class Frames:
    """Bytes in, whole frames out."""

    def __init__(self) -> None:
        self._rest = b""

    def take(self, chunk: bytes) -> list[Frame]:
        *whole, self._rest = (self._rest + chunk).split(b"\n\n")
        return [_frame_of(text.decode(errors="replace")) for text in whole]


def _frame_of(text: str) -> Frame:
    id: str | None = None
    event = "message"
    data: list[str] = []
    for line in text.split("\n"):
        field, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if field == "id":
            id = value
        elif field == "event":
            event = value
        elif field == "data":
            data.append(value)
    return Frame(id, event, "\n".join(data))


def event_of(frame: Frame) -> ServiceEvent:
    body = json.loads(frame.data)
    return ServiceEvent(
        id=frame.id,
        type=frame.event,
        seq=body.get("seq", 0),
        at=body.get("at"),
        database=body.get("database"),
        domain=body.get("domain"),
        subject=body.get("subject"),
        data=body.get("data") or {},
    )


def may_come_back(refusal: LociError) -> float:
    """How many ms to wait at least before the next try; raises what no further try can change."""
    status = refusal.status
    passes = refusal.code != "INVALID_REQUEST" if status == 0 else status in (408, 421, 429, 500, 502, 503, 504)
    if not passes:
        raise refusal
    return refusal.retry_after_ms or 0.0


def span_ms(failures: int) -> float:
    return float(min(_WAIT_MS_MAX, _WAIT_MS_MIN * 2 ** min(failures, 10)))
