"""A BaseStore. An item is an entry of the key-value store; its text is a memory of the same key, for searches.

Its steps are generators that yield what to ask of which user, so that one text serves with and without await.
"""
# ruff: noqa: B023
# What is yielded is asked before a loop goes on.

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from datetime import datetime
from operator import eq, ge, gt, le, lt, ne
from typing import Any
from urllib.parse import unquote

from langgraph.store import base
from locihq import AsyncService, Service, database_of

Namespace = tuple[str, ...]
#: The user, and what to ask of a User or an AsyncUser.
Asked = tuple[str, Callable[[Any], Any]]
Steps = Generator[Asked, Any, Any]

KIND = "langgraph"
_BATCH = 100
_HITS_MAX = 200
_FILTERS_MAX = 16
_MEMBER_CHARS_MAX = 256
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {"$eq": eq, "$ne": ne, "$gt": gt, "$gte": ge, "$lt": lt, "$lte": le}


class NotSupportedError(NotImplementedError):
    """Loci has no counterpart of what was asked for; nothing was done."""


class LociStore(base.BaseStore):
    """Each user is a database of the service: the one that the label at `user_at` of a namespace names, or `database`
    for all namespaces. `fields` are what a search finds, where `index` of a put does not say it: everything.
    """

    supports_ttl = True

    def __init__(
        self,
        service: Service | None = None,
        async_service: AsyncService | None = None,
        *,
        user_at: int = 0,
        database: str | None = None,
        fields: list[str] | None = None,
        min_relevance: float = 0.0,
        ttl: base.TTLConfig | None = None,
    ) -> None:
        if ttl is not None and ttl.get("refresh_on_read"):
            raise NotSupportedError("A time to live begins with a write; reading does not begin it anew.")
        self.ttl_config = {**(ttl or {}), "refresh_on_read": False}
        self._sync, self._async = service, async_service
        self._user_at, self._database = user_at, database
        self._fields, self._min_relevance = fields, min_relevance

    def batch(self, ops: Iterable[base.Op]) -> list[base.Result]:
        if self._sync is None:
            raise NotSupportedError("LociStore(service) is needed to call it without await.")
        results: list[base.Result] = []
        steps = self._run(list(ops), results)
        asked = next(steps, None)
        while asked is not None:
            asked = _sent(steps, asked[1](self._sync.user(asked[0])))
        return results

    async def abatch(self, ops: Iterable[base.Op]) -> list[base.Result]:
        if self._async is None:
            raise NotSupportedError("LociStore(async_service=…) is needed to call it with await.")
        results: list[base.Result] = []
        steps = self._run(list(ops), results)
        asked = next(steps, None)
        while asked is not None:
            asked = _sent(steps, await asked[1](self._async.user(asked[0])))
        return results

    def _run(self, ops: list[base.Op], results: list[Any]) -> Steps:
        """As LangGraph's own stores: what reads sees nothing of what the same batch writes, the last write wins."""
        puts: dict[str, dict[str, base.PutOp]] = {}
        for op in ops:
            base.validate_op_namespace(op)
        for op in ops:
            if isinstance(op, base.GetOp):
                results.append((yield from self._get(op)))
            elif isinstance(op, base.SearchOp):
                results.append((yield from self._search(op)))
            elif isinstance(op, base.ListNamespacesOp):
                results.append((yield from self._namespaces(op)))
            else:
                results.append(None)
                puts.setdefault(self._user_of(op.namespace), {})[_key_of(op.namespace, op.key)] = op
        for user, own in puts.items():
            for at in range(0, len(own), _BATCH):
                yield from self._put(user, list(own.items())[at : at + _BATCH])

    def _get(self, op: base.GetOp) -> Steps:
        entry = yield self._user_of(op.namespace), lambda user: user.kv.get(_key_of(op.namespace, op.key))
        if entry is not None and entry["expiresAt"] is not None and op.refresh_ttl:
            raise NotSupportedError("Reading does not begin a time to live anew; give refresh_ttl=False.")
        return None if entry is None else _item(base.Item, entry)

    def _put(self, user: str, ops: list[tuple[str, base.PutOp]]) -> Steps:
        """The text first: without its entry nothing finds it. Former texts are erased, not only closed."""
        records: list[Any] = []
        former: list[Any] = []
        entries: list[Any] = []
        for key, op in ops:
            former += yield user, lambda user: user.memories(key=key).all()
            ttl = {} if op.ttl is None else {"ttlMs": max(1, round(op.ttl * 60_000))}
            if op.value is None:
                entries.append({"op": "delete", "key": key})
                continue
            entries.append({"op": "put", "key": key, "value": op.value, **ttl})
            about = {"key": key, "kind": KIND, "tags": _tags_of(op.namespace), "metadata": _plain_members(op.value)}
            fields = self._fields if op.index is None else op.index
            if text := "" if fields is False else _text_of(op.value, fields):
                # An item that was deleted may be put again.
                records.append({"content": text, "override": True, **about, **ttl})
        if records:
            yield user, lambda user: user.remember_all(records)
        yield user, lambda user: user.kv.batch(entries)
        for memory in former:
            yield user, lambda user: user.forget(memory)

    def _search(self, op: base.SearchOp) -> Steps:
        user, found, wanted = self._user_of(op.namespace_prefix), list[Any](), op.offset + op.limit
        if op.query:
            exact = _plain_members(op.filter or {})
            given = {"kinds": [KIND], "abstain": False, "min_relevance": self._min_relevance, "limit": _HITS_MAX}
            given |= {"metadata": dict(list(exact.items())[:_FILTERS_MAX])} if exact else {}
            given |= {"tags": _tags_of(op.namespace_prefix)[-1:]} if op.namespace_prefix else {}
            for hit in (yield user, lambda user: user.recall(op.query, **given)):
                entry = yield user, lambda user: user.kv.get(hit["key"])
                if entry is not None and _passes(entry["value"], op.filter):
                    found.append(_item(base.SearchItem, entry, score=hit["relevance"]))
                if len(found) >= wanted:
                    break
            return found[op.offset : wanted]
        prefix, next = _key_of(op.namespace_prefix), ""
        while next is not None and len(found) < wanted:
            page = yield user, lambda user: user.kv.list(prefix=prefix).page(next or None)
            found += [_item(base.SearchItem, entry) for entry in page.items if _passes(entry["value"], op.filter)]
            next = page.next
        return found[op.offset : wanted]

    def _namespaces(self, op: base.ListNamespacesOp) -> Steps:
        conditions = op.match_conditions or ()
        # Without a wildcard a prefix names the user, and spares reading other keys.
        prefix = max((_plain(one) for one in conditions if one.match_type == "prefix"), key=len, default=())
        listed = {"prefix": _key_of(prefix), "keys_only": "true", "limit": 1_000}
        entries = yield self._user_of(prefix), lambda user: user.kv.list(**listed).all()
        namespaces = {_parts_of(entry["key"])[0] for entry in entries}
        matching = {one[: op.max_depth] for one in namespaces if all(_matches(one, each) for each in conditions)}
        return sorted(matching)[op.offset : op.offset + op.limit]

    def _user_of(self, namespace: Namespace) -> str:
        if self._database is not None:
            return self._database
        if len(namespace) <= self._user_at:
            raise base.InvalidNamespaceError(f"Label {self._user_at} of a namespace is the user; {namespace} has none.")
        return database_of(namespace[self._user_at])


def as_data(items: Iterable[base.Item]) -> str:
    """For a message of the user's role, never of the system's: JSON in which nothing can end the quotation."""
    told = json.dumps([{"key": item.key, "value": item.value} for item in items], ensure_ascii=False)
    return f"<memories>{told.replace('<', chr(92) + 'u003c')}</memories>"


def _sent(steps: Steps, answer: Any) -> Asked | None:
    try:
        return steps.send(answer)
    except StopIteration:
        return None


def _key_of(namespace: Namespace, key: str | None = None) -> str:
    """`lg/` and the labels, each ended by a slash; behind them the key, after a colon that no label has."""
    labels = (label.replace("%", "%25").replace("/", "%2F").replace(":", "%3A") for label in namespace)
    return "".join(f"{label}/" for label in ("lg", *labels)) + ("" if key is None else f":{key}")


def _parts_of(key: str) -> tuple[Namespace, str]:
    path, name = key.split(":", 1)
    return tuple(unquote(label) for label in path.split("/")[1:-1]), name


def _tags_of(namespace: Namespace) -> list[str]:
    """One for each namespace that holds it: a service takes 32, of 64 characters."""
    paths = [_key_of(namespace[: depth + 1]) for depth in range(len(namespace))]
    return [path if len(path) <= 64 else f"lg#{hashlib.sha256(path.encode()).hexdigest()[:40]}" for path in paths]


def _item(kind: type[Any], entry: Any, **more: Any) -> Any:
    namespace, key = _parts_of(entry["key"])
    created, updated = (
        datetime.fromisoformat(entry[name].replace("Z", "+00:00")) for name in ("createdAt", "updatedAt")
    )
    return kind(namespace=namespace, key=key, value=entry["value"], created_at=created, updated_at=updated, **more)


def _plain_members(value: Mapping[str, Any]) -> dict[str, Any]:
    """What the index can narrow by, and a memory has room for."""
    plain = {name: one for name, one in value.items() if isinstance(one, (str, int, float))}
    return {name: one for name, one in plain.items() if not isinstance(one, str) or len(one) <= _MEMBER_CHARS_MAX}


def _text_of(value: Any, fields: list[str] | None) -> str:
    texts = (base.get_text_at_path(value, base.tokenize_path(field)) for field in fields or ())
    return "\n".join(_leaves(value) if fields is None else (text for each in texts for text in each))


def _leaves(value: Any, name: str = "") -> Iterator[str]:
    """Each with the name that it has: `language: Dutch`."""
    for key, one in value.items() if isinstance(value, dict) else ((name, one) for one in value):
        if isinstance(one, (dict, list)):
            yield from _leaves(one, key)
        elif one is not None:
            yield f"{key}: {one}"


def _passes(value: Any, filter: dict[str, Any] | None) -> bool:
    return all(_compares(value.get(name), wanted) for name, wanted in (filter or {}).items())


def _compares(found: Any, wanted: Any) -> bool:
    if not isinstance(wanted, dict) or not any(name.startswith("$") for name in wanted):
        return bool(found == wanted)
    if unknown := [name for name in wanted if name not in _OPERATORS]:
        raise NotSupportedError(f"A filter has no {unknown[0]}; there are {', '.join(_OPERATORS)}.")
    try:
        return all(_OPERATORS[name](found, bound) for name, bound in wanted.items())
    except TypeError:  # Of two kinds that have no order.
        return False


def _matches(namespace: Namespace, condition: base.MatchCondition) -> bool:
    size = len(condition.path)
    part = namespace[:size] if condition.match_type == "prefix" else namespace[max(0, len(namespace) - size) :]
    return len(part) == size and all(one in ("*", label) for label, one in zip(part, condition.path, strict=True))


def _plain(condition: base.MatchCondition) -> Namespace:
    """What stands before the first wildcard."""
    path = condition.path
    return path[: path.index("*")] if "*" in path else path
