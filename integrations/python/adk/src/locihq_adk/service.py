"""A memory service: each event of a session that says something is a memory of its user."""

from __future__ import annotations

import hashlib
import html
import logging
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from google.adk.memory import BaseMemoryService
from google.adk.memory.base_memory_service import SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.genai import types
from locihq import AsyncService, AsyncUser, LociError, database_of
from typing_extensions import override

if TYPE_CHECKING:
    from google.adk.events.event import Event
    from google.adk.sessions.session import Session

KIND = "message"
_BATCH = 100
_SOURCE_CHARS_MAX = 256
_log = logging.getLogger("locihq_adk")


class LociMemoryService(BaseMemoryService):
    """Each user is a database of the service, whatever the app; a search finds what the same app stored.

    An answer has `limit` memories at most, and none below `min_relevance` (0.5 where it is not given).
    """

    def __init__(self, service: AsyncService, *, limit: int = 10, min_relevance: float | None = None) -> None:
        self._service = service
        self._given: Any = {"limit": limit} | ({} if min_relevance is None else {"min_relevance": min_relevance})

    @override
    async def add_session_to_memory(self, session: Session) -> None:
        """Added again, it stores what is new in it: an event is known by its id. What was deleted stays deleted."""
        await self._add(session.user_id, _records_of(session.events, session.app_name, session.id, {}))

    @override
    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        await self._add(user_id, _records_of(events, app_name, session_id, custom_metadata or {}))

    @override
    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """`custom_metadata` becomes metadata; with an id a memory is stored once."""
        records = []
        for memory in memories:
            metadata = {**memory.custom_metadata, **(custom_metadata or {}), "app": app_name}
            record = {"content": _text_of(memory.content), "metadata": metadata, "actor": memory.author}
            record |= {"sourceEventId": _source_of(app_name, "memory", memory.id) if memory.id else None}
            records.append({**record, "occurredAt": memory.timestamp})
        await self._add(user_id, iter(records))

    @override
    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        """Nothing where no server answers: an agent goes on without its memory, and the log says so. Texts are escaped,
        for tools of ADK put them between tags of a prompt.
        """
        try:
            hits = await self._user(user_id).recall(query, metadata={"app": app_name}, **self._given)
        except LociError as error:
            if not error.retryable:
                raise
            _log.warning("no memory for this request: %s", error)
            return SearchMemoryResponse()
        return SearchMemoryResponse(memories=[_entry_of(hit) for hit in hits])

    @override
    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Erases it; no later session brings it back. One that is not there is erased already."""
        if not memory_id:
            raise ValueError("The id of a memory is missing; to forget a user: service.forget_user(database_of(id)).")
        try:
            await self._user(user_id).forget(memory_id)
        except LociError as error:
            if error.code != "NOT_FOUND":
                raise

    def _user(self, user_id: str) -> AsyncUser:
        return self._service.user(database_of(user_id))

    async def _add(self, user_id: str, records: Iterator[dict[str, Any]]) -> None:
        told: list[Any] = []
        for record in records:
            if record["content"].strip():
                told.append({"kind": KIND} | {name: value for name, value in record.items() if value is not None})
        for at in range(0, len(told), _BATCH):
            await self._remember(self._user(user_id), told[at : at + _BATCH])

    async def _remember(self, user: AsyncUser, records: list[Any]) -> None:
        """What was deleted is not learned again: it is left out, and the others are stored."""
        while records:
            try:
                await user.remember_all(records)
            except LociError as error:
                if error.code != "MEMORY_FORGOTTEN":
                    raise
                del records[error.details["index"]]
            else:
                return


def _records_of(
    events: Sequence[Event], app_name: str, session_id: str | None, metadata: Mapping[str, object]
) -> Iterator[dict[str, Any]]:
    for event in events:
        yield {
            "content": _text_of(event.content),
            "actor": event.author,
            "contextId": session_id,
            "occurredAt": datetime.fromtimestamp(event.timestamp, timezone.utc).isoformat(timespec="milliseconds"),
            "sourceEventId": _source_of(app_name, session_id or "", event.id),
            "metadata": {**metadata, "app": app_name},
        }


def _text_of(content: types.Content | None) -> str:
    """What somebody said: neither thoughts nor what a tool answered, such as what was recalled."""
    parts = content.parts if content is not None and content.parts else []
    return "\n".join(part.text for part in parts if part.text and not part.thought)


def _source_of(*names: str) -> str:
    source = ":".join(("adk", *(name.replace("%", "%25").replace(":", "%3A") for name in names)))
    digest = hashlib.sha256(source.encode()).hexdigest()
    return source if len(source) <= _SOURCE_CHARS_MAX else f"adk:sha256-{digest}"


def _entry_of(hit: Mapping[str, Any]) -> MemoryEntry:
    text = html.escape(hit["content"], quote=False)
    told = {"relevance": hit["relevance"], "session_id": hit["contextId"]}
    content = types.Content(role="user", parts=[types.Part(text=text)])
    timestamp = hit["occurredAt"] or hit["createdAt"]
    return MemoryEntry(id=hit["id"], content=content, author=hit["actor"], timestamp=timestamp, custom_metadata=told)
