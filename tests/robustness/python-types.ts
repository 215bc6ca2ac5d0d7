// What the tools of Python say of the client's sources, and of a program of a user that has it installed.

import { writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Report } from '../world/report.ts'
import { runPython } from './python-environments.ts'

interface Checked {
  place: string
  /** The folder of the client. */
  client: string
  /** The Python that has the tools. */
  tools: string
  /** The Python of an environment in which the client is installed. */
  python: string
}

const USER = `from __future__ import annotations

import asyncio

from locihq import AsyncLoci, Hit, Loci, LociError, Progress


def told(progress: Progress) -> None:
    print(progress.percent, progress.step)


with Loci(url="http://127.0.0.1:4400", api_key="loci_sk_x") as loci:
    service = loci.services.create("Mine", plan="free").ready(on_progress=told)
    ada = service.user("ada")
    stored = ada.remember("Ada prefers replies in Dutch", tags=["preference"], source_event_id="e1")
    hits: list[Hit] = ada.recall("which language?", limit=3)
    why: str = hits[0]["why"]
    seen: str | None = hits[0]["validTo"]
    for entry in ada.kv.list(prefix="a/"):
        print(entry["key"], why, seen, stored["id"])
    for event in ada.events():
        print(event.type, event.data)
    try:
        ada.forget(stored["id"], options={"deadline_ms": 2_000})
    except LociError as error:
        print(error.code, error.hint, error.request_id)
    page = ada.daemon().call("GET /v1/kv/entries", query={"limit": 1}).body
    cursor: str | None = page["nextCursor"]
    print(cursor)


async def main() -> None:
    async with AsyncLoci() as loci:
        ada = (await loci.services.create("Mine").ready()).user("ada")
        async for memory in ada.memories(kind="fact"):
            print(memory["content"])
        slot = await ada.slots.get("goal")
        if slot is not None:
            version: int = slot["version"]
            print(version)


asyncio.run(main())
`

/** A wrong program for each: what the tools must say something about. */
const WRONG: [what: string, from: string, to: string][] = [
  ['a keyword that no call takes', 'limit=3', 'limits=3'],
  ['a route that is not there', 'GET /v1/kv/entries"', 'GET /v1/kv/entry"'],
  ['a plan that is none', 'plan="free"', 'plan="cheap"'],
  ['a verb that is not awaited', 'await ada.slots.get', 'ada.slots.get'],
]

export async function checkTypes(report: Report, { place, client, tools, python }: Checked): Promise<void> {
  const tool = async (name: string, ...args: string[]) => {
    const { code, stdout, stderr } = await runPython(tools, ['-m', name, ...args], {
      cwd: client,
      env: { MYPY_CACHE_DIR: path.join(place, 'mypy'), RUFF_NO_CACHE: 'true', PYRIGHT_PYTHON_IGNORE_WARNINGS: '1' },
    })
    return { code, said: (stdout + stderr).trim() }
  }
  const clean = async (name: string, ...args: string[]) => {
    const { code, said } = await tool(name, ...args)
    return code === 0 ? [] : [`${name}: ${said.slice(-500)}`]
  }
  const wrong = [
    ...(await clean('ruff', 'check', '.')),
    ...(await clean('ruff', 'format', '--check', '.')),
    ...(await clean('mypy')),
    ...(await clean('pyright', '--pythonpath', tools)),
  ]
  report.promise(
    'ruff, mypy --strict and pyright have nothing to say of the sources and the tests',
    wrong.length === 0,
    wrong.join('; ') || 'clean',
  )

  const verified = await tool('pyright', '--pythonpath', python, '--ignoreexternal', '--verifytypes', 'locihq')
  const completeness = /Type completeness score: (\S+)/.exec(verified.said)?.[1]
  report.promise(
    'every public name of the installed package has a type',
    completeness === '100%',
    completeness ?? verified.said.slice(-400),
  )

  const file = path.join(place, 'user.py')
  const settings = path.join(place, 'pyrightconfig.json')
  writeFileSync(settings, JSON.stringify({ typeCheckingMode: 'strict', pythonVersion: '3.10', include: ['user.py'] }))
  const judged = async (text: string) => {
    writeFileSync(file, text)
    const mypy = await tool('mypy', '--strict', '--config-file=', '--python-executable', python, file)
    const pyright = await tool('pyright', '--pythonpath', python, '--project', settings)
    return [mypy, pyright]
  }
  const user = await judged(USER)
  report.promise(
    'a program of a user passes mypy --strict and pyright in strict mode, against the installed wheel',
    user.every(({ code }) => code === 0),
    user
      .map(({ code, said }) => (code === 0 ? '' : said.slice(-400)))
      .join(' ')
      .trim() || 'clean',
  )
  for (const [what, from, to] of WRONG) {
    if (!USER.includes(from)) throw new Error(`the wrong program '${what}' no longer differs from the right one`)
    const said = await judged(USER.replace(from, to))
    const isCaught = said.every(({ code }) => code !== 0)
    report.mutant(what, isCaught ? 'by mypy and by pyright' : undefined)
  }
}
