# Generated from clients/python/src/locihq/_async/entries.py by scripts/documents.ts; run that, do not edit this.

"""The key-value store of a user."""

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
        Entry,
        EntryArguments,
        EntryBatchOperationsItem,
        EntryBatchOperationsItem2,
        EntryBatchResult,
        EntryDeleted,
        EntryFilter,
        EntryListEntriesItem,
    )


class Entries:
    def __init__(self, daemon: Callable[[], Daemon]) -> None:
        self._daemon = daemon

    def get(self, key: str, *, options: Options = NO_OPTIONS) -> Entry | None:
        """None where there is none of that key."""
        daemon = self._daemon()
        try:
            return (daemon.call("GET /v1/kv/entries/{key}", path={"key": key}, **options)).body
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
        **given: Unpack[EntryArguments],
    ) -> Entry:
        """With `if_version` or `if_new` done where that holds, else refused with VERSION_CONFLICT."""
        daemon = self._daemon()
        body: Any = {"value": value, **camel(given)}
        headers = precondition(if_version, if_new)
        answer = daemon.call("PUT /v1/kv/entries/{key}", path={"key": key}, body=body, headers=headers, **options)
        return answer.body

    def delete(self, key: str, *, if_version: int | None = None, options: Options = NO_OPTIONS) -> EntryDeleted:
        daemon = self._daemon()
        answer = daemon.call(
            "DELETE /v1/kv/entries/{key}", path={"key": key}, headers=precondition(if_version), **options
        )
        return answer.body

    def list(self, *, options: Options = NO_OPTIONS, **filter: Unpack[EntryFilter]) -> Paged[EntryListEntriesItem]:
        """In order of code points, or backwards; with `keys_only` without values."""

        def read(cursor: str | None) -> Page[EntryListEntriesItem]:
            daemon = self._daemon()
            query: Any = {**camel(filter), "cursor": cursor}
            body = (daemon.call("GET /v1/kv/entries", query=query, **options)).body
            return Page(body["entries"], body["nextCursor"])

        return Paged(read)

    def batch(
        self,
        operations: Sequence[EntryBatchOperationsItem | EntryBatchOperationsItem2],
        *,
        options: KeyedOptions = NO_KEY,
    ) -> EntryBatchResult:
        """Several puts and deletes, all or nothing."""
        daemon = self._daemon()
        body: Any = {"operations": operations}
        return (daemon.call("POST /v1/kv/entries/batch", body=body, **options)).body
