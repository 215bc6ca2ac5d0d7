"""Calls as spans, recorded by the SDK of OpenTelemetry itself, in memory. Run where that is installed."""

from __future__ import annotations

import json
import unittest
from typing import Any

from flavours import in_both, loci_of, refused, take
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from somebodys_server import Act, SomebodysServer, refusal
from test_calls import TOKEN

from locihq import Telemetry

CANARY = "zebra-4711"
HIT = {"id": "mem_1", "content": f"Ada likes {CANARY}", "relevance": 0.9, "metadata": {"from": CANARY}, "explain": None}
FOUND = {"results": [HIT, HIT], "abstained": False, "nextCursor": None}


class Spans(unittest.TestCase):
    def setUp(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))

    def spans(self) -> list[Any]:
        found = list(self.exporter.get_finished_spans())
        self.exporter.clear()
        return found

    # Mutants: content unless it is refused; no database.
    @in_both
    async def test_a_recall_is_a_search_memory_span_of_the_database_with_its_count_and_no_word_of_it(
        self, flavour: str
    ) -> None:
        busy = refusal(503, "OVERLOADED", retryAfterMs=1)
        with SomebodysServer(busy, Act(body=FOUND)) as server:
            async with loci_of(
                flavour, url=server.url, token=TOKEN, telemetry=Telemetry(provider=self.provider)
            ) as loci:
                await take(loci.service().user("ada").recall(f"who likes {CANARY}?"))
        (span,) = self.spans()
        self.assertEqual(
            dict(span.attributes),
            {
                "gen_ai.operation.name": "search_memory",
                "gen_ai.provider.name": "loci",
                "gen_ai.memory.store.id": "ada",
                "gen_ai.memory.record.count": 2,
                "http.request.method": "POST",
                "url.template": "/v1/memory/recall",
                "server.address": "127.0.0.1",
                "server.port": int(server.url.rsplit(":", 1)[1]),
                "http.response.status_code": 200,
                "loci.request.id": "req_header",
            },
        )
        self.assertEqual(
            (span.name, span.kind.name, span.status.status_code), ("search_memory", "CLIENT", StatusCode.UNSET)
        )
        self.assertNotIn(CANARY, span.to_json())
        ids = f"00-{span.context.trace_id:032x}-{span.context.span_id:016x}-{span.context.trace_flags:02x}"
        self.assertEqual([one.headers["traceparent"] for one in server.seen], [ids, ids])

    @in_both
    async def test_the_operation_says_what_the_call_does_to_memories(self, flavour: str) -> None:
        body = {"id": "mem_1", "records": [{"id": "mem_1", "content": "a"}], "nextCursor": None, "version": 1}
        with SomebodysServer(Act(body=body)) as server:
            async with loci_of(
                flavour, url=server.url, token=TOKEN, telemetry=Telemetry(provider=self.provider)
            ) as loci:
                service = loci.service()
                ada = service.user("ada")
                await take(ada.remember("a"))
                await take(ada.remember("a", key="k"))
                await take(ada.remember("a", supersedes="mem_0"))
                await take(ada.remember_all(["a", {"content": "b", "key": "k"}]))
                await take(ada.memories().all())
                await take(ada.memory("mem_1"))
                await take(ada.forget("mem_1"))
                await take(ada.kv.put("k", 1))
                await take(service.forget_user("ada"))
        fields = ("gen_ai.memory.record.count", "gen_ai.memory.record.id", "gen_ai.memory.store.id")
        self.assertEqual(
            [(span.name, *(span.attributes.get(name) for name in fields)) for span in self.spans()],
            [
                ("create_memory", 1, "mem_1", "ada"),
                ("upsert_memory", 1, "mem_1", "ada"),
                ("update_memory", 1, "mem_1", "ada"),
                ("upsert_memory", 2, None, "ada"),
                ("search_memory", 1, None, "ada"),
                ("search_memory", 1, "mem_1", "ada"),
                ("delete_memory", 1, "mem_1", "ada"),
                ("PUT /v1/kv/entries/{key}", None, None, None),
                ("delete_memory_store", None, None, "ada"),
            ],
        )

    @in_both
    async def test_content_is_in_spans_where_it_was_asked_for(self, flavour: str) -> None:
        telemetry = Telemetry(provider=self.provider, content=True)
        with SomebodysServer(Act(body=FOUND), Act(body={"id": "mem_2"})) as server:
            async with loci_of(flavour, url=server.url, token=TOKEN, telemetry=telemetry) as loci:
                ada = loci.service().user("ada")
                await take(ada.recall("who?"))
                await take(ada.remember("Bob likes tea", metadata={"from": "chat"}))
        search, create = (span.attributes for span in self.spans())
        self.assertEqual(search["gen_ai.memory.query.text"], "who?")
        hit = {"id": "mem_1", "content": HIT["content"], "score": 0.9, "metadata": HIT["metadata"]}
        self.assertEqual(json.loads(search["gen_ai.memory.records"]), [hit, hit])
        written = [{"content": "Bob likes tea", "metadata": {"from": "chat"}}]
        self.assertEqual(json.loads(create["gen_ai.memory.records"]), written)

    # Mutant: the message of the error as that of the status.
    @in_both
    async def test_a_failure_ends_the_span_with_its_code_and_what_is_not_there_is_none_of_a_get(
        self, flavour: str
    ) -> None:
        with SomebodysServer(refusal(402, "PAYMENT_REQUIRED"), refusal(404, "NOT_FOUND")) as server:
            async with loci_of(
                flavour, url=server.url, token=TOKEN, telemetry=Telemetry(provider=self.provider)
            ) as loci:
                ada = loci.service().user("ada")
                await refused(lambda: ada.remember("a"))
                await take(ada.kv.get("a"))
                await refused(lambda: ada.kv.delete("a"))
                await refused(lambda: ada.memory(".."))
        seen = [
            (span.attributes.get("error.type"), span.status.status_code, span.status.description, len(span.events))
            for span in self.spans()
        ]
        self.assertEqual(
            seen,
            [
                ("PAYMENT_REQUIRED", StatusCode.ERROR, None, 0),
                (None, StatusCode.UNSET, None, 0),
                ("NOT_FOUND", StatusCode.ERROR, None, 0),
                ("INVALID_REQUEST", StatusCode.ERROR, None, 0),
            ],
        )

    @in_both
    async def test_none_are_made_where_none_are_wanted_or_registered_and_a_header_that_is_given_stays(
        self, flavour: str
    ) -> None:
        with SomebodysServer(Act(body={"entries": [], "nextCursor": None})) as server:
            for telemetry in (False, None):
                async with loci_of(flavour, url=server.url, token=TOKEN, telemetry=telemetry) as loci:
                    await take(loci.service().user("ada").kv.list().all())
            async with loci_of(
                flavour, url=server.url, token=TOKEN, telemetry=Telemetry(provider=self.provider)
            ) as loci:
                daemon = await take(loci.service().daemon())
                await take(daemon.call("GET /v1/kv/entries", headers={"traceparent": "mine"}))
            given = [one.headers.get("traceparent") for one in server.seen]
        self.assertEqual(given, [None, None, "mine"])
        self.assertEqual(len(self.spans()), 1)


if __name__ == "__main__":
    unittest.main()
