"""Capabilities that the client asks management for when it needs them. One is kept until shortly before its end, and
given up when a daemon refuses it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..capabilities import CapabilityStore, KeptCapability, kept_from
from ..error import LociError
from .runtime import Lock

if TYPE_CHECKING:
    from ..management import AsyncManagement, TokenRequest, TokenResponse

_TTL_SECONDS = 3_600


class AsyncCapabilities:
    def __init__(
        self,
        management: AsyncManagement,
        store: CapabilityStore | None = None,
        *,
        ops: list[str] | None = None,
        ttl_seconds: int = _TTL_SECONDS,
    ) -> None:
        self._management = management
        self._store = store
        self._ops = ops
        self._ttl_seconds = ttl_seconds
        self._kept: dict[str, KeptCapability] = {}
        self._minting: dict[str, Any] = {}

    async def of(self, service_id: str, tenant_id: str) -> str:
        held = self._held(service_id)
        if held is not None and held.is_fresh:
            return held.token
        # One at a time: who waited finds what the first has made.
        async with self._minting.setdefault(service_id, Lock()):
            held = self._held(service_id)
            if held is not None and held.is_fresh:
                return held.token
            try:
                made = await self._mint(service_id, tenant_id)
            except LociError as error:
                # Daemons serve while management does not: the old one is good for a little while.
                if held is not None and held.is_valid and error.retryable:
                    return held.token
                raise
            kept = self._kept[service_id] = kept_from(made["token"], made["expires_in"])
            if self._store is not None:
                self._store.save(service_id, kept)
            return kept.token

    def refused(self, service_id: str, token: str) -> None:
        """A daemon refused this one: the next is minted."""
        kept = self._kept.get(service_id)
        if kept is None or kept.token != token:
            return
        del self._kept[service_id]
        if self._store is not None:
            self._store.save(service_id, None)

    def _held(self, service_id: str) -> KeptCapability | None:
        kept = self._kept.get(service_id)
        if kept is None and self._store is not None:
            kept = self._store.load(service_id)
            if kept is not None:
                self._kept[service_id] = kept
        return kept

    async def _mint(self, service_id: str, tenant_id: str) -> TokenResponse:
        """For all databases of the service: the holder of an API key is its back end."""
        body: TokenRequest = {
            "service_id": service_id,
            "databases": ["*"],
            "ttl_seconds": self._ttl_seconds,
            "name": "sdk",
        }
        if self._ops is not None:
            body["ops"] = self._ops
        path = {"id": tenant_id}
        try:
            return (await self._management.call("POST /api/v1/tenants/{id}/tokens", path=path, body=body)).body
        except LociError as error:
            # It was made and its answer lost; no server keeps a credential to show it again.
            if error.code != "IDEMPOTENCY_REPLAY_WITHHELD":
                raise
        return (await self._management.call("POST /api/v1/tenants/{id}/tokens", path=path, body=body)).body
