"""Whose a thing is: any id of a user as the name of a database, by the rule that `loci import` has."""

from __future__ import annotations

import hashlib
import re

_CHARS_MAX = 64
_PLAIN = re.compile(r"[a-z0-9-]|_(?=[a-z0-9-]|\Z)")


def database_of(id: str) -> str:
    """What a name may have stays as it is; every other byte becomes `__` and two hexadecimal digits, and so does a `_`
    that would make one. So each name stands for one id; those of long ids are digests.
    """
    name = "".join(
        chr(byte) if byte < 0x80 and _PLAIN.match(text, at) else f"__{byte:02x}"
        for text in (id.encode().decode("latin-1"),)
        for at, byte in enumerate(text.encode("latin-1"))
    )
    return name if len(name) <= _CHARS_MAX else f"long__-{hashlib.sha256(id.encode()).hexdigest()[:40]}"
