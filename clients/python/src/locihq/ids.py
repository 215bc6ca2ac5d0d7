"""Ids are `<type>_` and a UUIDv7 in 26 characters of lower-case Crockford base32: they sort by creation time."""

from __future__ import annotations

import secrets
import time

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def new_id(type: str) -> str:
    ms = time.time_ns() // 1_000_000
    # 48 bits of time, version 7, 12 random, variant 10, 62 random.
    number = (ms & 0xFFFF_FFFF_FFFF) << 80 | 0x7 << 76 | secrets.randbits(12) << 64 | 0b10 << 62 | secrets.randbits(62)
    return type + "_" + "".join(_ALPHABET[number >> shift & 31] for shift in range(125, -1, -5))
