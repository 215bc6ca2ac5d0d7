"""What a recall found, and how many memories there are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from .calls import Answer
    from .daemon import NamedRecord, RecallResult, RecallResultNearestItem, RecallResultResultsItem

    class Hit(RecallResultResultsItem):
        #: Which words of the question it covers, and by which of its own: `language (Dutch), Ada`.
        why: str

    Found = list[Hit]
else:
    Hit = dict
    Found = list


class Hits(Found):
    """Best first; a list, with what else was answered."""

    #: Nothing that is remembered answers the question; `reason` says it in a sentence.
    abstained: bool
    reason: str | None
    #: Where it abstained: the most relevant there is.
    nearest: list[RecallResultNearestItem]
    #: Of `record_ids`: where these stand, also below the cut, and why.
    named: list[NamedRecord]
    #: What to give as `cursor` for those after these; None at the end.
    next_cursor: str | None
    request_id: str | None
    #: As the server sent it.
    answer: RecallResult

    def __init__(self, answered: Answer[RecallResult]) -> None:
        body = answered.body
        super().__init__(_hits_of(body))
        self.abstained = body["abstained"]
        self.reason = body.get("reason")
        self.nearest = body.get("nearest", [])
        self.named = body.get("named", [])
        self.next_cursor = body["nextCursor"]
        self.request_id = answered.request_id
        self.answer = body


class MemoryCount(TypedDict):
    total: int
    #: There may be more: counting ended at a bound.
    totalIsAtLeast: bool


def _hits_of(body: RecallResult) -> Iterable[Hit]:
    for result in body["results"]:
        explain = result["explain"]
        hit: Any = {**result, "why": _why_of(explain["words"] if explain else [])}
        yield hit


def _why_of(words: Iterable[Mapping[str, Any]]) -> str:
    return ", ".join(
        word["word"] if word["by"] in (None, word["word"]) else f"{word['word']} ({word['by']})"
        for word in words
        if word["covered"] > 0
    )
