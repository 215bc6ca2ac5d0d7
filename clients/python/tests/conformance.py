"""sdk/conformance.json against a loci: python conformance.py FILE [sync|async]. A line of JSON per case."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from locihq import AsyncLoci, Loci, LociError

Kept = dict[str, Any]
Ask = Callable[[Any, "dict[str, Any]", Kept], Awaitable[Any]]


def main(file: str, flavour: str) -> None:
    cases = json.loads(Path(file).read_text(encoding="utf-8"))["cases"]
    run = asyncio.run(run_async(cases) if flavour == "async" else run_sync(cases))
    for title, problem in run:
        print(json.dumps({"title": title, "problem": problem}, ensure_ascii=False))


async def run_sync(cases: list[Any]) -> list[tuple[str, str | None]]:
    """The client without await; nothing else runs here that it could hold up."""
    results: list[tuple[str, str | None]] = []
    with Loci() as loci:
        # All are asked for first: they are made beside each other.
        services = [loci.services.create("Conformance") for _ in cases]
        for case, service in zip(cases, services, strict=True):
            service.ready()
            results.append((case["title"], await problem_of(service, case["steps"], ask_sync)))
            service.delete()
    return results


async def run_async(cases: list[Any]) -> list[tuple[str, str | None]]:
    results: list[tuple[str, str | None]] = []
    async with AsyncLoci() as loci:
        services = [await loci.services.create("Conformance") for _ in cases]
        for case, service in zip(cases, services, strict=True):
            await service.ready()
            results.append((case["title"], await problem_of(service, case["steps"], ask_async)))
            await service.delete()
    return results


async def problem_of(service: Any, steps: list[Any], ask: Ask) -> str | None:
    kept: Kept = {}
    for at, step in enumerate(steps):
        place = f"step {at + 1}, {step['call']}"
        try:
            answer = await ask(service, step, kept)
        except LociError as error:
            if step.get("refused") != error.code:
                return f"{place}: {error}"
            continue
        problem = judged(answer, step, kept)
        if problem is not None:
            return f"{place}: {problem}"
        if "as" in step:
            kept[step["as"]] = answer
    return None


def judged(answer: Any, step: dict[str, Any], kept: Kept) -> str | None:
    if "refused" in step:
        return f"answered, and {step['refused']} was expected"
    if step.get("none") and answer is not None:
        return f"{answer!r} instead of nothing"
    if "gives" in step:
        problem = differs(answer, filled(step["gives"], kept))
        if problem is not None:
            return problem
    has = [(snake(name), value) for name, value in step.get("has", {}).items()]
    problems = ((name, differs(getattr(answer, name), value)) for name, value in has)
    return next((f"{name}: {problem}" for name, problem in problems if problem is not None), None)


def verb_of(service: Any, step: dict[str, Any], kept: Kept) -> tuple[Callable[..., Any], list[Any], dict[str, Any]]:
    """The method, and its arguments: what stands behind the positional ones are its keywords."""
    target = service.user(step["user"]) if "user" in step else service
    for name in step["call"].split("."):
        target = getattr(target, snake(name))
    parameters = inspect.signature(target).parameters.values()
    count = sum(1 for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD)
    given = filled(step["with"], kept)
    keywords: dict[str, Any] = {}
    for options in given[count:]:
        keywords.update({snake(name): value for name, value in options.items()})
    return target, given[:count], keywords


async def ask_sync(service: Any, step: dict[str, Any], kept: Kept) -> Any:
    verb, given, keywords = verb_of(service, step, kept)
    answer = verb(*given, **keywords)
    return answer.all() if hasattr(answer, "page") else answer


async def ask_async(service: Any, step: dict[str, Any], kept: Kept) -> Any:
    verb, given, keywords = verb_of(service, step, kept)
    answer = verb(*given, **keywords)
    return await (answer.all() if hasattr(answer, "page") else answer)


def filled(value: Any, kept: Kept) -> Any:
    """`$name.field` is what was kept under that name."""
    if isinstance(value, str) and value.startswith("$"):
        name, _, field = value[1:].partition(".")
        return kept[name][field]
    if isinstance(value, list):
        return [filled(one, kept) for one in value]
    if isinstance(value, dict):
        return {name: filled(one, kept) for name, one in value.items()}
    return value


def differs(found: Any, wanted: Any) -> str | None:
    if isinstance(wanted, list):
        if not isinstance(found, list) or len(found) != len(wanted):
            return f"{str(found)[:300]} instead of {len(wanted)} of {wanted}"
        pairs = zip(found, wanted, strict=True)
        return next((problem for one, other in pairs if (problem := differs(one, other))), None)
    if isinstance(wanted, dict):
        if not isinstance(found, dict):
            return f"{found!r} instead of {wanted!r}"
        return next((problem for name, one in wanted.items() if (problem := differs(found.get(name), one))), None)
    # True is 1 in Python, and not in JSON.
    is_same = found == wanted and isinstance(found, bool) == isinstance(wanted, bool)
    return None if is_same else f"{found!r} instead of {wanted!r}"


def snake(name: str) -> str:
    return re.sub(r"[A-Z]", lambda letter: f"_{letter[0].lower()}", name)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
