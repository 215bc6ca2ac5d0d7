# Generated from clients/python/src/locihq/_async/services.py by scripts/documents.ts; run that, do not edit this.

"""Services of an organization: made, awaited, found, deleted."""

from __future__ import annotations

import time
from collections.abc import Iterator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from ..calls import NO_KEY, NO_OPTIONS, KeyedOptions, Options
from ..error import LociError
from ..frames import ServiceEvent
from ..progress import Progress, is_id, not_coming, progress_of, still_coming, which_one
from .creating import creating
from .following import follow
from .pages import Paged, Page
from .runtime import Lock, sleep
from .user import User

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..daemon import Daemon, DatabaseDeleted, DatabaseErasing, DatabaseListDatabasesItem
    from ..management import (
        Operation,
        ServiceArguments,
        TokenListTokensItem,
        TokenRequest,
        TokenResponse,
    )
    from ..management import Service as Described
    from .connection import Connection
    from .creating import Creating
    from .loci import Loci

_PAGE = 100


class Services:
    def __init__(self, loci: Loci) -> None:
        self._loci = loci

    def create(
        self,
        name: str,
        *,
        type: str = "memory",
        options: KeyedOptions = NO_KEY,
        **given: Unpack[ServiceArguments],
    ) -> Creating:
        """The service as soon as it was accepted, or with `.ready()` when it serves. A repeat of a request whose
        answer was lost makes no second one.
        """
        return creating(self._create({"name": name, "service_type": type, **given}, options))

    def _create(self, body: Any, options: KeyedOptions) -> Service:
        answer = self._loci.management.call("POST /api/v1/services", body=body, **options)
        # `/api/v1/operations/op_…`
        operation = answer.headers.get("operation-location", "").split("/")[-1]
        return Service(self._loci, answer.body["service_id"], operation=operation or None)

    def get(self, which: str, *, options: Options = NO_OPTIONS) -> Service:
        """By id, slug or name."""
        service = Service(self._loci, which)
        service.describe(options=options)
        return service

    def list(
        self,
        *,
        status: str | None = None,
        type: str | None = None,
        tenant_id: str | None = None,
        options: Options = NO_OPTIONS,
    ) -> Paged[Service]:
        """Newest first."""

        def read(next: str | None) -> Page[Service]:
            offset = int(next or 0)
            query: Any = {
                "status": status,
                "service_type": type,
                "tenant_id": tenant_id,
                "limit": _PAGE,
                "offset": offset,
            }
            body = (self._loci.management.call("GET /api/v1/services", query=query, **options)).body
            items = [Service(self._loci, info["id"], info=info) for info in body["services"]]
            return Page(items, None if len(items) < _PAGE else str(offset + len(items)))

        return Paged(read)

    def delete(self, which: str | Service, *, options: Options = NO_OPTIONS) -> Operation:
        """With everything in it."""
        service = Service(self._loci, which) if isinstance(which, str) else which
        return service.delete(options=options)


class Service:
    #: Where it was last said to be.
    endpoint: str | None

    def __init__(
        self,
        loci: Loci,
        which: str | None,
        *,
        info: Mapping[str, Any] | None = None,
        operation: str | None = None,
    ) -> None:
        """`which` is an id, a slug or a name; None: the only one there is. Nothing is asked before it is needed."""
        self._loci = loci
        self._which = which
        self._operation = operation
        self._info: Mapping[str, Any] | None = None
        self._asking = Lock()
        self.endpoint = None
        if info is not None:
            self._keep(info)

    @property
    def id(self) -> str | None:
        """Known at once where the service was made or named by id; else after the first request."""
        if self._info is not None:
            return str(self._info["id"])
        return self._which if is_id(self._which) else None

    @property
    def info(self) -> Mapping[str, Any] | None:
        """As it was last described; a list shows less of each than asking for one."""
        return self._info

    def user(self, name: str) -> User:
        """One user (or team, agent, project) is a database of the service. It comes into being with its first
        write.
        """

        def connect() -> Connection:
            return self._loci.connect_daemon(self, {"x-loci-database": name})

        return User(name, connect)

    def users(self, *, options: Options = NO_OPTIONS) -> Paged[DatabaseListDatabasesItem]:
        """Everybody of whom something is kept, by name, and how much. A token needs the right `operator` for it."""

        def read(cursor: str | None) -> Page[DatabaseListDatabasesItem]:
            daemon = self._operator()
            query: Any = {"cursor": cursor}
            body = (daemon.call("GET /v1/databases", query=query, **options)).body
            return Page(body["databases"], body["nextCursor"])

        return Paged(read)

    def forget_user(
        self, user: str | User, *, options: Options = NO_OPTIONS
    ) -> DatabaseDeleted | DatabaseErasing:
        """Erases everything of a user. From now on nothing of it is read; `deleted` is false where it is still being
        erased. A token needs the right `operator` for it.
        """
        daemon = self._operator()
        name = user if isinstance(user, str) else user.name
        return (daemon.call("DELETE /v1/databases/{name}", path={"name": name}, **options)).body

    def describe(self, *, options: Options = NO_OPTIONS) -> Described:
        """How it is now."""
        path = {"id": self.id or str((self._find(options))["id"])}
        info = (self._loci.management.call("GET /api/v1/services/{id}", path=path, **options)).body
        self._keep(info)
        return info

    def known(self) -> Mapping[str, Any]:
        """Its description, asked for once, also by many calls at a time."""
        if self._info is not None and self._info.get("endpoint"):
            return self._info
        with self._asking:
            if self._info is not None and self._info.get("endpoint"):
                return self._info
            return self.describe()

    def ready(
        self, *, timeout_ms: float = 120_000, on_progress: Callable[[Progress], None] | None = None
    ) -> Service:
        """Answers when it serves; raises with the reason when it will not. `on_progress` is called with what is known
        at first, and after each change.
        """
        ends_at = time.monotonic() + timeout_ms / 1_000
        told: Progress | None = None
        operation = self._operation
        while True:
            # Steps are told as they pass, so no longer than a second between two looks.
            if operation is not None:
                left_s = int(max(0.0, ends_at - time.monotonic())) + 1
                told = self._look(operation, min(10 if on_progress is None else 1, left_s), told, on_progress)
            info = self.describe()
            if info["status"] == "active":
                is_told = on_progress is None or told is None or told.status == "succeeded"
                if operation is not None and not is_told:
                    self._look(operation, 0, told, on_progress)
                return self
            if info["status"] not in ("provisioning", "updating"):
                raise not_coming(info)
            if time.monotonic() >= ends_at:
                raise still_coming(info, timeout_ms)
            operation = info["operation_id"]
            if operation is None:
                sleep(250)

    def _look(
        self, id: str, wait: int, told: Progress | None, on_progress: Callable[[Progress], None] | None
    ) -> Progress:
        answer = self._loci.management.call(
            "GET /api/v1/operations/{id}", path={"id": id}, query={"wait": wait}, attempt_ms=(wait + 10) * 1_000
        )
        progress = progress_of(answer.body)
        if progress != told and on_progress is not None:
            on_progress(progress)
        return progress

    def delete(self, *, options: Options = NO_OPTIONS) -> Operation:
        """With everything in it."""
        path = {"id": self.id or (self.describe())["id"]}
        return (self._loci.management.call("DELETE /api/v1/services/{id}", path=path, **options)).body

    def create_token(
        self,
        *,
        databases: Sequence[str] | None = None,
        ops: Sequence[str] | None = None,
        ttl_seconds: int | None = None,
        depth: int | None = None,
        name: str | None = None,
        options: Options = NO_OPTIONS,
    ) -> TokenResponse:
        """A token for this service, for somebody else. It is shown once."""
        info = self.known()
        body: TokenRequest = {"service_id": info["id"]}
        if databases is not None:
            body["databases"] = [*databases]
        if ops is not None:
            body["ops"] = [*ops]
        if ttl_seconds is not None:
            body["ttl_seconds"] = ttl_seconds
        if depth is not None:
            body["max_delegation_depth"] = depth
        if name is not None:
            body["name"] = name
        path = {"id": str(info["tenant_id"])}
        answer = self._loci.management.call("POST /api/v1/tenants/{id}/tokens", path=path, body=body, **options)
        return answer.body

    def tokens(self, *, options: Options = NO_OPTIONS) -> Paged[TokenListTokensItem]:
        """Newest first, never their text."""

        def read(cursor: str | None) -> Page[TokenListTokensItem]:
            info = self.known()
            path = {"id": str(info["tenant_id"])}
            query: Any = {"service_id": info["id"], "cursor": cursor}
            answer = self._loci.management.call(
                "GET /api/v1/tenants/{id}/tokens", path=path, query=query, **options
            )
            return Page(answer.body["tokens"], answer.body["next_cursor"])

        return Paged(read)

    def revoke_token(self, token_id: str, *, options: Options = NO_OPTIONS) -> None:
        """Every daemon refuses it within seconds, and every link that was made from it."""
        info = self.known()
        self._loci.management.call(
            "DELETE /api/v1/tenants/{id}/tokens/{token_id}",
            path={"id": str(info["tenant_id"]), "token_id": token_id},
            query={"service_id": info["id"]},
            **options,
        )

    def events(
        self,
        *,
        after: str | None = None,
        on_open: Callable[[], None] | None = None,
        on_break: Callable[[LociError | None], None] | None = None,
        on_position: Callable[[str], None] | None = None,
    ) -> Iterator[ServiceEvent]:
        """What happens in all of its databases; the rest is as of `user().events()`."""

        def connect() -> Connection:
            return self._loci.connect_daemon(self, {})

        return follow(connect, "/v1/events", after=after, on_open=on_open, on_break=on_break, on_position=on_position)

    def daemon(self, database: str | None = None) -> Daemon:
        """The calls below these verbs, by `METHOD /path`; `database` is that of the header."""
        return cast("Daemon", self._loci.connect_daemon(self, {"x-loci-database": database}))

    def _operator(self) -> Daemon:
        return cast("Daemon", self._loci.connect_operator(self))

    def _find(self, options: Options) -> Mapping[str, Any]:
        found: list[Mapping[str, Any]] = []
        for service in Services(self._loci).list(options=options):
            info = service.info or {}
            # A slug is the only one of its kind; a name need not be.
            if self._which is not None and info.get("slug") == self._which:
                return info
            if self._which is None or info.get("name") == self._which:
                found.append(info)
        only: Mapping[str, Any] = which_one(self._which, found)
        return only

    def _keep(self, info: Any) -> None:
        self._info = info
        self.endpoint = info.get("endpoint")
