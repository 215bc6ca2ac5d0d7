"""The one error of the client: what a server refused, or why there is no answer of one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any


class LociError(Exception):
    """What was refused, and what to do next.

    ``code`` is the contract, and servers may add codes. Four of them no server of ours said:
    ``NETWORK_FAILURE`` and ``TIMEOUT`` (the answer was lost, and with it whether the request was done),
    ``UNEXPECTED_ANSWER`` (something in between answered, or the answer is no JSON) and
    ``INVALID_REQUEST`` (nothing was sent).
    """

    code: str
    #: 0 where there was no answer.
    status: int
    request_id: str | None
    #: May the very same request succeed later?
    retryable: bool
    retry_after_ms: float | None
    hint: str | None
    details: Any
    #: Above 1, a NOT_FOUND of a DELETE may be the work of an earlier attempt whose answer was lost.
    attempts: int

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int = 0,
        request_id: str | None = None,
        retryable: bool = False,
        retry_after_ms: float | None = None,
        hint: str | None = None,
        details: Any = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self.request_id = request_id
        self.retryable = retryable
        self.retry_after_ms = retry_after_ms
        self.hint = hint
        self.details = details
        self.attempts = 1

    def __str__(self) -> str:
        return f"{self.code}: {self.args[0]}" + (f" {self.hint}" if self.hint else "")

    @property
    def message(self) -> str:
        return str(self.args[0])


def invalid(message: str, hint: str | None = None) -> LociError:
    """Nothing was sent."""
    return LociError("INVALID_REQUEST", message, hint=hint)


def refusal_of(status: int, headers: Mapping[str, str], body: Any) -> LociError:
    """Both letter cases: the daemon writes requestId, management request_id. The billing webhook's `error` is text."""
    said = body.get("error") if isinstance(body, dict) else None
    error: dict[str, Any] = said if isinstance(said, dict) else {}
    request_id = _text(error.get("requestId", error.get("request_id"))) or headers.get("x-request-id")
    retry_after_ms = _retry_after_ms_of(error)
    if retry_after_ms is None:
        retry_after_ms = _ms_of(headers.get("retry-after"))
    code = error.get("code")
    if not isinstance(code, str):
        message = _text(said) or f"{status} came from something that is not loci; check the url of the client."
        return LociError(
            "UNEXPECTED_ANSWER",
            message,
            status=status,
            request_id=request_id,
            retryable=status in (502, 503, 504),
            retry_after_ms=retry_after_ms,
            details=body,
        )
    return LociError(
        code,
        _text(error.get("message")) or code,
        status=status,
        request_id=request_id,
        retryable=error.get("retryable") is True,
        retry_after_ms=retry_after_ms,
        hint=_text(error.get("hint")),
        details=error.get("details"),
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _retry_after_ms_of(error: Mapping[str, Any]) -> float | None:
    """Milliseconds of the daemon, seconds of management."""
    for field, ms in (("retryAfterMs", 1), ("retry_after", 1_000)):
        value = error.get(field)
        if isinstance(value, (int, float)):
            return value * ms
    return None


def _ms_of(retry_after: str | None) -> float | None:
    """Retry-After in seconds, or as a date from what stands in between."""
    if retry_after is None:
        return None
    if retry_after.isascii() and retry_after.isdigit():
        return int(retry_after) * 1_000.0
    try:
        at = parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    if at.tzinfo is None:
        at = at.replace(tzinfo=timezone.utc)
    return max(0.0, (at - datetime.now(timezone.utc)).total_seconds() * 1_000)
