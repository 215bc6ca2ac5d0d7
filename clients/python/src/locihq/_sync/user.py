# Generated from clients/python/src/locihq/_async/user.py by scripts/documents.ts; run that, do not edit this.

"""One user of a service, which is one of its databases: what is remembered of them, what is in mind, what helped."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from ..calls import NO_KEY, NO_OPTIONS, KeyedOptions, Options, camel
from ..error import LociError
from ..frames import ServiceEvent
from ..recall import Hits, MemoryCount
from .entries import Entries
from .following import follow
from .pages import Paged, Page
from .slots import Slots

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..daemon import (
        AdviceArguments,
        Daemon,
        CognitiveSettings,
        Cycle,
        CycleArguments,
        CycleDecision,
        CycleFilter,
        CycleRan,
        CycleStats,
        MemoryFilter,
        Observation,
        OutcomeArguments,
        OutcomeResult,
        OutcomeWriteToolsItem,
        RecallArguments,
        Record,
        RecordArguments,
        RecordDeleted,
        RecordStored,
        RecordWrite,
        ToolRankResult,
    )
    from .connection import Connection


class User:
    name: str
    slots: Slots
    kv: Entries

    def __init__(self, name: str, connect: Callable[[], Connection]) -> None:
        self.name = name
        self._connect = connect
        self.slots = Slots(self.daemon)
        self.kv = Entries(self.daemon)

    def daemon(self) -> Daemon:
        """The calls below these verbs, by `METHOD /path`, in this database."""
        return cast("Daemon", self._connect())

    def remember(
        self, content: str, *, options: KeyedOptions = NO_KEY, **given: Unpack[RecordArguments]
    ) -> RecordStored:
        """Durable and recallable when it answers."""
        daemon = self.daemon()
        # A source that is known is answered with its record.
        repeatable = "source_event_id" in given and "idempotency_key" not in options
        body: Any = {"content": content, **camel(given)}
        return (daemon.call("POST /v1/memory/records", body=body, repeatable=repeatable, **options)).body

    def remember_all(
        self, records: Sequence[str | RecordWrite], *, options: KeyedOptions = NO_KEY
    ) -> list[RecordStored]:
        """Several, all or nothing."""
        daemon = self.daemon()
        written: list[Any] = [{"content": record} if isinstance(record, str) else record for record in records]
        answer = daemon.call("POST /v1/memory/records/batch", body={"records": written}, **options)
        return answer.body["records"]

    def recall(self, query: str, *, options: Options = NO_OPTIONS, **given: Unpack[RecallArguments]) -> Hits:
        """Best first. Empty, and `abstained`, where nothing that is remembered answers the question."""
        daemon = self.daemon()
        body: Any = {"query": query, "explain": True, **camel(given)}
        # It changes nothing, so it may be sent again.
        return Hits(daemon.call("POST /v1/memory/recall", body=body, repeatable=True, **options))

    def memory(self, id: str, *, options: Options = NO_OPTIONS) -> Record | None:
        """A memory by its id, also one that was superseded; None where there is none."""
        daemon = self.daemon()
        try:
            return (daemon.call("GET /v1/memory/records/{id}", path={"id": id}, **options)).body
        except LociError as error:
            if error.code == "NOT_FOUND":
                return None
            raise

    def memories(self, *, options: Options = NO_OPTIONS, **filter: Unpack[MemoryFilter]) -> Paged[Record]:
        """Newest first, unless the filter says otherwise."""

        def read(cursor: str | None) -> Page[Record]:
            daemon = self.daemon()
            query: Any = {**camel(filter), "cursor": cursor}
            body = (daemon.call("GET /v1/memory/records", query=query, **options)).body
            return Page(body["records"], body["nextCursor"])

        return Paged(read)

    def count_memories(self, *, options: Options = NO_OPTIONS, **filter: Unpack[MemoryFilter]) -> MemoryCount:
        """How many there are: with a filter, of those that hold; `totalIsAtLeast` where more were not counted."""
        daemon = self.daemon()
        query: Any = {**camel(filter), "limit": 1}
        body = (daemon.call("GET /v1/memory/records", query=query, **options)).body
        return {"total": body["total"], "totalIsAtLeast": body["totalIsAtLeast"]}

    def forget(self, memory: str | Mapping[str, Any], *, options: Options = NO_OPTIONS) -> RecordDeleted:
        """Erases it wherever it stands; the answer says where it was found, and is the receipt."""
        daemon = self.daemon()
        id = memory if isinstance(memory, str) else str(memory["id"])
        return (daemon.call("DELETE /v1/memory/records/{id}", path={"id": id}, **options)).body

    def cycle(
        self,
        *,
        observations: Sequence[str | Observation] | None = None,
        options: KeyedOptions = NO_KEY,
        **given: Unpack[CycleArguments],
    ) -> CycleRan:
        """Takes in what was observed, decides what stays in mind, and says why."""
        daemon = self.daemon()
        body: Any = camel(given)
        if observations is not None:
            body["observations"] = [{"content": one} if isinstance(one, str) else one for one in observations]
        return (daemon.call("POST /v1/cognitive/cycles", body=body, **options)).body

    def cycles(self, *, options: Options = NO_OPTIONS, **filter: Unpack[CycleFilter]) -> Paged[Cycle]:
        """Newest first."""

        def read(cursor: str | None) -> Page[Cycle]:
            daemon = self.daemon()
            query: Any = {**camel(filter), "cursor": cursor}
            body = (daemon.call("GET /v1/cognitive/cycles", query=query, **options)).body
            return Page(body["cycles"], body["nextCursor"])

        return Paged(read)

    def cycle_of(self, id: str, *, options: Options = NO_OPTIONS) -> Cycle | None:
        daemon = self.daemon()
        try:
            return (daemon.call("GET /v1/cognitive/cycles/{id}", path={"id": id}, **options)).body
        except LociError as error:
            if error.code == "NOT_FOUND":
                return None
            raise

    def decisions(self, cycle_id: str, *, options: Options = NO_OPTIONS) -> Paged[CycleDecision]:
        """What a cycle decided, with the reasons."""

        def read(cursor: str | None) -> Page[CycleDecision]:
            daemon = self.daemon()
            query: Any = {"cursor": cursor}
            answer = daemon.call(
                "GET /v1/cognitive/cycles/{id}/decisions", path={"id": cycle_id}, query=query, **options
            )
            return Page(answer.body["decisions"], answer.body["nextCursor"])

        return Paged(read)

    def cycle_stats(self, *, options: Options = NO_OPTIONS) -> CycleStats:
        daemon = self.daemon()
        return (daemon.call("GET /v1/cognitive/stats", **options)).body

    def cycle_settings(self, *, options: Options = NO_OPTIONS) -> CognitiveSettings:
        """The configuration of cycles in force, and what each of its keys may be."""
        daemon = self.daemon()
        return (daemon.call("GET /v1/cognitive/settings", **options)).body

    def rank_tools(
        self,
        *,
        source_event_id: str | None = None,
        options: Options = NO_OPTIONS,
        **given: Unpack[AdviceArguments],
    ) -> ToolRankResult:
        """Which tools to try for a task, by what was told of them, and which the policy denies."""
        daemon = self.daemon()
        body: Any = {**camel(given), "sourceEventId": source_event_id or _new_event_id()}
        return (daemon.call("POST /v1/advice/rank", body=body, repeatable=True, **options)).body

    def report_outcome(
        self,
        *,
        tools: Sequence[OutcomeWriteToolsItem] | None = None,
        tool: str | None = None,
        outcome: str | None = None,
        latency_ms: float | None = None,
        cost_usd: float | None = None,
        error_code: str | None = None,
        options: Options = NO_OPTIONS,
        **given: Unpack[OutcomeArguments],
    ) -> OutcomeResult:
        """So that ranking learns: how tools did in a task, several in `tools`, or one by its name in `tool`. The same
        `source_event_id` is counted once; it is made up where it is not given.
        """
        daemon = self.daemon()
        one = {
            "toolId": tool,
            "outcome": outcome,
            "latencyMs": latency_ms,
            "costUsd": cost_usd,
            "errorCode": error_code,
        }
        told = tools if tools is not None else [{name: value for name, value in one.items() if value is not None}]
        body: Any = {"sourceEventId": _new_event_id(), **camel(given), "tools": told}
        # The source makes it one, however often it arrives.
        answer = daemon.call("POST /v1/advice/outcomes", body=body, repeatable=True, **options)
        return answer.body[0] if isinstance(answer.body, list) else answer.body

    def events(
        self,
        *,
        after: str | None = None,
        on_open: Callable[[], None] | None = None,
        on_break: Callable[[LociError | None], None] | None = None,
        on_position: Callable[[str], None] | None = None,
    ) -> Iterator[ServiceEvent]:
        """What happens in this database, from now on or after an event. Ends with `break`. `on_open` is called when the
        stream stands, at first and after each break; `on_break` when it does not, with what refused it, None where the
        server ended it; `on_position` with each position to go on from, also where nothing happens.
        """
        return follow(
            self._connect,
            "/v1/events",
            database=self.name,
            after=after,
            on_open=on_open,
            on_break=on_break,
            on_position=on_position,
        )


def _new_event_id() -> str:
    return f"sdk:{uuid.uuid4()}"
