"""Which routes are what by the GenAI conventions of OpenTelemetry for memory, and what their spans say of a call."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Memories = list[Any]


@dataclass(frozen=True)
class MemoryCall:
    operation: str
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    query: str | None = None
    #: What is to be written.
    sent: Memories | None = None
    #: The memories of the answer.
    read: Callable[[Any], Memories] | None = None

    def found(self, body: Any) -> dict[str, Any]:
        told: dict[str, Any] = {}
        if self.read is not None:
            told["gen_ai.memory.record.count"] = len(self.read(body))
        # One that was written has its id only now.
        if self.sent is not None and len(self.sent) == 1:
            told["gen_ai.memory.record.id"] = _field(body, "id")
        return told


def memory_call_of(name: str, path: Mapping[str, Any], body: Any) -> MemoryCall | None:
    route = _ROUTES.get(name)
    return None if route is None else route(path, body)


def records_text(memories: Memories) -> str:
    """By the schema of the conventions, which is for text: attributes hold no objects."""
    told: list[dict[str, Any]] = []
    for one in memories:
        if not isinstance(one, dict) or one.get("content") is None:
            continue
        given = {"id": one.get("id"), "content": one["content"], "score": one.get("relevance")}
        given["metadata"] = one.get("metadata")
        told.append({name: value for name, value in given.items() if value is not None})
    return json.dumps(told, ensure_ascii=False)


def _recalled(path: Mapping[str, Any], body: Any) -> MemoryCall:
    return MemoryCall("search_memory", query=_field(body, "query"), read=lambda answer: _field(answer, "results") or [])


def _listed(path: Mapping[str, Any], body: Any) -> MemoryCall:
    return MemoryCall("search_memory", read=_records_of)


def _one(path: Mapping[str, Any], body: Any) -> MemoryCall:
    return MemoryCall("search_memory", {"gen_ai.memory.record.id": path.get("id")}, read=lambda answer: [answer])


def _written(path: Mapping[str, Any], body: Any) -> MemoryCall:
    return _writing([body])


def _all_written(path: Mapping[str, Any], body: Any) -> MemoryCall:
    return _writing(_records_of(body))


def _deleted(path: Mapping[str, Any], body: Any) -> MemoryCall:
    return MemoryCall("delete_memory", {"gen_ai.memory.record.id": path.get("id"), "gen_ai.memory.record.count": 1})


def _forgotten(path: Mapping[str, Any], body: Any) -> MemoryCall:
    return MemoryCall("delete_memory_store", {"gen_ai.memory.store.id": path.get("name")})


_ROUTES: dict[str, Callable[[Mapping[str, Any], Any], MemoryCall]] = {
    "POST /v1/memory/recall": _recalled,
    "GET /v1/memory/records": _listed,
    "POST /v1/memory/records/read": _listed,
    "GET /v1/memory/records/{id}": _one,
    "POST /v1/memory/records": _written,
    "POST /v1/memory/records/batch": _all_written,
    "DELETE /v1/memory/records/{id}": _deleted,
    "DELETE /v1/databases/{name}": _forgotten,
}


def _writing(sent: Memories) -> MemoryCall:
    """Who names a predecessor updates it; who names a key may, or may not."""
    is_update = all(_field(one, "supersedes") is not None for one in sent)
    may_update = any(_field(one, "supersedes") is not None or _field(one, "key") is not None for one in sent)
    operation = "update_memory" if is_update else "upsert_memory" if may_update else "create_memory"
    return MemoryCall(operation, {"gen_ai.memory.record.count": len(sent)}, sent=sent)


def _records_of(body: Any) -> Memories:
    return _field(body, "records") or []


def _field(body: Any, name: str) -> Any:
    return body.get(name) if isinstance(body, dict) else None
