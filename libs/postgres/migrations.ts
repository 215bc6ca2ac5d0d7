// The files that make a schema. Tables, types, policies, indexes and grants are numbered migrations: forward only,
// never edited after a release. Functions are `functions.sql` files in the folders of their features, edited in place
// and re-created by migrate.
//
// The newest migration carries the digest of all functions, so code is still named by its newest migration: who edits a
// function adds a number, an older release never overwrites the functions of a newer one, and a database says by its
// migrations which it has.

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

export interface Schema {
  /** The directory of the numbered files. */
  migrations: string
  /** The functions.sql files, in the order in which they are applied. */
  functions: string[]
}

const FIRST_RELEASE = '0.1.0'

export interface Migration {
  version: number
  name: string
  /** The oldest code that works on the schema after this migration, named by the newest migration it knows. */
  serves: number
  /** The release that brings it. */
  release: string
  checksum: string
  text: string
  /** Of the newest alone: every functions.sql, applied in its transaction. */
  functions: { path: string; text: string }[]
}

/** `migrations/` of a program, and every functions.sql of shared packages and its own, in path order. */
export function schemaIn(program: string, ...shared: string[]): Schema {
  return { migrations: join(program, 'migrations'), functions: [...shared, program].flatMap(functionsIn) }
}

function functionsIn(directory: string): string[] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((path) => basename(path) === 'functions.sql' && !path.split(/[/\\]/).includes('node_modules'))
    .sort()
    .map((path) => join(directory, path))
}

export function readMigrations({ migrations: directory, functions: paths }: Schema): Migration[] {
  const files = readdirSync(directory)
    .filter((file) => file.endsWith('.sql'))
    .sort()
  const functions = paths.map((path) => ({ path, text: readFileSync(path, 'utf8') }))
  const names = functions.flatMap(({ text }) => functionNames(text))
  const migrations: Migration[] = []
  for (const file of files) migrations.push(readMigration(join(directory, file), migrations, names))
  const newest = migrations.at(-1)
  if (newest === undefined) return []
  requireDigest(join(directory, files.at(-1) as string), newest, functionsDigest(functions))
  newest.functions = functions
  return migrations
}

/** What `cat` of the files in their order and `sha256sum` say. */
function functionsDigest(functions: { text: string }[]): string {
  const hash = createHash('sha256')
  for (const { text } of functions) hash.update(text)
  return hash.digest('hex')
}

/** The names of the functions of schema loci that the text makes. */
function functionNames(text: string): string[] {
  return [...text.matchAll(/^create or replace function loci\.(\w+)/gm)].map(([, name = '']) => name)
}

function readMigration(path: string, before: Migration[], functions: string[]): Migration {
  const expected = before.length + 1
  const [, number, name] = /^(\d{4})-([a-z0-9-]+)\.sql$/.exec(basename(path)) ?? []
  if (number === undefined || name === undefined) throw new Error(`${path}: rename it to NNNN-some-name.sql`)
  const version = Number(number)
  if (version !== expected) {
    const wanted = String(expected).padStart(4, '0')
    throw new Error(`${path}: expected migration ${wanted} here; restore it, or renumber this one`)
  }
  const text = withIncluded(path)
  const serves = /^-- serves: (\d{4})\r?\n/.exec(text)?.[1]
  if (serves === undefined || Number(serves) > version) {
    throw new Error(
      `${path}: its first line must be "-- serves: NNNN", the oldest code that still works on the schema after it, ` +
        `at most ${number}`,
    )
  }
  refuseFunctions(path, text, functions)
  const checksum = createHash('sha256').update(text).digest('hex')
  const release = releaseOf(path, text) ?? before.at(-1)?.release ?? FIRST_RELEASE
  return { version, name, serves: Number(serves), release, checksum, text, functions: [] }
}

/** Only the first migration of a release has the line. */
function releaseOf(path: string, text: string): string | undefined {
  const [, said] = /^-- release: (.*?)\r?$/m.exec(text) ?? []
  if (said !== undefined && !/^\d+\.\d+\.\d+$/.test(said))
    throw new Error(`${path}: "-- release: ${said}" must name a version like 1.2.3`)
  return said
}

/**
 * The releases between that of the database and the newest. Their code was never asked whether it works on the schema
 * of the newest, and that of the database even less.
 */
export function releasesBetween(
  migrations: Migration[],
  version: number,
): { from: string; to: string; skipped: string[] } {
  const to = migrations.at(-1)?.release ?? FIRST_RELEASE
  const from = migrations[version - 1]?.release ?? to
  const pending = new Set(migrations.slice(version).map(({ release }) => release))
  return { from, to, skipped: version === 0 ? [] : [...pending].filter((one) => one !== from && one !== to) }
}

/** `-- include: <path>` stands for the tables that both programs have: one text, part of each migration's checksum. */
function withIncluded(path: string): string {
  const include = (_: string, file: string) => readFileSync(join(dirname(path), file), 'utf8')
  return readFileSync(path, 'utf8').replaceAll(/^-- include: (\S+)\r?\n/gm, include)
}

/** A migration that called a function would do something else on the day that the function is edited. */
function refuseFunctions(path: string, text: string, names: string[]): void {
  if (/^\s*create\s+(or\s+replace\s+)?function\b/im.test(text))
    throw new Error(`${path} creates a function: write it as "create or replace" in functions.sql of its feature`)
  const calls = text.replaceAll(/\bdrop function [^;]*;/gi, '').matchAll(/\bloci\.(\w+)\s*\(/g)
  const called = [...calls].find(([, name = '']) => names.includes(name))
  if (called) throw new Error(`${path} calls loci.${called[1]}(): functions are made after the numbered files`)
}

function requireDigest(path: string, { version, text }: Migration, digest: string): void {
  const carried = /^-- functions: ([0-9a-f]{64})\r?$/m.exec(text)?.[1]
  if (carried === undefined)
    throw new Error(`${path}: the newest migration needs the line "-- functions: ${digest}", below "-- serves: …"`)
  if (carried === digest) return
  const [last, next] = [version, version + 1].map((number) => String(number).padStart(4, '0'))
  throw new Error(
    `a functions.sql was edited after ${path}: if that is not released, put this digest into it; else add ` +
      `${next}-functions.sql with the lines "-- serves: ${last}" and "-- functions: ${digest}"`,
  )
}
