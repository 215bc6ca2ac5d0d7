// What a command is made of: groups of verbs, each with options that have values, each answering one object.

import { ApiError } from '@loci/chassis/api-error.ts'
import type { SealingKey } from '@loci/chassis/setting-values.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { SettingName } from '../settings.ts'
import type { Issuer } from '../tokens/tokens.ts'

export interface Context {
  pool: Pool
  issuer: Issuer
  sealingKeys: SealingKey[]
  /** Those that services can be asked for in; none = any. */
  regions: readonly string[]
  actor: string
}

export type Given = Record<string, string | undefined>

export interface Verb {
  /** Names of options, each with a value; a command without a required one says how it is called. */
  required?: string[]
  optional?: string[]
  run(context: Context, given: Given): Promise<object>
}

export interface Group {
  summary: string
  without?: SettingName[]
  /** The verb '' is that of a command that is one word. */
  verbs: Record<string, Verb>
}

export function listOf(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

export function integerOf(name: string, text: string): number {
  if (!/^[0-9]{1,9}$/.test(text)) throw new ApiError('VALIDATION_ERROR', `--${name} must be a whole number.`)
  return Number(text)
}

export function jsonOf(name: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new ApiError('VALIDATION_ERROR', `--${name} must be JSON.`)
  }
}
