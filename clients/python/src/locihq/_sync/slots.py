# Generated from clients/python/src/locihq/_async/slots.py by scripts/documents.ts; run that, do not edit this.

"""The working memory of a user: the few things that are in mind, and what left and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..calls import NO_KEY, NO_OPTIONS, KeyedOptions, Options, camel, precondition
from ..error import LociError
from .pages import Paged, Page

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..daemon import (
        Daemon,
        EvictionListEvictionsItem,
        PostV1WorkingMemorySlotsClearQuery,
        Slot,
        SlotArguments,
        SlotBatchOperationsItem,
        SlotBatchOperationsItem2,
        SlotBatchResult,
        SlotChanges,
        SlotDeleted,
        SlotList,
        SlotsCleared,
        SlotSettings,
        SlotsRestored,
        SlotStatistics,
        SlotWritten,
    )


class Slots:
    def __init__(self, daemon: Callable[[], Daemon]) -> None:
        self._daemon = daemon

    def list(self, *, options: Options = NO_OPTIONS) -> SlotList:
        """What is in mind, with the capacity."""
        daemon = self._daemon()
        return (daemon.call("GET /v1/working-memory/slots", **options)).body

    def get(self, key: str, *, options: Options = NO_OPTIONS) -> Slot | None:
        """None where there is none of that key."""
        daemon = self._daemon()
        try:
            return (daemon.call("GET /v1/working-memory/slots/{key}", path={"key": key}, **options)).body
        except LociError as error:
            if error.code == "NOT_FOUND":
                return None
            raise

    def put(
        self,
        key: str,
        value: Any,
        *,
        if_version: int | None = None,
        if_new: bool = False,
        options: Options = NO_OPTIONS,
        **given: Unpack[SlotArguments],
    ) -> SlotWritten:
        """Puts something in mind. Over capacity another one leaves: `evicted` says which, and why. With `if_version`
        or `if_new` done where that holds, else refused with VERSION_CONFLICT.
        """
        daemon = self._daemon()
        body: Any = {"value": value, **camel(given)}
        headers = precondition(if_version, if_new)
        answer = daemon.call(
            "PUT /v1/working-memory/slots/{key}", path={"key": key}, body=body, headers=headers, **options
        )
        return answer.body

    def patch(
        self,
        key: str,
        *,
        if_version: int | None = None,
        options: Options = NO_OPTIONS,
        **changes: Unpack[SlotChanges],
    ) -> SlotWritten:
        """Changes some of its fields; None takes a field back to its default."""
        daemon = self._daemon()
        body: Any = camel(changes)
        headers = precondition(if_version)
        answer = daemon.call(
            "PATCH /v1/working-memory/slots/{key}", path={"key": key}, body=body, headers=headers, **options
        )
        return answer.body

    def delete(self, key: str, *, if_version: int | None = None, options: Options = NO_OPTIONS) -> SlotDeleted:
        daemon = self._daemon()
        headers = precondition(if_version)
        answer = daemon.call(
            "DELETE /v1/working-memory/slots/{key}", path={"key": key}, headers=headers, **options
        )
        return answer.body

    def batch(
        self,
        operations: Sequence[SlotBatchOperationsItem | SlotBatchOperationsItem2],
        *,
        options: KeyedOptions = NO_KEY,
    ) -> SlotBatchResult:
        """Several puts and deletes, all or nothing."""
        daemon = self._daemon()
        body: Any = {"operations": operations}
        return (daemon.call("POST /v1/working-memory/slots/batch", body=body, **options)).body

    def clear(
        self, *, dry_run: bool = False, include_pinned: bool = False, options: KeyedOptions = NO_KEY
    ) -> SlotsCleared:
        """Empties the mind but for what is pinned. `undo.token` brings it back within 24 hours."""
        daemon = self._daemon()
        query: PostV1WorkingMemorySlotsClearQuery = {}
        if dry_run:
            query["dryRun"] = "true"
        if include_pinned:
            query["includePinned"] = "true"
        return (daemon.call("POST /v1/working-memory/slots/clear", query=query, **options)).body

    def restore(
        self,
        *,
        undo_token: str | None = None,
        key: str | None = None,
        version: int | None = None,
        options: KeyedOptions = NO_KEY,
    ) -> SlotsRestored:
        """Takes a clear back by its token, or brings a former version of a slot back by `key` and `version`."""
        daemon = self._daemon()
        given = {"undo_token": undo_token, "key": key, "version": version}
        body: Any = camel({name: value for name, value in given.items() if value is not None})
        return (daemon.call("POST /v1/working-memory/slots/restore", body=body, **options)).body

    def stats(self, *, options: Options = NO_OPTIONS) -> SlotStatistics:
        daemon = self._daemon()
        return (daemon.call("GET /v1/working-memory/stats", **options)).body

    def settings(self, *, options: Options = NO_OPTIONS) -> SlotSettings:
        """The configuration in force, and what each of its keys may be."""
        daemon = self._daemon()
        return (daemon.call("GET /v1/working-memory/settings", **options)).body

    def history(self, key: str, *, options: Options = NO_OPTIONS) -> Paged[Slot]:
        """Every version of a slot, newest first, also of one that has left."""

        def read(cursor: str | None) -> Page[Slot]:
            daemon = self._daemon()
            query: Any = {"cursor": cursor}
            answer = daemon.call(
                "GET /v1/working-memory/slots/{key}/history", path={"key": key}, query=query, **options
            )
            return Page(answer.body["versions"], answer.body["nextCursor"])

        return Paged(read)

    def evictions(self, *, options: Options = NO_OPTIONS) -> Paged[EvictionListEvictionsItem]:
        """What left, newest first, and why."""

        def read(cursor: str | None) -> Page[EvictionListEvictionsItem]:
            daemon = self._daemon()
            query: Any = {"cursor": cursor}
            body = (daemon.call("GET /v1/working-memory/evictions", query=query, **options)).body
            return Page(body["evictions"], body["nextCursor"])

        return Paged(read)
