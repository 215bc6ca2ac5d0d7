"""The messages of a session, as entries of a user in the order of their numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from agent_framework import HistoryProvider, Message
from locihq import AsyncUser, LociError

if TYPE_CHECKING:
    from locihq.daemon import EntryListEntriesItem

_BATCH_MAX = 100
_TRIES_MAX = 10


class LociHistoryProvider(HistoryProvider):
    """Loads and appends. A message with an id that stands among the last ones is not appended again; writers of one
    session at the same time append one behind the other.
    """

    DEFAULT_SOURCE_ID: ClassVar[str] = "loci_history"

    def __init__(
        self, user: AsyncUser | Callable[[str], AsyncUser], source_id: str = DEFAULT_SOURCE_ID, **options: Any
    ) -> None:
        """`options` are those of a HistoryProvider: `load_messages`, `store_inputs`, `store_outputs` …"""
        super().__init__(source_id, **options)
        self._user = user

    async def get_messages(
        self, session_id: str | None, *, state: dict[str, Any] | None = None, **kwargs: Any
    ) -> list[Message]:
        entries = self._user_of(session_id).kv.list(prefix=_prefix_of(session_id))
        return [Message.from_dict(_value_of(entry)) async for entry in entries]

    async def save_messages(
        self,
        session_id: str | None,
        messages: Sequence[Message],
        *,
        state: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        values = [message.to_dict() for message in messages]
        for start in range(0, len(values), _BATCH_MAX):
            tries = 1
            while not await self._append(
                session_id, values[start : start + _BATCH_MAX], is_last_try=tries == _TRIES_MAX
            ):
                tries += 1

    async def _append(self, session_id: str | None, values: Sequence[dict[str, Any]], *, is_last_try: bool) -> bool:
        entries, prefix = self._user_of(session_id).kv, _prefix_of(session_id)
        last = (await entries.list(prefix=prefix, order="desc", limit=_BATCH_MAX).page()).items
        known = {_value_of(entry).get("message_id") for entry in last} - {None}
        new = [value for value in values if value.get("message_id") not in known]
        first = int(last[0]["key"].removeprefix(prefix)) + 1 if last else 0
        # Version 0: nobody wrote it yet.
        puts: list[Any] = [
            {"op": "put", "key": f"{prefix}{first + at:012}", "value": value, "ifVersion": 0}
            for at, value in enumerate(new)
        ]
        try:
            await entries.batch(puts)
        except LociError as error:
            if error.code != "VERSION_CONFLICT" or is_last_try:
                raise
            return False
        return True

    def _user_of(self, session_id: str | None) -> AsyncUser:
        return self._user if isinstance(self._user, AsyncUser) else self._user(session_id or "")


def _prefix_of(session_id: str | None) -> str:
    # A session id may be long, and have the separator in it.
    return f"agent-framework/{hashlib.sha256((session_id or '').encode()).hexdigest()[:32]}/"


def _value_of(entry: EntryListEntriesItem) -> dict[str, Any]:
    return dict(entry.get("value") or {})
