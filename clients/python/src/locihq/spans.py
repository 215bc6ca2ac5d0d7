"""Calls as spans of OpenTelemetry. Those on memories follow its GenAI conventions for memory (repository
semantic-conventions-genai, status Development); all others are named by the method and template of their route.

Without the package opentelemetry-api nothing happens. Spans hold no content unless it is asked for: no text, no key of
the user, no message of an error.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from .error import LociError
from .memory_calls import MemoryCall, memory_call_of, records_text

if TYPE_CHECKING:
    from opentelemetry.trace import Span, StatusCode, TracerProvider

    from .calls import Answer

try:
    from opentelemetry import trace
except ImportError:
    trace = None  # type: ignore[assignment]

_SCOPE = "locihq"
_CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


@dataclass(frozen=True)
class Telemetry:
    #: Default: the one that the program registered, if any.
    provider: TracerProvider | None = None
    #: Questions and memories too, as gen_ai.memory.query.text and gen_ai.memory.records. Default: as the variable
    #: OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT says it of all GenAI libraries, else not.
    content: bool | None = None

    @property
    def has_content(self) -> bool:
        return os.environ.get(_CONTENT, "").lower() == "true" if self.content is None else self.content


class CallSpan:
    """One call with all its attempts, where nobody looks."""

    @property
    def headers(self) -> dict[str, str]:
        """What makes the server's span a part of this trace."""
        return {}

    def within(self, database: str | None) -> None:
        """Notes the database of the request, once its headers are known."""

    def answered(self, answer: Answer[Any]) -> None:
        pass


class _RecordedSpan(CallSpan):
    def __init__(self, span: Span, memory: MemoryCall | None, has_content: bool, error: StatusCode) -> None:
        self._span = span
        self._error = error
        self._memory = memory
        self._told = memory if has_content and span.is_recording() else None
        if self._told is not None:
            self.set("gen_ai.memory.query.text", self._told.query)
            if self._told.sent is not None:
                self.set("gen_ai.memory.records", records_text(self._told.sent))

    @property
    def headers(self) -> dict[str, str]:
        """W3C trace context, unless the span has none: a provider that records nothing may make such."""
        context = self._span.get_span_context()
        if context.trace_id == 0:
            return {}
        return {"traceparent": f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"}

    def within(self, database: str | None) -> None:
        if self._memory is not None:
            self.set("gen_ai.memory.store.id", database)

    def answered(self, answer: Answer[Any]) -> None:
        self.set("http.response.status_code", answer.status)
        self.set("loci.request.id", answer.request_id)
        for name, value in (self._memory.found(answer.body) if self._memory is not None else {}).items():
            self.set(name, value)
        if self._told is not None and self._told.sent is None and self._told.read is not None:
            self.set("gen_ai.memory.records", records_text(self._told.read(answer.body)))

    def set(self, name: str, value: Any) -> None:
        if value is not None:
            self._span.set_attribute(name, value)

    def failed(self, name: str, error: BaseException) -> None:
        status = error.status if isinstance(error, LociError) else 0
        if isinstance(error, LociError):
            self.set("http.response.status_code", status or None)
            self.set("loci.request.id", error.request_id)
        # That there is no such thing answers a GET; everything else did not do what it was called for.
        if status != 404 or not name.startswith("GET "):
            self.set("error.type", error.code if isinstance(error, LociError) else type(error).__name__)
            self._span.set_status(self._error)


@contextmanager
def call_span(
    telemetry: Telemetry | None, name: str, base: str, path: Mapping[str, Any] | None, body: Any
) -> Iterator[CallSpan]:
    """Around a call; `telemetry` is None where no spans are wanted."""
    if telemetry is None or trace is None:
        yield CallSpan()
        return
    memory = memory_call_of(name, path or {}, body)
    given = {**_route_attributes(name, base), **(memory.attributes if memory is not None else {})}
    if memory is not None:
        given.update({"gen_ai.operation.name": memory.operation, "gen_ai.provider.name": "loci"})
    tracer = trace.get_tracer(_SCOPE, tracer_provider=telemetry.provider)
    with tracer.start_as_current_span(
        name if memory is None else memory.operation,
        kind=trace.SpanKind.CLIENT,
        attributes={field: value for field, value in given.items() if value is not None},
        record_exception=False,
        set_status_on_exception=False,
    ) as current:
        span = _RecordedSpan(current, memory, telemetry.has_content, trace.StatusCode.ERROR)
        try:
            yield span
        except BaseException as error:
            span.failed(name, error)
            raise


def _route_attributes(name: str, base: str) -> dict[str, Any]:
    method, _, template = name.partition(" ")
    parts = urlsplit(base)
    return {
        "http.request.method": method,
        "url.template": template,
        "server.address": parts.hostname,
        "server.port": parts.port or (443 if parts.scheme == "https" else 80),
    }
