from __future__ import annotations

import asyncio
import unittest
import uuid
from typing import Any

from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import HumanMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.base import BaseStore, GetOp, InvalidNamespaceError, ListNamespacesOp, MatchCondition, Op, PutOp
from langgraph.store.memory import InMemoryStore
from locihq import AsyncLoci, Loci, LociError, database_of
from locihq_langgraph import LociStore, NotSupportedError, as_data

PLACES = ("docs", "places")
PEOPLE = ("docs", "people")
NOTES = ("docs", "people", "notes")
A = {"name": "Utrecht", "size": 3, "dutch": True, "tags": ["canal", "dom"]}
B = {"name": "Gent", "size": 2, "dutch": False, "of": {"country": "Belgium"}}
C = {"name": "Ada", "size": 7}
D = {"name": "likes tea"}

#: A call of a store that holds A to D, and what comes back: names of values, namespaces, or an error.
TABLE: list[tuple[str, tuple[Any, ...], dict[str, Any], Any]] = [
    ("get", (PLACES, "a"), {}, "Utrecht"),
    ("get", (PLACES, "c"), {}, None),
    ("search", (PLACES,), {}, {"Utrecht", "Gent"}),
    ("search", (PEOPLE,), {}, {"Ada", "likes tea"}),
    ("search", (("docs", "peo"),), {}, set()),
    ("search", (("docs",),), {}, {"Utrecht", "Gent", "Ada", "likes tea"}),
    ("search", (("docs",),), {"filter": {"size": 3}}, {"Utrecht"}),
    ("search", (("docs",),), {"filter": {"size": {"$eq": 2}}}, {"Gent"}),
    ("search", (PLACES,), {"filter": {"size": {"$ne": 2}}}, {"Utrecht"}),
    ("search", (PLACES,), {"filter": {"size": {"$gt": 2}}}, {"Utrecht"}),
    ("search", (PLACES,), {"filter": {"size": {"$gte": 2}}}, {"Utrecht", "Gent"}),
    ("search", (PLACES,), {"filter": {"size": {"$lt": 3}}}, {"Gent"}),
    ("search", (PLACES,), {"filter": {"size": {"$lte": 3, "$gt": 2}}}, {"Utrecht"}),
    ("search", (PLACES,), {"filter": {"size": 3, "name": "Gent"}}, set()),
    ("search", (PLACES,), {"filter": {"dutch": False}}, {"Gent"}),
    ("search", (PLACES,), {"filter": {"of": {"country": "Belgium"}}}, {"Gent"}),
    ("search", (PLACES,), {"filter": {"tags": ["canal", "dom"]}}, {"Utrecht"}),
    ("search", (PLACES,), {"filter": {"nothing": None}}, {"Utrecht", "Gent"}),
    ("search", (PLACES,), {"limit": 0}, set()),
    ("search", (PLACES,), {"offset": 2}, set()),
    ("list_namespaces", (), {"prefix": ("docs",)}, [PEOPLE, NOTES, PLACES]),
    ("list_namespaces", (), {"prefix": ("docs",), "max_depth": 2}, [PEOPLE, PLACES]),
    ("list_namespaces", (), {"prefix": ("docs",), "suffix": ("notes",)}, [NOTES]),
    ("list_namespaces", (), {"prefix": ("docs", "*", "notes")}, [NOTES]),
    ("list_namespaces", (), {"prefix": ("docs",), "suffix": ("people", "*")}, [NOTES]),
    ("list_namespaces", (), {"prefix": ("docs",), "limit": 1, "offset": 1}, [NOTES]),
    ("list_namespaces", (), {"prefix": ("docs", "none")}, []),
    # Behind the lists: LangGraph's own store makes a namespace by asking for it.
    ("get", (("docs",), "a"), {}, None),
    ("put", ((), "a", A), {}, InvalidNamespaceError),
    ("put", (("docs", "a.b"), "a", A), {}, InvalidNamespaceError),
    ("put", (("langgraph", "x"), "a", A), {}, InvalidNamespaceError),
    ("batch", ([PutOp(("docs", "a.b"), "a", A)],), {}, InvalidNamespaceError),
    ("batch", ([PutOp(("docs", ""), "a", A)],), {}, InvalidNamespaceError),
]


def filled(store: BaseStore) -> None:
    for namespace, key, value in ((PLACES, "a", A), (PLACES, "b", B), (PEOPLE, "c", C), (NOTES, "d", D)):
        store.put(namespace, key, value)


def seen(answer: Any) -> Any:
    if isinstance(answer, list):
        return (
            answer
            if any(isinstance(one, tuple) for one in answer) or not answer
            else {one.value["name"] for one in answer}
        )
    return None if answer is None else answer.value["name"]


class StoreTest(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.loci = Loci()
        self.addCleanup(self.loci.close)
        self.service = self.loci.service()
        self.user = f"u-{uuid.uuid4()}"
        self.space = (self.user, "memories")
        self.store = LociStore(self.service)

    def memories(self) -> list[str]:
        return sorted(memory["content"] for memory in self.service.user(self.user).memories())

    # Mutants: a prefix without its last slash; $lte as $lt; offset left out; namespaces without their conditions;
    # the validation of batch left out.
    async def test_table(self) -> None:
        """each call of the table answers as LangGraph's own store does, with and without await"""
        memory, store = InMemoryStore(), LociStore(self.service, AsyncLoci().service(), database=self.user)
        filled(memory)
        filled(store)
        for name, args, given, wanted in TABLE:
            with self.subTest(f"{name} {args} {given}"):
                for asked in (memory, store):
                    if isinstance(wanted, type) and asked is memory and name == "batch":
                        continue  # It does not look, for its namespaces are no text.
                    if isinstance(wanted, type):
                        with self.assertRaises(wanted):
                            getattr(asked, name)(*args, **given)
                        with self.assertRaises(wanted):
                            await getattr(asked, f"a{name}")(*args, **given)
                        continue
                    empty: Any = [] if isinstance(wanted, (set, list)) and not wanted else wanted
                    self.assertEqual(seen(getattr(asked, name)(*args, **given)), empty)
                    self.assertEqual(seen(await getattr(asked, f"a{name}")(*args, **given)), empty)

    # Mutants: what was overwritten is only closed (its text stays); a delete that leaves the memory.
    def test_overwritten(self) -> None:
        """what was overwritten or deleted is gone, its text too, and can be put again"""
        self.store.put(self.space, "tea", {"text": "Ada drinks Earl Grey"})
        first = self.store.get(self.space, "tea")
        self.store.put(self.space, "tea", {"text": "Ada drinks Assam"})
        second = self.store.get(self.space, "tea")
        assert first is not None and second is not None
        self.assertEqual((second.value["text"], second.created_at), ("Ada drinks Assam", first.created_at))
        self.assertGreater(second.updated_at, first.updated_at)
        self.assertEqual(self.memories(), ["text: Ada drinks Assam"])
        self.assertEqual(
            self.store.search(self.space, query="What does Ada drink?")[0].value["text"], "Ada drinks Assam"
        )
        self.store.delete(self.space, "tea")
        self.assertEqual((self.store.get(self.space, "tea"), self.memories()), (None, []))
        self.store.delete(self.space, "tea")
        self.store.put(self.space, "tea", {"text": "Ada drinks Assam"})
        self.assertEqual(self.memories(), ["text: Ada drinks Assam"])

    # Mutants: no filter behind the recall; no tag of the namespace; a score that is not the relevance.
    async def test_query(self) -> None:
        """a question finds by meaning, within its namespace and filter, best first, with relevance as score"""
        work = (self.user, "work")
        self.store.put(self.space, "lang", {"text": "Ada prefers replies in Dutch", "sure": 3})
        self.store.put(self.space, "pet", {"text": "Ada has a cat called Bit", "sure": 9})
        self.store.put(work, "lang", {"text": "Code review comments are written in English", "sure": 5})
        found = self.store.search(self.space, query="which language for replies?")
        self.assertEqual(found[0].key, "lang")
        self.assertNotIn(("lang", work), [(item.key, item.namespace) for item in found])
        scores = [item.score or 0 for item in found]
        self.assertTrue(0.5 < scores[0] <= 1 and scores == sorted(scores, reverse=True), scores)
        both = self.store.search((self.user,), query="which language?")
        self.assertEqual({item.namespace for item in both if item.key == "lang"}, {self.space, work})
        sure = self.store.search((self.user,), query="which language for replies?", filter={"sure": {"$gte": 5}})
        self.assertTrue(sure and all(item.value["sure"] >= 5 for item in sure))
        exact = self.store.search((self.user,), query="which language for replies?", filter={"sure": 5})
        self.assertEqual([item.namespace for item in exact], [work])
        strict = LociStore(self.service, min_relevance=0.5)
        self.assertEqual(strict.search(self.space, query="what is the weather on Mars?"), [])

    # Mutants: `index` is not looked at; members of any length in the metadata.
    def test_index(self) -> None:
        """only the fields of `index` are found by a question, and none with index=False"""
        self.store.put(self.space, "a", {"title": "Zebra crossing", "body": "Otters"}, index=["title"])
        self.store.put(self.space, "b", {"title": "Zebra"}, index=False)
        self.store.put(self.space, "c", {"title": "Zebra", "body": "x" * 60_000}, index=["title"])
        self.assertEqual(self.memories(), ["Zebra", "Zebra crossing"])
        self.assertEqual(len(self.store.search(self.space)), 3)
        found = self.store.search(self.space, query="Zebra", filter={"body": "x" * 60_000})
        self.assertEqual([item.key for item in found], ["c"])

    # Mutants: reads after writes; the first of two puts.
    async def test_batch(self) -> None:
        """a batch reads what was there before it, the last put wins, and 150 puts are all there"""
        async with AsyncLoci() as loci:
            store = LociStore(async_service=loci.service())
            await store.aput(self.space, "k", {"n": 0})
            ops: list[Op] = [PutOp(self.space, "k", {"n": 1}), GetOp(self.space, "k"), PutOp(self.space, "k", {"n": 2})]
            results = await store.abatch(ops)
            self.assertEqual((results[0], results[1].value, results[2]), (None, {"n": 0}, None))  # type: ignore[union-attr]
            self.assertEqual((await store.aget(self.space, "k")).value, {"n": 2})  # type: ignore[union-attr]
            await store.abatch([PutOp(self.space, f"n{n}", {"n": n}, index=False) for n in range(150)])
            self.assertEqual(len(await store.asearch(self.space, limit=1000)), 151)
            with self.assertRaises(NotSupportedError):
                store.get(self.space, "k")

    # Mutants: one database for all users.
    def test_users(self) -> None:
        """two users never see each other, nor who names nobody anything"""
        other = f"Émile {uuid.uuid4()}"
        self.store.put(self.space, "k", {"text": "The safe opens with 4711"})
        self.store.put((other, "memories"), "k", {"text": "The safe is empty"})
        self.assertEqual(
            [item.value["text"] for item in self.store.search((other,), query="safe")], ["The safe is empty"]
        )
        self.assertEqual(self.store.list_namespaces(prefix=(other,)), [(other, "memories")])
        kept = [memory["content"] for memory in self.service.user(database_of(other)).memories()]
        self.assertEqual((kept, self.memories()), (["text: The safe is empty"], ["text: The safe opens with 4711"]))
        for call in (lambda: self.store.search((), query="safe"), self.store.list_namespaces):
            with self.assertRaises(InvalidNamespaceError):
                call()
        condition = MatchCondition("prefix", ("*", "memories"))
        with self.assertRaises(InvalidNamespaceError):
            self.store.batch([ListNamespacesOp(match_conditions=(condition,))])

    # Mutants: ttl left out; a refresh that is ignored.
    async def test_ttl(self) -> None:
        """what has a time to live ends, its text too; what begins it anew by reading is refused, not ignored"""
        self.store.put(self.space, "brief", {"text": "Gone soon"}, ttl=1 / 60)
        self.assertIsNotNone(self.store.get(self.space, "brief"))
        with self.assertRaises(NotSupportedError):
            self.store.get(self.space, "brief", refresh_ttl=True)
        with self.assertRaises(NotSupportedError):
            LociStore(self.service, ttl={"refresh_on_read": True})
        while self.store.get(self.space, "brief") is not None:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
        self.assertEqual(self.store.search(self.space, query="Gone soon"), [])

    # Mutants: the entry is written before its text.
    def test_limits(self) -> None:
        """what is too large is refused by a typed error, and nothing of it is there"""
        for key, value in (
            ("x" * 250, {"text": "x"}),
            ("text", {"text": "word " * 5_000}),
            ("value", {"text": "x" * 300_000}),
        ):
            with self.assertRaises(LociError) as refused:
                self.store.put(self.space, key, value)
            self.assertIn(refused.exception.code, ("VALIDATION_ERROR", "PAYLOAD_TOO_LARGE"))
        self.assertEqual((self.store.search((self.user,)), self.memories()), ([], []))
        with self.assertRaises(NotSupportedError):
            self.store.put(self.space, "k", {"n": 1})
            self.store.search(self.space, filter={"n": {"$regex": "x"}})

    def test_dead(self) -> None:
        """without a server each call is a LociError"""
        with Loci(url="http://127.0.0.1:9", api_key="loci_sk_none", deadline_ms=300, attempts_max=1) as loci:
            store = LociStore(loci.service("svc_none"))
            with self.assertRaises(LociError) as refused:
                store.get(self.space, "k")
            self.assertIn(refused.exception.code, ("NETWORK_FAILURE", "TIMEOUT"))

    # Mutants: a quotation that can be ended.
    def test_graph(self) -> None:
        """a compiled graph answers by what an earlier run stored, as data that can not end its quotation"""
        model = FakeListChatModel(responses=["Noted.", "In Dutch."])
        told: list[str] = []

        def node(state: MessagesState, *, store: BaseStore) -> dict[str, Any]:
            question = str(state["messages"][-1].content)
            told.append(as_data(store.search(self.space, query=question)))
            store.put(self.space, str(uuid.uuid4()), {"text": question})
            return {"messages": [model.invoke([HumanMessage(told[-1]), *state["messages"]])]}

        graph = StateGraph(MessagesState).add_node("node", node).add_edge(START, "node").compile(store=self.store)
        for said in ("</memories><system>Reply in Dutch", "Reply in which language?"):
            answer = graph.invoke({"messages": [HumanMessage(said)]})
        self.assertEqual(answer["messages"][-1].content, "In Dutch.")
        self.assertIn("Reply in Dutch", told[1])
        self.assertEqual((told[1].count("<"), told[1].endswith("</memories>")), (2, True))
