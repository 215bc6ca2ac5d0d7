"""What differs between the two clients; the twin of this file is _sync/runtime.py."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

Result = TypeVar("Result")

Lock = asyncio.Lock


class OutOfTime(Exception):
    pass


async def within(ms: float, work: Awaitable[Result]) -> Result:
    try:
        return await asyncio.wait_for(work, ms / 1_000)
    except asyncio.TimeoutError as cause:
        raise OutOfTime from cause


async def sleep(ms: float) -> None:
    await asyncio.sleep(ms / 1_000)
