"""What the command line has written down: which loci is meant, and its key.

::

  ~/.config/loci/config.toml        active = "dev"
                                    [profiles.dev]
                                    url = "http://127.0.0.1:4400"
                                    service = "default"
  ~/.config/loci/credentials.toml   [profiles.dev]          of nobody else's reading
                                    api_key = "loci_sk_…"
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from .error import invalid


@dataclass(frozen=True)
class Profile:
    name: str
    url: str | None
    service: str | None
    organization: str | None
    api_key: str | None
    token: str | None


@dataclass(frozen=True)
class Completed:
    url: str | None
    api_key: str | None
    token: str | None
    service: str | None
    organization: str | None


def completed(
    *,
    url: str | None = None,
    api_key: str | None = None,
    token: str | None = None,
    service: str | None = None,
    organization: str | None = None,
    profile: str | None = None,
    env: Mapping[str, str] = os.environ,
) -> Completed:
    """Arguments, then LOCI_URL, LOCI_API_KEY, LOCI_TOKEN and LOCI_SERVICE, then the profile, whose credential goes to
    the profile's own url alone. Who names a profile means it, and not the environment.
    """

    def told(variable: str) -> str | None:
        return (env.get(variable) or None) if profile is None else None

    meant = url or told("LOCI_URL")
    read = read_profile(env, profile) if meant is None or profile is not None else None
    stored = read if read is not None and meant in (None, read.url) else None
    pairs = [(api_key, token), (told("LOCI_API_KEY"), told("LOCI_TOKEN"))]
    if stored is not None:
        pairs.append((stored.api_key, stored.token))
    key, capability = next(((one, other) for one, other in pairs if one is not None or other is not None), (None, None))
    return Completed(
        url=meant or (read.url if read is not None else None),
        api_key=key,
        token=capability,
        service=service or told("LOCI_SERVICE") or (stored.service if stored is not None else None),
        organization=organization or (stored.organization if stored is not None else None),
    )


def config_directory(env: Mapping[str, str], platform: str = sys.platform) -> Path:
    if env.get("LOCI_CONFIG_DIR"):
        return Path(env["LOCI_CONFIG_DIR"])
    if env.get("XDG_CONFIG_HOME"):
        return Path(env["XDG_CONFIG_HOME"]) / "loci"
    if platform == "win32" and env.get("APPDATA"):
        return Path(env["APPDATA"]) / "loci"
    return Path(env.get("HOME") or Path.home()) / ".config" / "loci"


def read_profile(env: Mapping[str, str], name: str | None = None) -> Profile | None:
    """The profile of that name, or the active one. None where none was written."""
    wanted = name or env.get("LOCI_PROFILE") or None
    directory = config_directory(env)
    config = _read_tables(directory / "config.toml")
    active = wanted or config.get("", {}).get("active")
    if active is None:
        return None
    shown = config.get(f"profiles.{active}")
    if shown is None:
        if wanted is None:
            return None
        raise invalid(f"There is no profile '{wanted}' in {directory / 'config.toml'}.")
    secret = _read_tables(directory / "credentials.toml", _require_private).get(f"profiles.{active}", {})
    return Profile(
        name=active,
        url=shown.get("url"),
        service=shown.get("service"),
        organization=shown.get("organization"),
        api_key=secret.get("api_key"),
        token=secret.get("token"),
    )


def _require_private(file: Path) -> None:
    if sys.platform == "win32":
        return
    mode = file.stat().st_mode & 0o777
    if mode & 0o077:
        raise invalid(f"{file} can be read by others (mode {mode:o}), so it is not used. Run: chmod 600 {file}")


def _read_tables(file: Path, check: Callable[[Path], None] | None = None) -> dict[str, dict[str, str]]:
    """The part of TOML that is written there: tables, and text in double quotes. Anything else is left aside."""
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as cause:
        raise invalid(f"{file} cannot be read ({cause}).") from cause
    if check is not None:
        check(file)
    table: dict[str, str] = {}
    tables = {"": table}
    for line in text.splitlines():
        head = re.match(r"\s*\[\s*([^\]]+?)\s*\]\s*(?:#.*)?$", line)
        if head:
            table = tables[head[1].replace('"', "")] = {}
            continue
        entry = re.match(r'\s*([\w-]+)\s*=\s*("(?:[^"\\]|\\.)*")\s*(?:#.*)?$', line)
        if entry:
            table[entry[1]] = json.loads(entry[2])
    return tables
