# Generated from clients/python/src/locihq/_async/following.py by scripts/documents.ts; run that, do not edit this.

"""Server-sent events as an iterator. A connection that ends is opened again after the last event that was seen, so
nothing is missed while the server keeps it (24 hours); where it does not, the first event is `truncated`.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Callable
from typing import TYPE_CHECKING

from ..error import LociError
from ..frames import SILENCE_S, Frames, ServiceEvent, event_of, may_come_back, span_ms
from .runtime import sleep

if TYPE_CHECKING:
    from .connection import Connection


def follow(
    connect: Callable[[], Connection],
    path: str,
    *,
    database: str | None = None,
    after: str | None = None,
    on_open: Callable[[], None] | None = None,
    on_break: Callable[[LociError | None], None] | None = None,
    on_position: Callable[[str], None] | None = None,
) -> Iterator[ServiceEvent]:
    last = after
    failures = 0
    while True:
        retry_after_ms = 0.0
        broken: LociError | None = None
        try:
            connection = connect()
            headers = {} if last is None else {"last-event-id": last}
            with connection.open(path, headers=headers, silence_s=SILENCE_S) as chunks:
                if on_open is not None:
                    on_open()
                frames = Frames()
                for chunk in chunks:
                    for frame in frames.take(chunk):
                        if frame.id is not None:
                            last = frame.id
                            if on_position is not None:
                                on_position(last)
                        failures = 0
                        if frame.data == "":
                            continue
                        event = event_of(frame)
                        if database is None or event.database in (None, database):
                            yield event
        except LociError as error:
            broken = error
            retry_after_ms = may_come_back(error)
            failures += 1
        if on_break is not None:
            on_break(broken)
        sleep(retry_after_ms + span_ms(failures) * (0.5 + random.random() / 2))
