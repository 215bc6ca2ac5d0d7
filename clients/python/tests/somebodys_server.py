"""Somebody's server, which does what it is told, act by act, and then the last one for ever: what stands in between
says things that no loci says.
"""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any


@dataclass
class Act:
    status: int = 200
    body: Any = field(default_factory=lambda: {"ok": True})
    headers: dict[str, str] = field(default_factory=dict[str, str])
    #: `drop` ends the connection without an answer, `hang` never answers, `trickle` does it byte by byte.
    instead: str | None = None


@dataclass
class Seen:
    line: str
    headers: dict[str, str]
    body: str


def refusal(status: int, code: str, headers: dict[str, str] | None = None, **more: Any) -> Act:
    error = {"code": code, "message": f"{code}.", "status": status, "requestId": "req_1", "retryable": False, **more}
    return Act(status, {"error": error}, headers or {})


class SomebodysServer:
    def __init__(self, *acts: Act) -> None:
        self.acts = list(acts) or [Act()]
        self.seen: list[Seen] = []
        self._over = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                outer._answer(self)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        # It looks that often whether it is to end.
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def __enter__(self) -> SomebodysServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        length = int(request.headers.get("content-length", 0))
        body = request.rfile.read(length).decode()
        act = self.acts[min(len(self.seen), len(self.acts) - 1)]
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.seen.append(Seen(f"{request.command} {request.path}", headers, body))
        request.close_connection = True
        if act.instead == "drop":
            return
        if act.instead == "hang":
            self._over.wait(60)
            return
        is_text = isinstance(act.body, str)
        content = act.body.encode() if is_text else json.dumps(act.body).encode()
        request.send_response(act.status)
        given = {"content-type": "text/html" if is_text else "application/json", "x-request-id": "req_header"}
        for name, value in {**given, **act.headers, "content-length": str(len(content)), "connection": "close"}.items():
            request.send_header(name, value)
        request.end_headers()
        if act.instead != "trickle":
            request.wfile.write(content)
            return
        for byte in content:
            if self._over.is_set():
                return
            try:
                request.wfile.write(bytes([byte]))
                request.wfile.flush()
            except OSError:
                return
            time.sleep(0.05)
