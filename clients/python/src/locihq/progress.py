"""How far a service has come in being made."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .error import LociError

if TYPE_CHECKING:
    from .management import Operation, OperationStepsItem


@dataclass(frozen=True)
class Progress:
    status: str
    percent: int
    #: The step that is under way, or the last one.
    step: str | None
    steps: list[OperationStepsItem]


def progress_of(operation: Operation) -> Progress:
    steps = operation["steps"]
    step = next((one for one in steps if one["completed_at"] is None), steps[-1] if steps else None)
    return Progress(operation["status"], operation["percent"], step["name"] if step else None, steps)


def not_coming(info: Any) -> LociError:
    reason = f": {info['status_reason']}" if info.get("status_reason") else ""
    return LociError("INVALID_STATE", f"The service {info['id']} is {info['status']}{reason}.")


def still_coming(info: Any, ms: float) -> LociError:
    return LociError(
        "TIMEOUT",
        f"The service {info['id']} is still {info['status']} after {round(ms)} ms.",
        retryable=True,
        hint="The server goes on with it: call ready() again.",
    )


def no_address(info: Any) -> LociError:
    return LociError(
        "INVALID_STATE",
        f"The service {info['id']} is {info['status']} and has no address yet.",
        retryable=True,
        hint="Wait for it: service.ready()",
    )


def which_one(which: str | None, found: list[Any]) -> Any:
    """The only one, or why there is none: two of one name are not guessed between."""
    if len(found) == 1:
        return found[0]
    named = "there" if which is None else f"called '{which}'"
    if len(found) > 1:
        slugs = ", ".join(str(info["slug"]) for info in found[:5])
        raise LociError(
            "INVALID_REQUEST",
            f"{len(found)} services are {named}; which one is meant?",
            hint=f"Name it by its slug, such as {slugs}.",
        )
    raise LociError(
        "NOT_FOUND",
        "There is no service yet." if which is None else f"No service is {named}.",
        status=404,
        hint="Make one with services.create(name).",
    )


def is_id(which: str | None) -> bool:
    return which is not None and re.fullmatch(r"svc_[0-9a-z]{26}", which) is not None
