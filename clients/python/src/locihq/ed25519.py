"""Signing with Ed25519 (RFC 8032): by the package `cryptography` where it is installed, else by the arithmetic below.

Both make the same signature of the same key and message. The arithmetic takes milliseconds instead of microseconds,
and its time depends a little on the key: who signs at the wish of others, many times a second and with one key,
installs `locihq[attenuate]`. Nothing is verified here; servers do that.
"""

from __future__ import annotations

import hashlib
import secrets
from typing import TypeAlias

try:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
except ImportError:
    Ed25519PrivateKey = None  # type: ignore[assignment, misc]

_P = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, _P - 2, _P) % _P
#: In extended coordinates: x = X/Z, y = Y/Z, x·y = T/Z.
Point: TypeAlias = "tuple[int, int, int, int]"
_BASE_Y = 4 * pow(5, _P - 2, _P) % _P
_BASE_X = 15112221349535400772501151409588531511454012693041857206046113283949847762202
_BASE: Point = (_BASE_X, _BASE_Y, 1, _BASE_X * _BASE_Y % _P)


def new_seed() -> bytes:
    return secrets.token_bytes(32)


def public_key(seed: bytes) -> bytes:
    if Ed25519PrivateKey is not None:
        return Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
    return _compressed(_times_base(_secret_of(seed)[0]))


def sign(seed: bytes, message: bytes) -> bytes:
    if Ed25519PrivateKey is not None:
        return Ed25519PrivateKey.from_private_bytes(seed).sign(message)
    return sign_slowly(seed, message)


def sign_slowly(seed: bytes, message: bytes) -> bytes:
    """RFC 8032, 5.1.6."""
    scalar, prefix = _secret_of(seed)
    public = _compressed(_times_base(scalar))
    nonce = _number(prefix + message) % _ORDER
    committed = _compressed(_times_base(nonce))
    challenge = _number(committed + public + message) % _ORDER
    return committed + ((nonce + challenge * scalar) % _ORDER).to_bytes(32, "little")


def _secret_of(seed: bytes) -> tuple[int, bytes]:
    if len(seed) != 32:
        raise ValueError("a private key of Ed25519 has 32 bytes")
    digest = hashlib.sha512(seed).digest()
    scalar = int.from_bytes(digest[:32], "little") & ((1 << 254) - 8) | 1 << 254
    return scalar, digest[32:]


def _number(text: bytes) -> int:
    return int.from_bytes(hashlib.sha512(text).digest(), "little")


def _times_base(scalar: int) -> Point:
    """A ladder: as many additions for every scalar."""
    low: Point = (0, 1, 1, 0)
    high = _BASE
    for bit in range(255, -1, -1):
        both = _sum(low, high)
        if scalar >> bit & 1:
            low, high = both, _sum(high, high)
        else:
            low, high = _sum(low, low), both
    return low


def _sum(one: Point, other: Point) -> Point:
    a = (one[1] - one[0]) * (other[1] - other[0]) % _P
    b = (one[1] + one[0]) * (other[1] + other[0]) % _P
    c = 2 * one[3] * other[3] * _D % _P
    d = 2 * one[2] * other[2] % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _compressed(point: Point) -> bytes:
    inverse = pow(point[2], _P - 2, _P)
    x, y = point[0] * inverse % _P, point[1] * inverse % _P
    return (y | (x & 1) << 255).to_bytes(32, "little")
