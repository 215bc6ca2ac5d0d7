"""The memories of one user in loci, as a MemoryStore of Strands Agents."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from locihq import AsyncUser, Hits, LociError, User
from strands.memory import AddMessagesContext, ExtractionConfig, MemoryEntry, MemoryStore, SearchOptions

if TYPE_CHECKING:
    from locihq.daemon import RecordStored, RecordWrite
    from strands.types.content import Message

__all__ = ["LociMemoryStore"]

_log = logging.getLogger(__name__)
_Result = TypeVar("_Result")

_BATCH_MAX = 100
_RESULTS_MAX = 200
#: A question has at most 8,192 UTF-16 units, and a character at most two.
_QUERY_MAX = 4_096
#: What is wrong with one message, however often it is sent: it must not keep those behind it from being stored.
_NEVER_STORED = ("PAYLOAD_TOO_LARGE", "MEMORY_FORGOTTEN")


class LociMemoryStore(MemoryStore):
    """Searches, and stores what the model adds and, with `extraction`, what the `roles` said, word for word.

    `user` is one database of the service: a store sees no other. An agent that is called without await gives each call
    an event loop of its own, which an AsyncUser does not survive: give it a User. With `tags` everything is stored
    under all of them, and nothing else is found. The assistant's words are not stored unless `roles` has them: they
    repeat what was recalled.
    """

    def __init__(
        self,
        user: User | AsyncUser,
        *,
        name: str = "loci",
        description: str | None = "What is remembered of this user.",
        max_search_results: int | None = None,
        writable: bool = True,
        extraction: ExtractionConfig | bool | None = None,
        roles: Sequence[str] = ("user",),
        tags: Sequence[str] = (),
        context_id: str | None = None,
    ) -> None:
        self.name = name
        self.description = description
        self.max_search_results = max_search_results
        self.writable = writable
        self.extraction = extraction
        self._user = user
        self._roles = tuple(roles)
        # What is not told must not stand in a request.
        self._tagged: Any = {"tags": list(tags)} if tags else {}
        self._context: Any = {} if context_id is None else {"contextId": context_id}
        # Numbers of messages begin at 0 with every agent.
        self._run = uuid.uuid4().hex

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        limit = (options or {}).get("max_search_results") or self.max_search_results or 10
        hits = await self._recall(query, min(limit, _RESULTS_MAX))
        return [
            MemoryEntry(
                content=hit["content"],
                metadata={"id": hit["id"], "relevance": hit["relevance"], "storedAt": hit["createdAt"]},
            )
            for hit in hits
        ]

    async def add(self, content: str, metadata: dict[str, Any] | None = None) -> RecordStored | Any:
        """The memory; the one that is there where it says just this, so that what was recalled is not stored again."""
        for hit in await self._recall(content, 5, abstain=False) if content else ():
            if _same(hit["content"], content):
                return hit
        given: Any = {**self._tagged, "metadata": metadata} if metadata else self._tagged
        return await self._ask(lambda: self._user.remember(content, kind="fact", **given))

    async def add_messages(self, messages: list[Message], context: AddMessagesContext | None = None) -> None:
        """Stores the text of each message; that of a message that was stored already is not stored again."""
        numbers = context.sequence_numbers if context and context.sequence_numbers else [None] * len(messages)
        records: list[RecordWrite] = []
        for message, number in zip(messages, numbers, strict=True):
            text = "\n".join(block["text"] for block in message["content"] if "text" in block).strip()
            if message["role"] in self._roles and text:
                # With the text, because two agents with one store count from 0 both.
                source = f"strands:{self._run}:{number}:{_digest(text)}"
                told = {"kind": "message", "actor": message["role"], "sourceEventId": source}
                records.append(cast("RecordWrite", {"content": text, **told, **self._tagged, **self._context}))
        for start in range(0, len(records), _BATCH_MAX):
            await self._store(records[start : start + _BATCH_MAX])

    async def _store(self, records: list[RecordWrite]) -> None:
        """All or nothing is how a batch is written, so the one that is refused is looked for by halves."""
        try:
            await self._ask(lambda: self._user.remember_all(records))
        except LociError as error:
            if error.code not in _NEVER_STORED:
                raise
            if len(records) == 1:
                _log.warning("A message of %d characters is not stored: %s", len(records[0]["content"]), error)
                return
            half = len(records) // 2
            await self._store(records[:half])
            await self._store(records[half:])

    async def _recall(self, query: str, limit: int, abstain: bool = True) -> Hits:
        query = query[:_QUERY_MAX]
        return await self._ask(lambda: self._user.recall(query, limit=limit, abstain=abstain, **self._tagged))

    async def _ask(self, ask: Callable[[], _Result | Awaitable[_Result]]) -> _Result:
        answer = ask() if isinstance(self._user, AsyncUser) else await asyncio.to_thread(ask)
        return cast("_Result", await answer if isinstance(answer, Awaitable) else answer)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _same(one: str, other: str) -> bool:
    return " ".join(one.split()).casefold() == " ".join(other.split()).casefold()
