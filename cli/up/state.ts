// What `loci up` remembers: what was chosen at the first start, and what runs now.

import { linkSync, renameSync, rmSync } from 'node:fs'
import { CommandFailure } from '../failure.ts'
import { type DataDirectory, readJson, writeWhole } from './files.ts'
import { isAlive, markOf, type ProcessMark } from './processes.ts'

/** Chosen once: what services and capabilities were told cannot move under them. */
export interface State {
  /** The last one whose schema the databases have; empty while they are being made. */
  version: string
  port: number
  /** Which server the data is in: the one of the data directory, or one of the person's own. */
  database: 'embedded' | 'own'
  organizationId?: string
  tenantId?: string
  cellId?: string
  serviceId?: string
  /** The folder of --encoder; `none` after --no-encoder. */
  encoder?: { folder: string } | 'none' | undefined
  /** Where the key is shown once, it was. */
  keyShown?: boolean
  /** The sample that was asked for: when its hour ended, and what came of it once it is all there. */
  demo?: { endedAt: string; sown?: Sown }
}

/** What the sample of --seed demo came to. */
export interface Sown {
  memories: number
  cycles: number
  evictions: number
  outcomes: number
}

export const DEFAULT_PORT = 4400
const BETWEEN = { daemon: 10, issuer: 20 }

export function addressesOf(port: number): { management: string; daemon: string; issuer: string } {
  const at = (add: number) => `http://127.0.0.1:${port + add}`
  return { management: at(0), daemon: at(BETWEEN.daemon), issuer: at(BETWEEN.issuer) }
}

export const PARTS = ['postgres', 'management', 'daemon'] as const
export type PartName = (typeof PARTS)[number]

export interface Running {
  supervisor: ProcessMark
  phase: 'starting' | 'ready' | 'stopping' | 'failed'
  /** What was done so far, a line each. */
  steps: string[]
  failure?: { code: string; message: string; hint?: string | undefined; exit: number }
  parts: Partial<Record<PartName, ProcessMark>>
  restarts: Partial<Record<PartName, number>>
  since: string
}

export function readRunning(data: DataDirectory): Running | undefined {
  return readJson<Running>(data.running)
}

/** The one that supervises now, if any does. */
export function findSupervisor(data: DataDirectory): Running | undefined {
  const running = readRunning(data)
  return running && isAlive(running.supervisor) ? running : undefined
}

/**
 * The file is made by a link, which fails where one is there: of two that start at the same moment one wins. A file of
 * a process that is gone is moved away first, and put back if it turns out to be another one.
 */
export function claim(data: DataDirectory): Running {
  const supervisor = markOf(process.pid) as ProcessMark
  const before = readRunning(data)
  const mine: Running = {
    supervisor,
    phase: 'starting',
    steps: [],
    // What the one before left behind is ours to end.
    parts: before?.parts ?? {},
    restarts: {},
    since: new Date().toISOString(),
  }
  const beside = `${data.running}.${process.pid}`
  writeWhole(beside, JSON.stringify(mine))
  try {
    if (before && !isAlive(before.supervisor)) {
      const aside = `${data.running}.${process.pid}.old`
      renameSync(data.running, aside)
      const moved = readJson<Running>(aside)
      if (moved && isAlive(moved.supervisor)) linkSync(aside, data.running)
      rmSync(aside, { force: true })
    }
    linkSync(beside, data.running)
    return mine
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'EEXIST' && code !== 'ENOENT') throw error
    throw new CommandFailure('conflict', 'LOCI-RUNNING', 'Another loci up is starting in this data directory.')
  } finally {
    rmSync(beside, { force: true })
  }
}

export function writeRunning(data: DataDirectory, running: Running): void {
  writeWhole(data.running, JSON.stringify(running))
}
