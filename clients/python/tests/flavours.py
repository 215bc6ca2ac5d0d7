"""The client with await and the one without, for tests that hold for both."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from locihq import AsyncLoci, Loci, LociError

SERVICE = "svc_" + "0" * 26
FLAVOURS = ("sync", "async")


async def take(value: Any) -> Any:
    """What a verb answers, whichever client it belongs to."""
    return await value if inspect.isawaitable(value) else value


@asynccontextmanager
async def loci_of(flavour: str, **given: Any) -> AsyncIterator[Any]:
    if flavour == "sync":
        with Loci(**given) as loci:
            yield loci
    else:
        async with AsyncLoci(**given) as loci:
            yield loci


def in_both(test: Callable[[Any, str], Awaitable[None]]) -> Callable[[Any], None]:
    """A test of unittest that is run with each client."""

    def run(case: Any) -> None:
        for flavour in FLAVOURS:
            with case.subTest(flavour):
                asyncio.run(_done(test(case, flavour)))

    run.__doc__ = test.__doc__
    return run


async def _done(work: Awaitable[None]) -> None:
    await work


async def refused(value: Any) -> LociError:
    """The error that the verb ends with. A verb without await has ended already when it is called: give it as a
    function.
    """
    try:
        answer = await take(value() if callable(value) else value)
    except LociError as error:
        return error
    raise AssertionError(f"it was answered: {answer!r}")
