"""The memory tool of the Messages API. A file is an entry of its user; a directory is there while it holds one.

Commands are generators that yield what to ask of the user, so that one text serves with and without await. Their answers
are those that the model knows from the SDK's own tool.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Generator, Sequence
from typing import Any, NoReturn

from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
from anthropic.types.beta import BetaCacheControlEphemeralParam
from locihq import AsyncUser, LociError, User

#: What to ask of a User or an AsyncUser.
Asked = Callable[[Any], Any]
Steps = Generator[Asked, Any, str]

ROOT = "/memories"
_PREFIX = "files"
_BATCH = 100
_CONTEXT = 2
#: What the model can do something about.
_TOLD = {
    "VERSION_CONFLICT": "was changed by somebody else meanwhile. View it and try again.",
    "VALIDATION_ERROR": "is too large, or its path too long: a file has 256 KiB, its path 250 bytes.",
    "PAYLOAD_TOO_LARGE": "is too large: a file has 256 KiB.",
    "QUOTA_EXCEEDED": "does not fit: the memory is full. Delete what is not needed.",
}


class LociMemoryTool(BetaAbstractMemoryTool):
    """The files of a user: `LociMemoryTool(service.user("ada"))`."""

    def __init__(self, user: User, *, cache_control: BetaCacheControlEphemeralParam | None = None) -> None:
        super().__init__(cache_control=cache_control)
        self._user = user

    def execute(self, command: Any) -> str:
        steps, ended = _steps_of(command), _Ended()
        asked = ended.next(steps, None)
        while asked is not None:
            try:
                answer = asked(self._user)
            except LociError as error:
                _tell(command, error)
            asked = ended.next(steps, answer)
        return ended.said

    def clear_all_memory(self) -> str:
        return self.execute(_Clear())

    # The commands by name go the same way.
    view = create = str_replace = insert = delete = rename = execute


class LociAsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same with await: `LociAsyncMemoryTool(async_service.user("ada"))`."""

    def __init__(self, user: AsyncUser, *, cache_control: BetaCacheControlEphemeralParam | None = None) -> None:
        super().__init__(cache_control=cache_control)
        self._user = user

    async def execute(self, command: Any) -> str:
        steps, ended = _steps_of(command), _Ended()
        asked = ended.next(steps, None)
        while asked is not None:
            try:
                answer = await asked(self._user)
            except LociError as error:
                _tell(command, error)
            asked = ended.next(steps, answer)
        return ended.said

    async def clear_all_memory(self) -> str:
        return await self.execute(_Clear())

    view = create = str_replace = insert = delete = rename = execute


class _Clear:
    command = "clear"
    path = ROOT


class _Ended:
    said = ""

    def next(self, steps: Steps, answer: Any) -> Asked | None:
        try:
            return steps.send(answer)
        except StopIteration as ended:
            self.said = ended.value
            return None


def _tell(command: Any, error: LociError) -> NoReturn:
    if error.code not in _TOLD:
        raise error
    path = command.old_path if command.command == "rename" else command.path
    exists = command.command == "create" and error.code == "VERSION_CONFLICT"
    raise ToolError(f"File {path} already exists" if exists else f"{path} {_TOLD[error.code]}") from error


def _steps_of(command: Any) -> Steps:
    commands = {"view": _view, "create": _create, "str_replace": _replace, "insert": _insert}
    commands |= {"delete": _delete, "rename": _rename, "clear": _clear}
    return commands[command.command](command)


def _key_of(path: str) -> str:
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise ToolError(f"Path must start with {ROOT}, got: {path}")
    whole = posixpath.normpath(path)
    if whole != ROOT and not whole.startswith(f"{ROOT}/"):
        raise ToolError(f"Path {path} would escape {ROOT} directory")
    return _PREFIX + whole


def _inside(key: str) -> Asked:
    return lambda user: user.kv.list(prefix=f"{key}/", limit=1_000).all()


def _view(command: Any) -> Steps:
    key = _key_of(command.path)
    entry = yield lambda user: user.kv.get(key)
    if entry is not None:
        lines = entry["value"].split("\n")
        first, last = command.view_range if command.view_range and len(command.view_range) == 2 else (1, -1)
        shown = _numbered(lines, max(1, first), len(lines) if last == -1 else last)
        return f"Here's the content of {command.path} with line numbers:\n{shown}"
    entries = yield _inside(key)
    if not entries and key != _PREFIX + ROOT:
        raise ToolError(f"The path {command.path} does not exist. Please provide a valid path.")
    sizes: dict[str, int] = {"": 0}
    for one in entries:
        parts, size = one["key"].removeprefix(f"{key}/").split("/"), len(one["value"].encode())
        if not any(part.startswith(".") for part in parts):
            for path in ["", *("/" + "/".join(parts[:depth]) + "/" for depth in range(1, min(3, len(parts))))]:
                sizes[path] = sizes.get(path, 0) + size
            sizes |= {"/" + "/".join(parts): size} if len(parts) <= 2 else {}
    header = f"Here're the files and directories up to 2 levels deep in {command.path}, excluding hidden items:"
    return "\n".join([header, *(f"{_size(sizes[path])}\t{command.path}{path}" for path in sorted(sizes, key=_parts))])


def _create(command: Any) -> Steps:
    key = _key_of(command.path)
    if (yield _inside(key)):
        raise ToolError(f"File {command.path} already exists")
    for parent in range(3, key.count("/") + 1):
        above = "/".join(key.split("/")[:parent])
        if (yield lambda user: user.kv.get(above)) is not None:  # noqa: B023 It is asked before the loop goes on.
            raise ToolError(f"{above.removeprefix(_PREFIX)} is a file and no directory.")
    yield lambda user: user.kv.put(key, command.file_text, if_new=True)
    return f"File created successfully at: {command.path}"


def _replace(command: Any) -> Steps:
    entry = yield from _file(command.path)
    old, text = command.old_str, entry["value"]
    if not old or old not in text:
        raise ToolError(f"No replacement was performed, old_str `{old}` did not appear verbatim in {command.path}.")
    starts = [at for at in range(len(text)) if text.startswith(old, at)]
    line = text[: starts[0]].count("\n")
    if text.count(old) > 1:
        told = ", ".join(str(text[:at].count("\n") + 1) for at in starts)
        raise ToolError(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {told}. "
            "Please ensure it is unique"
        )
    edited = text.replace(old, command.new_str)
    yield lambda user: user.kv.put(entry["key"], edited, if_version=entry["version"])
    shown = _numbered(edited.split("\n"), max(1, line + 1 - _CONTEXT), line + 1 + _CONTEXT)
    return f"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{shown}"


def _insert(command: Any) -> Steps:
    entry = yield from _file(command.path)
    lines = entry["value"].removesuffix("\n").split("\n") if entry["value"] else []
    if not 0 <= command.insert_line <= len(lines):
        told = f"It should be within the range [0, {len(lines)}]."
        raise ToolError(f"Invalid `insert_line` parameter: {command.insert_line}. {told}")
    lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
    edited = "\n".join(lines)
    edited += "" if edited.endswith("\n") else "\n"
    yield lambda user: user.kv.put(entry["key"], edited, if_version=entry["version"])
    return f"The file {command.path} has been edited."


def _delete(command: Any) -> Steps:
    if (key := _key_of(command.path)) == _PREFIX + ROOT:
        raise ToolError(f"Cannot delete the {ROOT} directory itself")
    entry = yield lambda user: user.kv.get(key)
    entries = [entry] if entry is not None else (yield _inside(key))
    if not entries:
        raise ToolError(f"The path {command.path} does not exist")
    yield from _erase(entries)
    return f"Successfully deleted {command.path}"


def _clear(command: Any) -> Steps:
    yield from _erase((yield _inside(_key_of(command.path))))
    return "All memory cleared"


def _rename(command: Any) -> Steps:
    """One batch, so that a directory moves whole or not at all."""
    old, new = _key_of(command.old_path), _key_of(command.new_path)
    if old == _PREFIX + ROOT:
        raise ToolError(f"Cannot rename the {ROOT} directory itself")
    taken = yield lambda user: user.kv.get(new)
    if taken is not None or new == _PREFIX + ROOT or (yield _inside(new)):
        raise ToolError(f"The destination {command.new_path} already exists")
    entry = yield lambda user: user.kv.get(old)
    entries = [entry] if entry is not None else (yield _inside(old))
    if not entries or f"{new}/".startswith(f"{old}/"):
        raise ToolError(f"The path {command.old_path} does not exist")
    if 2 * len(entries) > _BATCH:
        raise ToolError(f"{command.old_path} has {len(entries)} files: at most {_BATCH // 2} are renamed at once.")
    moves: list[Any] = []
    for one in entries:
        moves.append({"op": "put", "key": new + one["key"].removeprefix(old), "value": one["value"], "ifVersion": 0})
        moves.append({"op": "delete", "key": one["key"], "ifVersion": one["version"]})
    yield lambda user: user.kv.batch(moves)
    return f"Successfully renamed {command.old_path} to {command.new_path}"


def _file(path: str) -> Generator[Asked, Any, Any]:
    key = _key_of(path)
    entry = yield lambda user: user.kv.get(key)
    if entry is None:
        is_directory = key == _PREFIX + ROOT or (yield _inside(key))
        told = "is not a file." if is_directory else "does not exist. Please provide a valid path."
        raise ToolError(f"The path {path} {told}")
    return entry


def _erase(entries: Sequence[Any]) -> Generator[Asked, Any, None]:
    for at in range(0, len(entries), _BATCH):
        gone = [{"op": "delete", "key": entry["key"]} for entry in entries[at : at + _BATCH]]
        yield lambda user: user.kv.batch(gone)  # noqa: B023 It is asked before the loop goes on.


def _numbered(lines: list[str], first: int, last: int) -> str:
    return "\n".join(f"{at:>6}\t{line}" for at, line in enumerate(lines[first - 1 : last], first))


def _parts(path: str) -> list[str]:
    return path.rstrip("/").split("/")


def _size(count: int) -> str:
    size, unit = float(count), 0
    while size >= 1_024 and unit < 3:
        size, unit = size / 1_024, unit + 1
    return f"{size:.0f}{'BKMG'[unit]}" if size == int(size) else f"{size:.1f}{'BKMG'[unit]}"
