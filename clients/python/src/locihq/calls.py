"""What is asked and what is answered, without sending it: one request of a call, and whether it may be sent again.

A request is repeated only where a repeat cannot do harm: GET, PUT, DELETE, and a POST whose route honours an
Idempotency-Key, which the client makes and keeps over its attempts. Everything else is sent once.
"""

from __future__ import annotations

import json
import random
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypedDict, TypeVar
from urllib.parse import quote, urlencode, urlsplit

from .error import LociError, invalid

Body = TypeVar("Body")

PathParameters = Mapping[str, "str | int"]

#: Of a body: nothing is sent. None is JSON's null.
NOTHING: Any = object()

_BACKOFF_MS_MIN = 200
_BACKOFF_MS_MAX = 5_000


class Patience(TypedDict, total=False):
    #: How long one attempt may take, its body included.
    attempt_ms: float
    #: How long a call may take with all its attempts and the waits between them.
    deadline_ms: float
    attempts_max: int


class Options(Patience, total=False):
    """Of one call of a verb."""


class KeyedOptions(Options, total=False):
    """Of a verb that is repeated by its key."""

    #: Yours instead of one that the client makes: the same key is done once within a day.
    idempotency_key: str


NO_OPTIONS: Options = {}
NO_KEY: KeyedOptions = {}


class CallOptions(Patience, total=False):
    headers: Mapping[str, str]
    #: The server recognises a repeat of this body by itself, so it may be sent again and needs no Idempotency-Key.
    repeatable: bool


@dataclass(frozen=True)
class Answer(Generic[Body]):
    status: int
    body: Body
    headers: Mapping[str, str]
    request_id: str | None


@dataclass(frozen=True)
class Bounds:
    """Thirty seconds, because a fail-over of the store takes twenty: a call rides it out."""

    attempt_ms: float = 10_000
    deadline_ms: float = 30_000
    attempts_max: int = 12

    def of(self, given: Mapping[str, Any]) -> Bounds:
        return Bounds(
            given.get("attempt_ms", self.attempt_ms),
            given.get("deadline_ms", self.deadline_ms),
            given.get("attempts_max", self.attempts_max),
        )


@dataclass(frozen=True)
class Prepared:
    method: str
    #: Path and query, to be put after the base.
    target: str
    headers: Mapping[str, str]
    content: bytes | None
    repeatable: bool
    #: Its repeat, after an answer that was lost, would meet the version it made itself and look like a conflict.
    conditional: bool


def prepare(
    name: str,
    *,
    path: PathParameters | None,
    query: Mapping[str, Any] | None,
    body: Any,
    headers: Mapping[str, str],
    repeatable: bool,
    idempotency_key: str | None,
    is_keyed: bool,
    attempts_max: int,
) -> Prepared:
    method, _, template = name.partition(" ")
    given = path or {}
    target = re.sub(r"\{([^}]+)\}", lambda match: _segment_of(match[1], given.get(match[1])), template)
    asked = {field: _query_value(value) for field, value in (query or {}).items() if value is not None}
    fields = {"accept": "application/json, text/*"}
    if body is not NOTHING:
        fields["content-type"] = "application/json"
    # The server keeps what it answered under a key, for a day and within the plan: none for what is not repeated.
    keyed = is_keyed and not repeatable and (attempts_max > 1 or idempotency_key is not None)
    if keyed:
        fields["idempotency-key"] = idempotency_key or secrets.token_hex(16)
        # The specification's services route answers the same key with another body as if it were the same; strict
        # makes that an error.
        fields["idempotency-strict"] = "true"
    fields.update({field.lower(): value for field, value in headers.items()})
    return Prepared(
        method=method,
        target=f"{target}?{urlencode(asked, quote_via=quote)}" if asked else target,
        headers=fields,
        content=None if body is NOTHING else _encoded(body),
        repeatable=keyed or repeatable or method in ("GET", "PUT", "DELETE"),
        conditional="if-match" in fields or "if-none-match" in fields,
    )


def _segment_of(parameter: str, value: str | int | None) -> str:
    """`.` and `..` cannot be sent, encoded or not: a URL drops them, and the request would go to another route."""
    if value is None:
        raise invalid(f"path[{parameter!r}] is missing: it stands in the path as {{{parameter}}}.")
    text = str(value)
    if text in ("", ".", "..") or not _is_unicode(text):
        raise invalid(f"{text!r} cannot stand in a path as {{{parameter}}}; choose another one.")
    return quote(text, safe="")


def _query_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _encoded(body: Any) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError) as cause:
        raise invalid(f"the body cannot be written as JSON: {cause}.") from cause


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def base_of(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise invalid("the url must begin with http:// or https://")
    # Not quoted: what is refused here may be a password.
    if parts.username or parts.password or parts.query or parts.fragment:
        raise invalid("the url must have no user, query or fragment; give the credential as an option of its own")
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def check_headers(fields: Mapping[str, str | None]) -> dict[str, str]:
    """Before anything sees them whose own error would quote the credential."""
    headers: dict[str, str] = {}
    for name, value in fields.items():
        if value is None:
            continue
        if not re.fullmatch(r"[\t\x20-\x7e]*", value):
            raise invalid(
                f"the value of the header {name} has characters that no header can carry; was it cut or wrapped?"
            )
        headers[name] = value
    return headers


def moved_to(refusal: LociError, home: str) -> str | None:
    """A cell that no longer has the instance says where it is."""
    details: Any = refusal.details
    if refusal.status != 421 or refusal.code != "SERVICE_MOVED" or not isinstance(details, dict):
        return None
    try:
        base = base_of(str(details.get("endpoint")))
    except LociError:
        return None
    # Who was asked over https must not make us say the credential in the clear.
    return None if home.startswith("https:") and not base.startswith("https:") else base


def may_repeat(request: Prepared, refusal: LociError) -> bool:
    if not request.repeatable:
        return False
    code, status = refusal.code, refusal.status
    if code == "IDEMPOTENCY_IN_PROGRESS" or status == 408:
        return True
    if code in ("NETWORK_FAILURE", "TIMEOUT"):
        return not request.conditional
    # OUTCOME_UNKNOWN, and INTERNAL_ERROR where the specification has it for the same: done or not, the key makes it
    # once.
    if code == "UNEXPECTED_ANSWER" or status == 500:
        return refusal.retryable and not request.conditional
    # Without a time to come back, a 503 is a sub-service that an operator switched off.
    return status in (429, 503) and refusal.retry_after_ms is not None


def backoff_ms(attempt: int) -> float:
    """Between half and all of a span that doubles: clients that failed together do not come back together."""
    span = min(_BACKOFF_MS_MAX, _BACKOFF_MS_MIN * 2 ** (attempt - 1))
    return float(span * (0.5 + random.random() / 2))


def body_of(status: int, headers: Mapping[str, str], content: bytes) -> Any:
    """JSON where the answer says so, else its text; None for nothing."""
    if not content:
        return None
    if not re.match(r"application/(?:[\w.-]+\+)?json\b", headers.get("content-type", "")):
        return content.decode(errors="replace")
    try:
        return json.loads(content)
    except ValueError as cause:
        message = f"the answer says that it is JSON and is not (status {status})."
        raise LociError("UNEXPECTED_ANSWER", message, status=status, request_id=headers.get("x-request-id")) from cause


def camel(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments as the fields of a body or a query are called on the wire."""
    return {re.sub(r"_([a-z])", lambda match: match[1].upper(), name): value for name, value in fields.items()}


def precondition(if_version: int | None, if_new: bool = False) -> dict[str, str]:
    headers: dict[str, str] = {}
    if if_version is not None:
        headers["if-match"] = f'"{if_version}"'
    if if_new:
        headers["if-none-match"] = "*"
    return headers
