"""A session: an item of the conversation is an entry of its user, numbered in the order of the conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from locihq import AsyncUser, LociError

if TYPE_CHECKING:
    from agents import SessionSettings, TResponseInputItem

_BATCH = 100
_PAGE = 1_000
_DIGITS = 12
#: Each lost race is one that another writer won.
_RACES_MAX = 1_000


class LociSession:
    """The conversation `session_id` of a user: `LociSession("chat-1", service.user("ada"))`. Two users may have
    sessions of one name. `ttl_ms`: how long an item is kept.
    """

    session_settings: SessionSettings | None

    def __init__(
        self,
        session_id: str,
        user: AsyncUser,
        *,
        session_settings: SessionSettings | None = None,
        ttl_ms: int | None = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings = session_settings
        self._user = user
        self._more = {} if ttl_ms is None else {"ttlMs": ttl_ms}
        name = session_id.replace("%", "%25").replace("/", "%2F")
        self._prefix = f"session/{name}/"

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The latest `limit` (of the settings, else all), the oldest of them first."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        if limit is not None and limit <= 0:
            return []
        latest = self._user.kv.list(prefix=self._prefix, order="desc", limit=min(limit or _PAGE, _PAGE))
        entries = await latest.all(limit)
        return [cast("TResponseInputItem", entry.get("value")) for entry in reversed(entries)]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """A hundred at a time, all or nothing, behind what is there: two that add at once lose nothing."""
        for at in range(0, len(items), _BATCH):
            await self._append(items[at : at + _BATCH])

    async def pop_item(self) -> TResponseInputItem | None:
        """The most recent item, which nobody else gets."""
        for _ in range(_RACES_MAX):
            page = await self._user.kv.list(prefix=self._prefix, order="desc", limit=1).page()
            if not page.items:
                return None
            last = page.items[0]
            try:
                await self._user.kv.delete(last["key"], if_version=last["version"])
            except LociError as error:
                if error.code not in ("VERSION_CONFLICT", "NOT_FOUND"):
                    raise
                continue
            return cast("TResponseInputItem", last.get("value"))
        raise _crowded(self.session_id)

    async def clear_session(self) -> None:
        """What is added meanwhile may stay."""
        entries = await self._user.kv.list(prefix=self._prefix, keys_only="true", limit=_PAGE).all()
        for at in range(0, len(entries), _BATCH):
            await self._user.kv.batch([{"op": "delete", "key": entry["key"]} for entry in entries[at : at + _BATCH]])

    async def _append(self, items: list[TResponseInputItem]) -> None:
        for _ in range(_RACES_MAX):
            first = await self._last() + 1
            written: list[Any] = [
                # Version 0: there is none of this number yet.
                {"op": "put", "key": f"{self._prefix}{n:0{_DIGITS}}", "value": item, "ifVersion": 0, **self._more}
                for n, item in enumerate(items, first)
            ]
            try:
                await self._user.kv.batch(written)
            except LociError as error:
                if error.code != "VERSION_CONFLICT":
                    raise
                continue
            return
        raise _crowded(self.session_id)

    async def _last(self) -> int:
        page = await self._user.kv.list(prefix=self._prefix, order="desc", limit=1, keys_only="true").page()
        return int(page.items[0]["key"].removeprefix(self._prefix)) if page.items else 0


def _crowded(session_id: str) -> LociError:
    hint = "Give each writer a session of its own."
    return LociError("VERSION_CONFLICT", f"Too many write to the session {session_id}.", retryable=True, hint=hint)
