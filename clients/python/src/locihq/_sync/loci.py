# Generated from clients/python/src/locihq/_async/loci.py by scripts/documents.ts; run that, do not edit this.

"""The client by verbs. One credential is enough: an API key (management, and daemons by capabilities that are minted
when they are needed), or a capability (one service, at its own address).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, cast

import httpx2

from ..attenuate import claims_of
from ..calls import Answer, Bounds
from ..capabilities import CapabilityStore
from ..error import LociError, invalid
from ..keyed import DAEMON_KEYED, MANAGEMENT_KEYED
from ..profile import completed
from ..progress import no_address
from ..spans import Telemetry
from .connection import Connection
from .minting import Capabilities
from .services import Service, Services

if TYPE_CHECKING:
    from typing_extensions import Self

    from ..management import Management


class Loci:
    """What is not given comes from LOCI_URL, LOCI_API_KEY, LOCI_TOKEN and LOCI_SERVICE, then from the profile of the
    command line (`profile` names another one than the active one).

    `url` is that of management, or with a capability as `token` that of its service. `service` is what `service()`
    means where it is not told: id, slug or name. `http_client` is yours: what you give is not closed here.
    `telemetry=False` makes no spans, whatever the program registered.
    """

    services: Services
    #: The calls of management by `METHOD /path`.
    management: Management

    def __init__(
        self,
        *,
        url: str | None = None,
        api_key: str | None = None,
        token: str | None = None,
        service: str | None = None,
        organization: str | None = None,
        profile: str | None = None,
        http_client: httpx2.Client | None = None,
        capabilities: CapabilityStore | None = None,
        telemetry: Telemetry | Literal[False] | None = None,
        attempt_ms: float = 10_000,
        deadline_ms: float = 30_000,
        attempts_max: int = 12,
    ) -> None:
        given = completed(
            url=url, api_key=api_key, token=token, service=service, organization=organization, profile=profile
        )
        if given.url is None:
            raise invalid("The url of loci is missing.", "Loci(url='http://127.0.0.1:4400', api_key='loci_sk_…')")
        is_key = given.token is not None and given.token.startswith("loci_sk_")
        self._api_key = given.api_key or (given.token if is_key else None)
        self._token = None if is_key else given.token
        if self._api_key is None and self._token is None:
            raise invalid("A credential is missing.", "Give api_key='loci_sk_…', or a capability as token.")
        self._url = given.url
        self._organization = given.organization
        self._bounds = Bounds(attempt_ms, deadline_ms, attempts_max)
        self._telemetry = None if telemetry is False else telemetry or Telemetry()
        self._own = http_client is None
        self._http = http_client or httpx2.Client()
        bound = None if self._token is None else claims_of(self._token.split("~")[0]).get("svc")
        self._service = given.service or bound
        self.management = self._connect_management()
        self._capabilities = Capabilities(self.management, capabilities)
        # Over all users only the right of an operator reaches; it is asked for when it is needed, and for minutes.
        self._operators = Capabilities(self.management, ops=["operator"], ttl_seconds=300)
        self.services = Services(self)

    def service(self, which: str | None = None) -> Service:
        """By id, slug or name; without one that of the options, or the only one there is. Nothing is asked yet."""
        return Service(self, which or self._service)

    def close(self) -> None:
        if self._own:
            self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _connect_management(self) -> Management:
        if self._token is not None and self._api_key is None:
            return cast("Management", _NoManagement())

        def headers() -> Mapping[str, str | None]:
            return {"x-api-key": self._api_key, "x-loci-organization": self._organization}

        connection = Connection(
            self._http,
            self._url,
            keyed=MANAGEMENT_KEYED,
            bounds=self._bounds,
            telemetry=self._telemetry,
            headers=headers,
        )
        return cast("Management", connection)

    def connect_daemon(
        self, service: Service, fields: Mapping[str, str | None], _by: Capabilities | None = None
    ) -> Connection:
        """The daemon of a service, with these headers."""

        def moved(endpoint: str) -> None:
            service.endpoint = endpoint

        if self._token is not None:
            token = self._token

            def bound() -> Mapping[str, str | None]:
                return {**fields, "x-loci-capability": token}

            return Connection(
                self._http,
                service.endpoint or self._url,
                keyed=DAEMON_KEYED,
                bounds=self._bounds,
                telemetry=self._telemetry,
                headers=bound,
                moved=moved,
            )
        info = service.known()
        if service.endpoint is None:
            raise no_address(info)
        capabilities = _by or self._capabilities
        used = ""

        def minted() -> Mapping[str, str | None]:
            nonlocal used
            used = capabilities.of(str(info["id"]), str(info["tenant_id"]))
            return {**fields, "x-loci-capability": used}

        def renew() -> bool:
            capabilities.refused(str(info["id"]), used)
            return True

        return Connection(
            self._http,
            service.endpoint,
            keyed=DAEMON_KEYED,
            bounds=self._bounds,
            telemetry=self._telemetry,
            headers=minted,
            renew=renew,
            moved=moved,
        )

    def connect_operator(self, service: Service) -> Connection:
        """With the right of an operator."""
        return self.connect_daemon(service, {}, self._operators)


class _NoManagement:
    """A capability opens its service and nothing of management."""

    def call(self, name: str, **_: Any) -> Answer[Any]:
        raise LociError(
            "INVALID_REQUEST",
            "A capability opens its own service, not management.",
            hint="Give an API key, as api_key or token.",
        )
