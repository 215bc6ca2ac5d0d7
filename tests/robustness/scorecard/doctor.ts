// Check 20: twelve faults, planted one at a time; `loci doctor` names each and says what to do.

import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { openPool } from '@loci/postgres/pool.ts'
import {
  type Check,
  dataOf,
  documentIn,
  own,
  type Setting,
  scratch,
  secretOf,
  type UpData,
  type Verdict,
} from './setting.ts'
import { serving } from './strange-servers.ts'

interface Finding {
  name: string
  status: 'ok' | 'warn' | 'fail'
  cause: string
  fix?: string
}

interface Fault {
  /** The check that must find it. */
  check: string
  env?: Record<string, string>
  node?: string
  begin?(): Promise<void>
  end?(): Promise<void>
}

const CHECKS = 12

export const DOCTOR: Check = {
  number: 20,
  title: `doctor finds ${CHECKS} planted faults and says what to do`,
  async measure(setting) {
    const { loci } = setting
    const up = await dataOf<UpData>(loci, ['up', '-d'])
    await using strange = await serving()
    const faults = faultsOf(setting, up, strange.late)
    const healthy = await findingsOf(setting, {})
    const missed: string[] = []
    for (const fault of faults) {
      await fault.begin?.()
      try {
        const found = (await findingsOf(setting, fault)).find(({ name }) => name === fault.check)
        if (!found || found.status === 'ok' || !found.fix) missed.push(`${fault.check}: ${found?.cause}`)
      } finally {
        await fault.end?.()
      }
    }
    const wrong = healthy.filter(({ status }) => status === 'fail')
    return verdict({ faults, missed, wrong })
  },
}

function verdict({ faults, missed, wrong }: { faults: Fault[]; missed: string[]; wrong: Finding[] }): Verdict {
  const value = `${faults.length - missed.length} of ${CHECKS} ${missed.join('; ')}`
  const mutant = {
    name: 'a fault that nobody planted',
    caught: wrong.length === 0 ? 'none fails on a whole loci' : undefined,
  }
  if (missed.length === 0 && faults.length < CHECKS)
    return { passes: false, value, mutant, due: 'no older Node could be had to run it with' }
  return { passes: missed.length === 0, value, mutant }
}

async function findingsOf({ loci }: Setting, { env = {}, node }: Partial<Fault>): Promise<Finding[]> {
  const { stdout } = await loci(['doctor', '--json'], { env, ...(node ? { node } : {}) })
  return (documentIn(stdout)?.data?.checks as Finding[] | undefined) ?? []
}

function faultsOf(setting: Setting, up: UpData, late: string): Fault[] {
  const folder = scratch(setting, 'faults')
  const bad = path.join(folder, 'bad')
  const loose = path.join(folder, 'loose')
  const closed = path.join(folder, 'closed')
  for (const one of [bad, loose, closed]) mkdirSync(one)
  writeFileSync(path.join(bad, 'config.toml'), 'active = "gone"\n[profiles.other]\nurl = "http://127.0.0.1:1"\n')
  writeFileSync(path.join(loose, 'config.toml'), `active = "dev"\n[profiles.dev]\nurl = "${up.management}"\n`)
  writeFileSync(path.join(loose, 'credentials.toml'), '[profiles.dev]\napi_key = "loci_sk_x"\n')
  chmodSync(path.join(loose, 'credentials.toml'), 0o644)
  own(folder, setting.user)
  chmodSync(closed, 0o555)
  const stranger = { LOCI_URL: late, LOCI_API_KEY: 'loci_sk_x' }
  const older = setting.olderNode ? [{ check: 'node', node: setting.olderNode }] : []
  return [
    ...older,
    { check: 'config', env: { LOCI_CONFIG_DIR: bad } },
    { check: 'credentials', env: { LOCI_CONFIG_DIR: loose } },
    { check: 'server', env: { LOCI_URL: 'http://127.0.0.1:4999' } },
    { check: 'clock', env: stranger },
    { check: 'version', env: stranger },
    { check: 'key', env: { LOCI_API_KEY: 'loci_sk_nobody' } },
    stopped(setting),
    damaged(setting),
    { check: 'data directory', env: { LOCI_UP_DATA: closed } },
    // Its usual ports are taken, by the loci of this test.
    { check: 'ports', env: { LOCI_UP_DATA: path.join(folder, 'nothing') } },
    { check: 'proxy', env: { HTTP_PROXY: 'http://127.0.0.1:1' } },
  ]
}

/** The daemon takes connections and does not answer. */
function stopped({ loci }: Setting): Fault {
  const signal = async (name: NodeJS.Signals) => {
    const { stdout } = await loci(['status', '--json'])
    const parts = documentIn(stdout)?.data.parts as { name: string; pid: number }[]
    process.kill(parts.find((part) => part.name === 'daemon')?.pid as number, name)
  }
  return { check: 'daemon', begin: () => signal('SIGSTOP'), end: () => signal('SIGCONT') }
}

/** A value is changed behind the daemon's back, and put back. */
function damaged(setting: Setting): Fault {
  const edit = async (from: string, to: string) => {
    const password = encodeURIComponent(secretOf(setting, 'postgres-password'))
    const socket = encodeURIComponent(path.join(setting.loci.data, 'socket'))
    const pool = openPool({
      url: `postgres://postgres:${password}@/loci_cell?host=${socket}&port=5432`,
      applicationName: 'scorecard',
      connectionsMax: 1,
      connectMs: 60_000,
      statementMs: 60_000,
      onError: () => {},
    })
    try {
      const { rowCount } = await pool.query({
        text: 'update loci.entries set value = $2 where value::text = $1',
        values: [from, to],
      })
      if (rowCount !== 1) throw new Error(`${rowCount} entries hold ${from}`)
    } finally {
      await pool.close()
    }
  }
  return {
    check: 'consistency',
    async begin() {
      await dataOf(setting.loci, ['kv', 'put', 'rotten', '"whole-39"'])
      await edit('"whole-39"', '"rotten-39"')
    },
    end: () => edit('"rotten-39"', '"whole-39"'),
  }
}
