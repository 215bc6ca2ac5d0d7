"""Services of an organization: made, awaited, found, deleted."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from ..calls import NO_KEY, NO_OPTIONS, KeyedOptions, Options
from ..error import LociError
from ..frames import ServiceEvent
from ..progress import Progress, is_id, not_coming, progress_of, still_coming, which_one
from .creating import creating
from .following import follow
from .pages import AsyncPaged, Page
from .runtime import Lock, sleep
from .user import AsyncUser

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..daemon import AsyncDaemon, DatabaseDeleted, DatabaseErasing, DatabaseListDatabasesItem
    from ..management import (
        Operation,
        ServiceArguments,
        TokenListTokensItem,
        TokenRequest,
        TokenResponse,
    )
    from ..management import Service as Described
    from .connection import AsyncConnection
    from .creating import AsyncCreating
    from .loci import AsyncLoci

_PAGE = 100


class AsyncServices:
    def __init__(self, loci: AsyncLoci) -> None:
        self._loci = loci

    def create(
        self,
        name: str,
        *,
        type: str = "memory",
        options: KeyedOptions = NO_KEY,
        **given: Unpack[ServiceArguments],
    ) -> AsyncCreating:
        """The service as soon as it was accepted, or with `.ready()` when it serves. A repeat of a request whose
        answer was lost makes no second one.
        """
        return creating(self._create({"name": name, "service_type": type, **given}, options))

    async def _create(self, body: Any, options: KeyedOptions) -> AsyncService:
        answer = await self._loci.management.call("POST /api/v1/services", body=body, **options)
        # `/api/v1/operations/op_…`
        operation = answer.headers.get("operation-location", "").split("/")[-1]
        return AsyncService(self._loci, answer.body["service_id"], operation=operation or None)

    async def get(self, which: str, *, options: Options = NO_OPTIONS) -> AsyncService:
        """By id, slug or name."""
        service = AsyncService(self._loci, which)
        await service.describe(options=options)
        return service

    def list(
        self,
        *,
        status: str | None = None,
        type: str | None = None,
        tenant_id: str | None = None,
        options: Options = NO_OPTIONS,
    ) -> AsyncPaged[AsyncService]:
        """Newest first."""

        async def read(next: str | None) -> Page[AsyncService]:
            offset = int(next or 0)
            query: Any = {
                "status": status,
                "service_type": type,
                "tenant_id": tenant_id,
                "limit": _PAGE,
                "offset": offset,
            }
            body = (await self._loci.management.call("GET /api/v1/services", query=query, **options)).body
            items = [AsyncService(self._loci, info["id"], info=info) for info in body["services"]]
            return Page(items, None if len(items) < _PAGE else str(offset + len(items)))

        return AsyncPaged(read)

    async def delete(self, which: str | AsyncService, *, options: Options = NO_OPTIONS) -> Operation:
        """With everything in it."""
        service = AsyncService(self._loci, which) if isinstance(which, str) else which
        return await service.delete(options=options)


class AsyncService:
    #: Where it was last said to be.
    endpoint: str | None

    def __init__(
        self,
        loci: AsyncLoci,
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

    def user(self, name: str) -> AsyncUser:
        """One user (or team, agent, project) is a database of the service. It comes into being with its first
        write.
        """

        async def connect() -> AsyncConnection:
            return await self._loci.connect_daemon(self, {"x-loci-database": name})

        return AsyncUser(name, connect)

    def users(self, *, options: Options = NO_OPTIONS) -> AsyncPaged[DatabaseListDatabasesItem]:
        """Everybody of whom something is kept, by name, and how much. A token needs the right `operator` for it."""

        async def read(cursor: str | None) -> Page[DatabaseListDatabasesItem]:
            daemon = await self._operator()
            query: Any = {"cursor": cursor}
            body = (await daemon.call("GET /v1/databases", query=query, **options)).body
            return Page(body["databases"], body["nextCursor"])

        return AsyncPaged(read)

    async def forget_user(
        self, user: str | AsyncUser, *, options: Options = NO_OPTIONS
    ) -> DatabaseDeleted | DatabaseErasing:
        """Erases everything of a user. From now on nothing of it is read; `deleted` is false where it is still being
        erased. A token needs the right `operator` for it.
        """
        daemon = await self._operator()
        name = user if isinstance(user, str) else user.name
        return (await daemon.call("DELETE /v1/databases/{name}", path={"name": name}, **options)).body

    async def describe(self, *, options: Options = NO_OPTIONS) -> Described:
        """How it is now."""
        path = {"id": self.id or str((await self._find(options))["id"])}
        info = (await self._loci.management.call("GET /api/v1/services/{id}", path=path, **options)).body
        self._keep(info)
        return info

    async def known(self) -> Mapping[str, Any]:
        """Its description, asked for once, also by many calls at a time."""
        if self._info is not None and self._info.get("endpoint"):
            return self._info
        async with self._asking:
            if self._info is not None and self._info.get("endpoint"):
                return self._info
            return await self.describe()

    async def ready(
        self, *, timeout_ms: float = 120_000, on_progress: Callable[[Progress], None] | None = None
    ) -> AsyncService:
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
                told = await self._look(operation, min(10 if on_progress is None else 1, left_s), told, on_progress)
            info = await self.describe()
            if info["status"] == "active":
                is_told = on_progress is None or told is None or told.status == "succeeded"
                if operation is not None and not is_told:
                    await self._look(operation, 0, told, on_progress)
                return self
            if info["status"] not in ("provisioning", "updating"):
                raise not_coming(info)
            if time.monotonic() >= ends_at:
                raise still_coming(info, timeout_ms)
            operation = info["operation_id"]
            if operation is None:
                await sleep(250)

    async def _look(
        self, id: str, wait: int, told: Progress | None, on_progress: Callable[[Progress], None] | None
    ) -> Progress:
        answer = await self._loci.management.call(
            "GET /api/v1/operations/{id}", path={"id": id}, query={"wait": wait}, attempt_ms=(wait + 10) * 1_000
        )
        progress = progress_of(answer.body)
        if progress != told and on_progress is not None:
            on_progress(progress)
        return progress

    async def delete(self, *, options: Options = NO_OPTIONS) -> Operation:
        """With everything in it."""
        path = {"id": self.id or (await self.describe())["id"]}
        return (await self._loci.management.call("DELETE /api/v1/services/{id}", path=path, **options)).body

    async def create_token(
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
        info = await self.known()
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
        answer = await self._loci.management.call("POST /api/v1/tenants/{id}/tokens", path=path, body=body, **options)
        return answer.body

    def tokens(self, *, options: Options = NO_OPTIONS) -> AsyncPaged[TokenListTokensItem]:
        """Newest first, never their text."""

        async def read(cursor: str | None) -> Page[TokenListTokensItem]:
            info = await self.known()
            path = {"id": str(info["tenant_id"])}
            query: Any = {"service_id": info["id"], "cursor": cursor}
            answer = await self._loci.management.call(
                "GET /api/v1/tenants/{id}/tokens", path=path, query=query, **options
            )
            return Page(answer.body["tokens"], answer.body["next_cursor"])

        return AsyncPaged(read)

    async def revoke_token(self, token_id: str, *, options: Options = NO_OPTIONS) -> None:
        """Every daemon refuses it within seconds, and every link that was made from it."""
        info = await self.known()
        await self._loci.management.call(
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
    ) -> AsyncIterator[ServiceEvent]:
        """What happens in all of its databases; the rest is as of `user().events()`."""

        async def connect() -> AsyncConnection:
            return await self._loci.connect_daemon(self, {})

        return follow(connect, "/v1/events", after=after, on_open=on_open, on_break=on_break, on_position=on_position)

    async def daemon(self, database: str | None = None) -> AsyncDaemon:
        """The calls below these verbs, by `METHOD /path`; `database` is that of the header."""
        return cast("AsyncDaemon", await self._loci.connect_daemon(self, {"x-loci-database": database}))

    async def _operator(self) -> AsyncDaemon:
        return cast("AsyncDaemon", await self._loci.connect_operator(self))

    async def _find(self, options: Options) -> Mapping[str, Any]:
        found: list[Mapping[str, Any]] = []
        async for service in AsyncServices(self._loci).list(options=options):
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
