# Generated from clients/python/src/locihq/_async/connection.py by scripts/documents.ts; run that, do not edit this.

"""Calls of one server: a request, its retries, its error."""

from __future__ import annotations

import time
from collections.abc import Iterator, Callable, Mapping
from contextlib import contextmanager
from typing import Any

import httpx2

from ..calls import (
    NOTHING,
    Answer,
    Bounds,
    PathParameters,
    Prepared,
    backoff_ms,
    base_of,
    body_of,
    check_headers,
    may_repeat,
    moved_to,
    prepare,
)
from ..error import LociError, refusal_of
from ..spans import CallSpan, Telemetry, call_span
from .runtime import OutOfTime, sleep, within


class Connection:
    """For any document of ours; `keyed` are the operations that honour an Idempotency-Key."""

    def __init__(
        self,
        http: httpx2.Client,
        url: str,
        *,
        keyed: frozenset[str],
        bounds: Bounds,
        telemetry: Telemetry | None,
        headers: Callable[[], Mapping[str, str | None]],
        renew: Callable[[], bool] | None = None,
        moved: Callable[[str], None] | None = None,
    ) -> None:
        """`headers` are asked for before each attempt, so that a renewed credential is used at once. `renew`: after a
        401, at most once in a call, whether there is another credential to ask again with. `moved`: the server said
        that the service is elsewhere.
        """
        self._http = http
        self._home = base_of(url)
        self._keyed = keyed
        self._bounds = bounds
        self._telemetry = telemetry
        self._headers = headers
        self._renew = renew
        self._moved = moved

    def call(
        self,
        name: str,
        *,
        path: PathParameters | None = None,
        query: Mapping[str, Any] | None = None,
        body: Any = NOTHING,
        headers: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
        repeatable: bool = False,
        **patience: Any,
    ) -> Answer[Any]:
        bounds = self._bounds.of(patience)
        with call_span(self._telemetry, name, self._home, path, None if body is NOTHING else body) as span:
            request = prepare(
                name,
                path=path,
                query=query,
                body=body,
                headers=headers or {},
                repeatable=repeatable,
                idempotency_key=idempotency_key,
                is_keyed=name in self._keyed,
                attempts_max=bounds.attempts_max,
            )
            answer = self._repeated(request, bounds, span)
            span.answered(answer)
            return answer

    def _repeated(self, request: Prepared, bounds: Bounds, span: CallSpan) -> Answer[Any]:
        ends_at = time.monotonic() + bounds.deadline_ms / 1_000
        base = self._home
        followed = renewed = False
        attempt = 0
        while True:
            attempt += 1
            fields = check_headers({**self._headers(), **span.headers, **request.headers})
            span.within(fields.get("x-loci-database"))
            left_ms = (ends_at - time.monotonic()) * 1_000
            outcome = self._ask(base, request, fields, max(1.0, min(bounds.attempt_ms, left_ms)))
            if isinstance(outcome, Answer):
                return outcome
            outcome.attempts = attempt
            # Followed once: only the server that was named in the options is believed.
            endpoint = None if followed else moved_to(outcome, self._home)
            if endpoint is not None:
                base, followed = endpoint, True
                if self._moved is not None:
                    self._moved(endpoint)
                continue
            # A 401 promises that nothing was done.
            if outcome.status == 401 and not renewed and self._renew is not None and self._renew():
                renewed = True
                continue
            wait_ms = backoff_ms(attempt) + (outcome.retry_after_ms or 0)
            hopeless = attempt >= bounds.attempts_max or time.monotonic() + wait_ms / 1_000 >= ends_at
            if hopeless or not may_repeat(request, outcome):
                raise outcome
            sleep(wait_ms)

    @contextmanager
    def open(
        self, path: str, *, headers: Mapping[str, str], silence_s: float
    ) -> Iterator[Iterator[bytes]]:
        """A GET whose answer is read as it comes, a stream of events. One attempt: who follows it asks again."""
        attempt = 0
        while True:
            attempt += 1
            fields = check_headers({**self._headers(), "accept": "text/event-stream", **headers})
            patience = httpx2.Timeout(self._bounds.attempt_ms / 1_000, read=silence_s)
            try:
                with self._http.stream(
                    "GET", self._home + path, headers=fields, timeout=patience, follow_redirects=False
                ) as response:
                    if response.is_success:
                        yield response.iter_bytes()
                        return
                    content = response.read()
            except httpx2.TimeoutException as cause:
                raise LociError("TIMEOUT", f"{self._home} went silent.", retryable=True) from cause
            except httpx2.HTTPError as cause:
                raise _unreachable(self._home, cause) from cause
            refusal = _refusal(response, content)
            endpoint = moved_to(refusal, self._home)
            if endpoint is not None and self._moved is not None:
                self._moved(endpoint)
            if refusal.status != 401 or attempt > 1 or self._renew is None or not self._renew():
                raise refusal

    def _ask(self, base: str, request: Prepared, headers: dict[str, str], ms: float) -> Answer[Any] | LociError:
        try:
            status, fields, content = within(ms, self._send(base, request, headers, ms))
        except (OutOfTime, httpx2.TimeoutException) as cause:
            late = LociError("TIMEOUT", f"{base} did not answer within {round(ms)} ms.", retryable=True)
            late.__cause__ = cause
            return late
        except httpx2.HTTPError as cause:
            return _unreachable(base, cause)
        try:
            body = body_of(status, fields, content)
        except LociError as error:
            return error
        if 200 <= status < 300:
            return Answer(status, body, fields, fields.get("x-request-id"))
        return refusal_of(status, fields, body)

    def _send(
        self, base: str, request: Prepared, headers: Mapping[str, str], ms: float
    ) -> tuple[int, httpx2.Headers, bytes]:
        ends_at = time.monotonic() + ms / 1_000
        # A redirect would carry the credential to wherever it points.
        with self._http.stream(
            request.method,
            base + request.target,
            headers=headers,
            content=request.content,
            timeout=ms / 1_000,
            follow_redirects=False,
        ) as response:
            content = bytearray()
            for chunk in response.iter_bytes():
                content += chunk
                # An answer that trickles keeps every wait for a piece of it short.
                if time.monotonic() > ends_at:
                    raise OutOfTime
            return response.status_code, response.headers, bytes(content)


def _refusal(response: httpx2.Response, content: bytes) -> LociError:
    try:
        return refusal_of(
            response.status_code, response.headers, body_of(response.status_code, response.headers, content)
        )
    except LociError as error:
        return error


def _unreachable(base: str, cause: httpx2.HTTPError) -> LociError:
    reason = f" ({cause})" if str(cause) else f" ({type(cause).__name__})"
    error = LociError(
        "NETWORK_FAILURE", f"{base} could not be reached, or went away before it had answered{reason}.", retryable=True
    )
    error.__cause__ = cause
    return error
