from __future__ import annotations

import asyncio
import tempfile
import unittest
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

from agents import Agent, Model, ModelResponse, Runner, Session, SessionSettings, SQLiteSession, Usage
from agents.items import TResponseInputItem, TResponseStreamEvent
from agents.tracing import set_tracing_disabled
from locihq import AsyncLoci, LociError
from locihq_openai_agents import LociSession
from openai.types.responses import ResponseOutputMessage, ResponseOutputText


def said(text: str) -> TResponseInputItem:
    return {"role": "user", "content": text}


class Fake(Model):
    def __init__(self) -> None:
        self.given: list[list[TResponseInputItem]] = []
        self.systems: list[str | None] = []

    async def get_response(
        self, system_instructions: str | None, input: str | list[TResponseInputItem], *given: Any, **more: Any
    ) -> ModelResponse:
        self.given.append(cast("list[TResponseInputItem]", input))
        self.systems.append(system_instructions)
        text = ResponseOutputText(text="Understood.", type="output_text", annotations=[])
        message = ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, *given: Any, **more: Any) -> AsyncIterator[TResponseStreamEvent]:
        raise NotImplementedError


class SessionTest(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        set_tracing_disabled(True)
        self.loci = AsyncLoci()
        self.addAsyncCleanup(self.loci.close)
        self.service = self.loci.service()
        self.user = self.service.user(f"u-{uuid.uuid4()}")
        self.session = LociSession("chat/1", self.user)

    # Mutants: the first items instead of the last; the newest first; pop that leaves its item.
    async def test_table(self) -> None:
        """each call answers as the SDK's own session does"""
        with tempfile.TemporaryDirectory() as folder:
            own = SQLiteSession("chat/1", Path(folder) / "own.db")
            items = [said(f"item {n}") for n in range(7)]
            steps: list[tuple[str, tuple[Any, ...]]] = [
                ("get_items", ()),
                ("pop_item", ()),
                ("add_items", ([],)),
                ("add_items", (items[:5],)),
                ("get_items", ()),
                ("get_items", (2,)),
                ("get_items", (50,)),
                ("get_items", (0,)),
                ("pop_item", ()),
                ("add_items", (items[5:],)),
                ("get_items", (3,)),
                ("pop_item", ()),
                ("pop_item", ()),
                ("get_items", ()),
                ("clear_session", ()),
                ("get_items", ()),
                ("add_items", (items[:1],)),
                ("get_items", ()),
            ]
            for at, (name, args) in enumerate(steps):
                with self.subTest(f"{at} {name} {args}"):
                    self.assertEqual(await getattr(self.session, name)(*args), await getattr(own, name)(*args))
            own.close()
        self.assertIsInstance(self.session, Session)

    # Mutants: a number that may be there already.
    async def test_at_once(self) -> None:
        """two writers at once lose nothing, and what one adds together stands together"""
        twin = LociSession("chat/1", self.user)

        async def write(session: LociSession, name: str) -> None:
            for n in range(10):
                await session.add_items([said(f"{name} {n} a"), said(f"{name} {n} b")])

        await asyncio.gather(write(self.session, "x"), write(twin, "y"))
        told = [str(item.get("content")) for item in await self.session.get_items()]
        self.assertEqual(sorted(told), sorted(f"{w} {n} {p}" for w in "xy" for n in range(10) for p in "ab"))
        self.assertTrue(all(told[at][:-1] == told[at + 1][:-1] for at in range(0, 40, 2)), told)
        own = [text for text in told if text.startswith("x")]
        self.assertEqual(own, [f"x {n} {part}" for n in range(10) for part in "ab"])

    # Mutants: pop without a version.
    async def test_pop_at_once(self) -> None:
        """what several take away at once each gets once"""
        await self.session.add_items([said(str(n)) for n in range(12)])
        taken = await asyncio.gather(*(LociSession("chat/1", self.user).pop_item() for _ in range(14)))
        self.assertEqual(sorted(int(str(item.get("content"))) for item in taken if item), list(range(12)))

    # Mutants: a second hundred that is left out.
    async def test_long(self) -> None:
        """a conversation of 1,100 items comes back whole, and its end without the rest"""
        await self.session.add_items([said(str(n)) for n in range(1_100)])
        self.assertEqual(
            [item.get("content") for item in await self.session.get_items()], [str(n) for n in range(1_100)]
        )
        settled = LociSession("chat/1", self.user, session_settings=SessionSettings(limit=2))
        self.assertEqual([item.get("content") for item in await settled.get_items()], ["1098", "1099"])
        await self.session.clear_session()
        self.assertEqual(await self.session.get_items(), [])

    # Mutants: a session whose name begins as another's.
    async def test_users(self) -> None:
        """two users never see each other, nor do two sessions of one user"""
        await self.session.add_items([said("The safe opens with 4711")])
        for other in (
            LociSession("chat/1", self.service.user(f"u-{uuid.uuid4()}")),
            LociSession("chat", self.user),
            LociSession("chat%2F1", self.user),
        ):
            self.assertEqual(await other.get_items(), [])
            await other.clear_session()
        self.assertEqual(len(await self.session.get_items()), 1)

    async def test_runner(self) -> None:
        """through Runner.run: the second run has what the first said, each once, and nothing in the system's role"""
        model = Fake()
        agent = Agent(name="helper", instructions="Be brief.", model=model)
        for text in ("I like replies in Dutch", "Which replies do I like?"):
            await Runner.run(agent, text, session=LociSession("chat/1", self.user))
        self.assertEqual([item.get("role") for item in model.given[1]], ["user", "assistant", "user"])
        self.assertEqual(len(await self.session.get_items()), 4)
        self.assertEqual(model.systems, ["Be brief.", "Be brief."])

    # Mutants: a time to live that is not sent.
    async def test_ttl(self) -> None:
        """items end by their time to live"""
        brief = LociSession("brief", self.user, ttl_ms=300)
        await brief.add_items([said("Gone soon")])

        async def gone() -> None:
            while await brief.get_items():  # noqa: ASYNC110
                await asyncio.sleep(0.05)

        await asyncio.wait_for(gone(), 30)

    async def test_limits(self) -> None:
        """an item or a name that is too large is a LociError, and nothing of its items is stored"""
        with self.assertRaises(LociError) as refused:
            await self.session.add_items([said("Short"), said("x" * 300_000)])
        self.assertIn(refused.exception.code, ("VALIDATION_ERROR", "PAYLOAD_TOO_LARGE"))
        self.assertEqual(await self.session.get_items(), [])
        with self.assertRaises(LociError):
            await LociSession("n" * 300, self.user).add_items([said("Hello")])

    async def test_dead(self) -> None:
        """without a server each call is a LociError"""
        async with AsyncLoci(url="http://127.0.0.1:9", api_key="loci_sk_none", attempts_max=1) as loci:
            session = LociSession("chat", loci.service("svc_none").user("ada"))
            for call in (session.get_items(), session.add_items([said("Hello")]), session.pop_item()):
                with self.assertRaises(LociError) as refused:
                    await call
                self.assertEqual(refused.exception.code, "NETWORK_FAILURE")
