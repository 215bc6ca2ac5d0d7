"""What needs no server: signatures, narrowing, frames, profiles."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

from locihq import LociError, attenuate, database_of, delegate
from locihq.attenuate import claims_of
from locihq.ed25519 import new_seed, public_key, sign, sign_slowly
from locihq.frames import Frames, event_of
from locihq.ids import new_id
from locihq.profile import completed

# RFC 8032, 7.1: tests 1 to 3.
VECTORS = (
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
)


def encoded(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def delegation(depth: int = 2) -> Any:
    seed = new_seed()
    x = base64.urlsafe_b64encode(public_key(seed)).decode().rstrip("=")
    claims = {
        "ops": ["memory:read", "memory:write", "kv:read"],
        "ks": ["memory/*", "kv/notes"],
        "exp": int(time.time()) + 600,
        "del_max": depth,
        "cnf": {"jwk": {"x": x}},
    }
    key = {"kty": "OKP", "crv": "Ed25519", "x": x, "d": base64.urlsafe_b64encode(seed).decode().rstrip("=")}
    return {"chain": f"{encoded({'alg': 'EdDSA'})}.{encoded(claims)}.signature", "key": key}


class Signatures(unittest.TestCase):
    # Mutant: the bit of x left out of _compressed().
    def test_signatures_are_those_of_the_standard(self) -> None:
        for seed, public, message, signature in VECTORS:
            self.assertEqual(public_key(bytes.fromhex(seed)).hex(), public)
            for signed in (sign, sign_slowly):
                self.assertEqual(signed(bytes.fromhex(seed), bytes.fromhex(message)).hex(), signature)

    def test_both_ways_to_sign_agree(self) -> None:
        for _ in range(20):
            seed, message = new_seed(), os.urandom(50)
            self.assertEqual(sign(seed, message), sign_slowly(seed, message))


class Narrowing(unittest.TestCase):
    def test_a_link_has_what_it_was_narrowed_to_and_names_its_parent(self) -> None:
        parent = delegation()
        link = attenuate(parent, ops=["memory:read"], databases=["ada"], ttl_seconds=60).split("~")[-1]
        claims = claims_of(link)
        self.assertEqual((claims["ops"], claims["ks"]), (["memory:read"], ["memory/ada"]))
        self.assertLessEqual(claims["exp"], time.time() + 61)
        digest = hashlib.sha256(parent["chain"].encode()).digest()
        self.assertEqual(claims["par"], base64.urlsafe_b64encode(digest).decode().rstrip("="))
        whole = claims_of(attenuate(parent, ttl_seconds=86_400).split("~")[-1])
        self.assertEqual(whole["exp"], claims_of(parent["chain"])["exp"])

    def test_what_has_a_key_of_its_own_is_narrowed_again_within_its_depth(self) -> None:
        child = delegate(delegation(2), databases=["ada", "notes"])
        self.assertEqual(
            claims_of(attenuate(child, databases=["notes"]).split("~")[-1])["ks"], ["memory/notes", "kv/notes"]
        )
        with self.assertRaisesRegex(LociError, "fewer links"):
            attenuate(delegate(child))

    def test_nothing_is_made_that_would_widen(self) -> None:
        wider: list[Any] = [
            {"ops": ["operator"]},
            {"keyspaces": ["kv/ada"]},
            {"ops": ["kv:read"], "keyspaces": ["kv/*"]},
        ]
        for given in wider:
            with self.assertRaisesRegex(LociError, "cannot be narrowed"):
                attenuate(delegation(), **given)
        with self.assertRaisesRegex(LociError, "does not belong"):
            attenuate({"chain": delegation()["chain"], "key": delegation()["key"]})
        with self.assertRaisesRegex(LociError, "not a capability"):
            attenuate({"chain": "cut", "key": {}})


class Events(unittest.TestCase):
    def test_frames_come_whole_however_they_are_cut(self) -> None:
        text = ': still here\n\nid: 7\nevent: slot.written\ndata: {"seq":7,\ndata: "data":{"key":"ä"}}\n\nid: 8\n\n'.encode()
        for size in (1, 2, 7, 1_000):
            frames = Frames()
            found = [frame for at in range(0, len(text), size) for frame in frames.take(text[at : at + size])]
            self.assertEqual(
                [(frame.id, frame.event) for frame in found][1:], [("7", "slot.written"), ("8", "message")]
            )
            event = event_of(found[1])
            self.assertEqual((event.seq, event.data, found[2].data), (7, {"key": "ä"}, ""))


class Profiles(unittest.TestCase):
    def test_arguments_win_over_the_environment_and_that_over_the_profile_and_a_secret_stays_with_its_url(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            (Path(directory) / "config.toml").write_text(
                'active = "dev"\n\n[profiles.dev]\nurl = "http://dev"  # here\nservice = "s"\n'
                '[profiles.prod]\nurl = "https://prod"\n'
            )
            secrets = Path(directory) / "credentials.toml"
            secrets.write_text('[profiles.dev]\napi_key = "dev-key"\n[profiles."prod"]\napi_key = "prod-key"\n')
            secrets.chmod(0o600)

            def of(given: dict[str, str], **env: str) -> tuple[str | None, str | None, str | None]:
                found = completed(**given, env={"LOCI_CONFIG_DIR": directory, **env})
                return found.url, found.api_key or found.token, found.service

            self.assertEqual(of({}), ("http://dev", "dev-key", "s"))
            prod = ("https://prod", "prod-key", None)
            self.assertEqual(of({"profile": "prod"}, LOCI_URL="http://env"), prod)
            self.assertEqual(of({}, LOCI_PROFILE="prod"), prod)
            self.assertEqual(of({"url": "http://other"}), ("http://other", None, None))
            env = {"LOCI_URL": "http://env", "LOCI_TOKEN": "t", "LOCI_SERVICE": "e"}
            self.assertEqual(of({}, **env), ("http://env", "t", "e"))
            self.assertEqual(of({"api_key": "k"}, LOCI_URL="http://env", LOCI_TOKEN="t"), ("http://env", "k", None))
            with self.assertRaisesRegex(LociError, "no profile 'none'"):
                of({"profile": "none"})
            secrets.chmod(0o644)
            with self.assertRaisesRegex(LociError, "chmod 600"):
                of({})

    def test_ids_sort_by_their_time(self) -> None:
        first = new_id("cap")
        time.sleep(0.002)
        self.assertLess(first, new_id("cap"))
        self.assertRegex(first, "^cap_[0-7][0-9a-hjkmnp-tv-z]{25}$")


class PeopleTest(unittest.TestCase):
    # Mutants: a `_` that is always plain; characters instead of bytes.
    def test_names(self) -> None:
        """An id has the name that `loci import` gives it."""
        names = {
            "ada": "ada",
            "user_17": "user_17",
            "Ada": "__41da",
            "a__b": "a__5f_b",
            "a_": "a_",
            "a_B": "a__5f__42",
            "a_\n": "a__5f__0a",
            "é": "__c3__a9",
            "a@b.c": "a__40b__2ec",
            "x" * 65: "long__-9537c5fdf120482f7d58d25e9ed583f52c02b4e3",
        }
        self.assertEqual({id: database_of(id) for id in names}, names)


if __name__ == "__main__":
    unittest.main()
