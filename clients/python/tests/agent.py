"""Every kind of verb against a loci: python agent.py sync|async. Prints one object of what it saw; who runs it judges.

LOCI_URL and LOCI_API_KEY say which loci. With LOCI_STOLEN the last part asks through that address, where somebody takes
an answer away and cuts a stream of events.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from typing import Any

import httpx2
from flavours import loci_of, refused, take

from locihq import Progress, attenuate

Facts = dict[str, Any]


async def main(flavour: str) -> Facts:
    facts: Facts = {}
    async with loci_of(flavour) as loci:
        service = await made(loci, facts)
        ada, bob = service.user("ada"), service.user("bob")
        await memory(ada, bob, facts)
        await mind(ada, facts)
        await pages(ada, facts)
        await advice(ada, facts)
        await people(service, facts)
        token = await credentials(service, flavour, facts)
        if "LOCI_STOLEN" in os.environ:
            async with loci_of(flavour, url=os.environ["LOCI_STOLEN"], token=token) as robbed:
                await stolen(robbed.service().user("ada"), facts)
                await followed(robbed.service().user("ada"), ada, bob, flavour, facts)
        operation = await take(service.delete())
        facts["ending"] = [operation["kind"], (await refused(lambda: service.ready(timeout_ms=60_000))).code]
    return facts


async def made(loci: Any, facts: Facts) -> Any:
    seen: list[Progress] = []
    service = await take(loci.services.create("Support agent", plan="pro").ready(on_progress=seen.append))
    listed = await take(loci.services.list(status="active").all())
    by_slug = await take(loci.services.get(service.info["slug"]))
    unknown = await refused(lambda: loci.services.get("nobody-has-this"))
    facts["made"] = [service.info["status"], seen[-1].percent, [step["name"] for step in seen[-1].steps]]
    facts["found"] = [service.id in [one.id for one in listed], by_slug.id == service.id, unknown.code, unknown.hint]
    return service


async def memory(ada: Any, bob: Any, facts: Facts) -> None:
    given = {"tags": ["preference"], "source_event_id": "evt-1"}
    stored = await take(ada.remember("Ada prefers replies in Dutch", **given))
    again = await take(ada.remember("Ada prefers replies in Dutch", **given))
    hits = await take(ada.recall("which language does Ada prefer for replies?"))
    others = await take(bob.recall("which language does Ada prefer for replies?"))
    best = hits[0]
    facts["recalled"] = [best["id"] == stored["id"] == again["id"], best["relevance"] > 0, best["why"]]
    facts["others"] = [len(others), others.abstained, others.reason]
    await take(ada.remember_all(["Order 4411 is delayed", {"content": "Ada lives in Utrecht", "kind": "fact"}]))
    listed = await take(ada.memories().all())
    facts_of_kind = await take(ada.memories(kind="fact").all())
    receipt = await take(ada.forget(stored))
    gone = await take(ada.memory(stored["id"]))
    twice = await refused(lambda: ada.forget(stored["id"]))
    is_told = bool(receipt["receipt"]) and twice.request_id is not None
    facts["forgotten"] = [len(listed), len(facts_of_kind), receipt["deleted"], gone, twice.code, is_told]


async def mind(ada: Any, facts: Facts) -> None:
    await take(ada.slots.put("goal", "refund order 4411", pinned=True))
    slot, none = await take(ada.slots.get("goal")), await take(ada.slots.get("nothing"))
    conflict = await refused(lambda: ada.slots.put("goal", "other", if_version=99))
    await take(ada.slots.patch("goal", value="refund it today", if_version=slot["version"]))
    versions = await take(ada.slots.history("goal").all())
    facts["slots"] = [slot["value"], none, conflict.code, len(versions)]
    ran = await take(ada.cycle(focus="refund", observations=["The customer of order 4411 waits for a refund"]))
    cycles = await take(ada.cycles().all())
    decisions = await take(ada.decisions(ran["id"]).all())
    facts["cycle"] = [cycles[0]["id"] == ran["id"], len(decisions) > 0, all(one["reason"] for one in decisions)]
    cleared = await take(ada.slots.clear(include_pinned=True))
    restored = await take(ada.slots.restore(undo_token=cleared["undo"]["token"]))
    facts["restored"] = [cleared["cleared"], restored["restored"], (await take(ada.slots.get("goal"))) is not None]


async def pages(ada: Any, facts: Facts) -> None:
    puts = [{"op": "put", "key": f"n/{at:03}", "value": at} for at in range(150)]
    for start in range(0, len(puts), 50):
        await take(ada.kv.batch(puts[start : start + 50]))
    listed = ada.kv.list(prefix="n/", limit=40)
    keys = [one["key"] async for one in listed] if hasattr(listed, "__aiter__") else [one["key"] for one in listed]
    first = await take(listed.page())
    facts["pages"] = [len(keys), keys == sorted(keys), len(first.items), len(await take(listed.all(45)))]


async def advice(ada: Any, facts: Facts) -> None:
    # What is explored depends on the event that asks, so it is always the same one.
    task = {"task_class": "support", "task_intent": "refund an order"}
    asked = {**task, "source_event_id": "asked-1", "candidate_tools": ["refund_api", "email_human"]}
    before = [one["toolId"] for one in (await take(ada.rank_tools(**asked)))["rankedTools"]]
    told = {"task_class": "support", "tool": before[0], "outcome": "failure", "source_event_id": "run-1"}
    first, again = await take(ada.report_outcome(**told)), await take(ada.report_outcome(**told))
    for _ in range(5):
        tools = [{"toolId": before[0], "outcome": "failure"}, {"toolId": before[1], "outcome": "success"}]
        await take(ada.report_outcome(**task, tools=tools))
    after = [one["toolId"] for one in (await take(ada.rank_tools(**asked)))["rankedTools"]]
    facts["advice"] = [after[0] == before[1], first["duplicate"], again["duplicate"]]


async def people(service: Any, facts: Facts) -> None:
    await take(service.user("eve").remember("Eve collects stamps"))
    before = [one["name"] for one in await take(service.users().all())]
    gone = await take(service.forget_user("eve"))
    after = [one["name"] for one in await take(service.users().all())]
    facts["people"] = ["eve" in before, gone["name"], "eve" in after, "ada" in after]


async def credentials(service: Any, flavour: str, facts: Facts) -> str:
    granted = await take(service.create_token(databases=["*"], depth=1, ttl_seconds=600))
    token = attenuate(granted["delegation"], ops=["memory:read", "kv:read"], databases=["ada"])
    async with loci_of(flavour, url=service.endpoint, token=token) as reader:
        ada = reader.service().user("ada")
        hits = await take(ada.recall("where does Ada live?"))
        write = await refused(lambda: ada.remember("x"))
        other = await refused(lambda: reader.service().user("bob").recall("where does Ada live?"))
    facts["narrowed"] = [hits[0]["content"], write.code, other.code]
    return str(granted["token"])


async def stolen(ada: Any, facts: Facts) -> None:
    """Its first answer is taken away."""
    await take(ada.remember("The answer to this one is lost"))
    listed = [one["content"] for one in await take(ada.memories().all())]
    facts["stolen"] = listed.count("The answer to this one is lost")


def open_gate() -> None:
    httpx2.post(f"{os.environ['LOCI_STOLEN']}/gate")


async def followed(robbed: Any, ada: Any, bob: Any, flavour: str, facts: Facts) -> None:
    """The stream is cut behind the second event, and stands again when the other two are written."""
    stands = [threading.Event(), threading.Event()]
    opened = 0
    keys: list[str] = []

    def on_open() -> None:
        nonlocal opened
        stands[min(opened, 1)].set()
        opened += 1

    def note(event: Any) -> bool:
        if event.type == "slot.written":
            keys.append(event.data["key"])
        return keys[-1:] == ["end"]

    def follow() -> None:
        for event in robbed.events(on_open=on_open):
            if note(event):
                return

    async def follow_too() -> None:
        async for event in robbed.events(on_open=on_open):
            if note(event):
                return

    following = asyncio.create_task(follow_too() if flavour == "async" else asyncio.to_thread(follow))
    await asyncio.to_thread(stands[0].wait, 120)
    for key in ("one", "two", "three", "four"):
        await take(ada.slots.put(key, 1))
        await take(bob.slots.put(f"of-bob-{key}", 1))
    await asyncio.to_thread(open_gate)
    await asyncio.to_thread(stands[1].wait, 120)
    await take(ada.slots.put("end", 1))
    await asyncio.wait_for(following, 120)
    facts["events"] = [keys, opened]


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1])), ensure_ascii=False))
