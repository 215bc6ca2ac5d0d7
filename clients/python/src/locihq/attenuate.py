"""Narrowing a capability offline: the holder of a delegation signs a further link with fewer rights, databases or
time. Nobody is asked; the server verifies.
"""

from __future__ import annotations

import base64
import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

from .ed25519 import new_seed, public_key, sign
from .error import LociError, invalid
from .ids import new_id


class DelegationKey(TypedDict):
    kty: Literal["OKP"]
    crv: Literal["Ed25519"]
    x: str
    d: str


class Delegation(TypedDict):
    """As a token's `delegation` comes from management: a chain that ends in a key, and that key."""

    chain: str
    key: DelegationKey


_CHILD_HEADER = {"alg": "EdDSA", "typ": "loci-cap-att+jwt"}


def attenuate(
    parent: Delegation | Mapping[str, Any],
    *,
    ops: Sequence[str] | None = None,
    databases: Sequence[str] | None = None,
    keyspaces: Sequence[str] | None = None,
    ttl_seconds: int | None = None,
) -> str:
    """A token with fewer rights, to be used as it is.

    `ops` are rights such as `memory:read`; what is not given is inherited. `databases` are meant in every domain that
    the parent has; `keyspaces` are `<domain>/<database>` instead.
    """
    return f"{parent['chain']}~{_signed(parent, ops, databases, keyspaces, ttl_seconds, None)}"


def delegate(
    parent: Delegation | Mapping[str, Any],
    *,
    ops: Sequence[str] | None = None,
    databases: Sequence[str] | None = None,
    keyspaces: Sequence[str] | None = None,
    ttl_seconds: int | None = None,
) -> Delegation:
    """The same with a key of its own, which its receiver can narrow again."""
    seed = new_seed()
    x = _base64url(public_key(seed))
    chain = f"{parent['chain']}~{_signed(parent, ops, databases, keyspaces, ttl_seconds, x)}"
    return {"chain": chain, "key": {"kty": "OKP", "crv": "Ed25519", "x": x, "d": _base64url(seed)}}


def claims_of(link: str) -> dict[str, Any]:
    """Read, not verified: the server verifies."""
    try:
        claims = json.loads(_bytes_of(link.split(".")[1]))
    except (IndexError, ValueError) as cause:
        raise invalid("This is not a capability; was it cut or wrapped?") from cause
    if not isinstance(claims, dict):
        raise invalid("This is not a capability; was it cut or wrapped?")
    return claims


def _signed(
    parent: Delegation | Mapping[str, Any],
    ops: Sequence[str] | None,
    databases: Sequence[str] | None,
    keyspaces: Sequence[str] | None,
    ttl_seconds: int | None,
    holder: str | None,
) -> str:
    links = str(parent["chain"]).split("~")
    root, last = claims_of(links[0]), claims_of(links[-1])
    key = parent["key"]
    if last.get("cnf", {}).get("jwk", {}).get("x") != key["x"]:
        raise _refused("the key does not belong to the end of the chain")
    if len(links) > root.get("del_max", 0):
        raise _refused("the token was made for fewer links")
    child: dict[str, Any] = {
        "par": _base64url(hashlib.sha256(links[-1].encode()).digest()),
        "ops": list(last["ops"] if ops is None else ops),
        "ks": list(keyspaces) if keyspaces is not None else _keyspaces_of(last["ks"], databases),
        "exp": last["exp"] if ttl_seconds is None else min(last["exp"], int(time.time()) + ttl_seconds),
        "jti": new_id("cap"),
    }
    if holder is not None:
        child["cnf"] = {"jwk": {"kty": "OKP", "crv": "Ed25519", "x": holder}}
    if not all(op in last["ops"] for op in child["ops"]):
        raise _refused("it would have rights that the token has not")
    if not all(any(_covers(held, keyspace) for held in last["ks"]) for keyspace in child["ks"]):
        raise _refused("it would reach databases that the token does not")
    text = f"{_encode(_CHILD_HEADER)}.{_encode(child)}"
    return f"{text}.{_base64url(sign(_bytes_of(key['d']), text.encode()))}"


def _keyspaces_of(held: Sequence[str], databases: Sequence[str] | None) -> list[str]:
    """Each of the databases in the domains in which the parent reaches it; in none of them is a mistake."""
    if databases is None:
        return list(held)
    domains = list(dict.fromkeys(keyspace.split("/")[0] for keyspace in held))
    made: list[str] = []
    for database in databases:
        asked = [f"{domain}/{database}" for domain in domains]
        covered = [keyspace for keyspace in asked if any(_covers(one, keyspace) for one in held)]
        made += covered or asked
    return made


def _covers(held: str, asked: str) -> bool:
    held_domain, _, held_database = held.partition("/")
    domain, _, database = asked.partition("/")
    return held_domain in ("*", domain) and held_database in ("*", database)


def _encode(value: Mapping[str, Any]) -> str:
    return _base64url(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _bytes_of(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _refused(reason: str) -> LociError:
    return invalid(f"The capability cannot be narrowed so: {reason}.")
