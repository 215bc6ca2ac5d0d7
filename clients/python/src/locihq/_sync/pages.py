# Generated from clients/python/src/locihq/_async/pages.py by scripts/documents.ts; run that, do not edit this.

"""Lists that come in pages: over all of them, or one page at a time."""

from __future__ import annotations

from collections.abc import Iterator, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True)
class Page(Generic[Item]):
    items: list[Item]
    #: What to hand to page() for the next one; None after the last.
    next: str | None


class Paged(Generic[Item]):
    def __init__(self, read: Callable[[str | None], Page[Item]]) -> None:
        self._read = read

    def __iter__(self) -> Iterator[Item]:
        next: str | None = None
        while True:
            page = self._read(next)
            for item in page.items:
                yield item
            next = page.next
            if next is None:
                return

    def page(self, next: str | None = None) -> Page[Item]:
        """One page: the first, or the one after `next`."""
        return self._read(next)

    def all(self, max: int | None = None) -> list[Item]:
        """All of it in one list, at most `max` items."""
        items: list[Item] = []
        next: str | None = None
        while max is None or len(items) < max:
            page = self._read(next)
            items += page.items
            next = page.next
            if next is None:
                break
        return items if max is None else items[:max]
