"""A service that is being made; the twin of this file is _sync/creating.py."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..progress import Progress
    from .services import AsyncService


class AsyncCreating:
    """The service as soon as it was accepted, or with `.ready()` when it serves."""

    def __init__(self, made: Coroutine[Any, Any, AsyncService]) -> None:
        self._made = made

    def __await__(self) -> Generator[Any, Any, AsyncService]:
        return self._made.__await__()

    async def ready(
        self, *, timeout_ms: float = 120_000, on_progress: Callable[[Progress], None] | None = None
    ) -> AsyncService:
        return await (await self._made).ready(timeout_ms=timeout_ms, on_progress=on_progress)


def creating(made: Coroutine[Any, Any, AsyncService]) -> AsyncCreating:
    return AsyncCreating(made)
