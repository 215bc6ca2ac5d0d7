// The least that anybody would write by hand for the same durable bytes: one prepared statement a transaction, with the
// indexes by which a row must be found, and no row-level security, digest, count or event. What it writes are texts
// that a daemon has answered.

import { CLIENTS, DATABASES, KEYS, outcomeOf, SLOTS, TEXT } from './operations.ts'
import { runPgbench } from './pgbench.ts'
import type { RecallWorld } from './recall-world.ts'

export type Least = 'kv' | 'slot' | 'record' | 'projection' | 'small cycle' | 'focused cycle'

/** Texts as the daemon answers them: a slot, a document of slots, the decisions of a cycle, a record. */
export interface Samples {
  slot: string
  document: string
  ledger: string
  largeDocument: string
  largeLedger: string
  record: string
}

const NUMBER = `currval('public.least_numbers')`
const NEXT = `nextval('public.least_numbers')`

export async function prepareLeast({ sql }: RecallWorld, samples: Samples): Promise<void> {
  const { slot, document, ledger, largeDocument, largeLedger, record } = samples
  await sql('create sequence public.least_numbers start 1000000 cache 100')
  await sql('create table public.least_texts (name text primary key, text text not null)')
  for (const [name, text] of Object.entries({ slot, document, ledger, largeDocument, largeLedger, record }))
    await sql('insert into public.least_texts values ($1, $2)', [name, text])
  for (const statement of [
    `create table public.least_entries (database text, key text, value text not null, version bigint not null, created_at timestamptz not null,
      updated_at timestamptz not null, primary key (database, key))`,
    `insert into public.least_entries select 'd' || n % ${DATABASES}, 'k' || n, '${TEXT}', 1, now(), now() from generate_series(0, ${KEYS - 1}) n`,
    'create table public.least_documents (database text primary key, version bigint not null, document text not null)',
    `insert into public.least_documents select t.name || n, 1, t.text from public.least_texts t, generate_series(0, ${DATABASES - 1}) n
      where t.name in ('document', 'largeDocument')`,
    'create table public.least_versions (database text, key text, version bigint, at timestamptz not null, text text not null, primary key (database, key, version))',
    `create table public.least_records (database text, seq bigint, id text not null, context text, value_mac bytea not null, body text not null,
      created_at timestamptz not null, primary key (database, seq))`,
    'create index on public.least_records (database, id)',
    'create index on public.least_records (database, value_mac)',
    `create index on public.least_records using gin (to_tsvector('english', body))`,
    `create table public.least_projections (database text, seq bigint, id text not null, key_mac bytea not null, intent_mac bytea not null,
      is_folded boolean not null, body text not null, created_at timestamptz not null, primary key (database, seq))`,
    ...['id', 'key_mac', 'intent_mac', 'is_folded, seq'].map(
      (columns) => `create index on public.least_projections (database, ${columns})`,
    ),
    'create table public.least_cycles (database text, seq bigint, id text not null, at timestamptz not null, ledger text not null, primary key (database, seq))',
    'create index on public.least_cycles (database, id)',
    'create table public.least_heads (database text primary key, seq bigint not null, cycles bigint not null, at timestamptz not null)',
    'insert into public.least_heads select database, 0, 0, now() from public.least_documents',
    'vacuum analyze',
  ])
    await sql(statement)
}

/** Transactions a second. */
export function runLeast({ world, directory }: RecallWorld, what: Least, seconds: number): Promise<number> {
  const script = `\\set n random(0, ${what === 'kv' ? KEYS - 1 : DATABASES - 1})\n${STATEMENTS[what]};\n`
  const name = what.replaceAll(' ', '-')
  return runPgbench(world, { directory, name, clients: CLIENTS, seconds, script, user: 'postgres' })
}

const textOf = (name: keyof Samples) => `(select text from public.least_texts where name = '${name}')`
const written = (name: 'document' | 'largeDocument') =>
  `update public.least_documents set version = version + 1, document = overlay(document placing lpad((version % 1000000)::text, 12, 'x') from 20)
    where database = '${name}' || :n`
const recorded = `insert into public.least_records select 'd' || :n, ${NEXT}, 'mem_' || ${NUMBER}, 'chat', sha256(int8send(${NUMBER})), ${textOf('record')}, now()`

/** Writes the record that a cycle takes in, the document with its new version, the decisions and the head. */
function cycle(document: 'document' | 'largeDocument', ledger: 'ledger' | 'largeLedger'): string {
  return `with record as (${recorded} returning seq), slot as (${written(document)}),
    version as (insert into public.least_versions select 'd' || :n, 'k' || :n, record.seq, now(), ${textOf('slot')} from record),
    cycle as (insert into public.least_cycles select 'd' || :n, record.seq, 'cyc_' || record.seq, now(), ${textOf(ledger)} from record)
  update public.least_heads set seq = seq + 3, cycles = cycles + 1, at = now() where database = '${document}' || :n`
}

const STATEMENTS: Record<Least, string> = {
  kv: `insert into public.least_entries values ('d' || (:n % ${DATABASES}), 'k' || :n, '${TEXT}', 1, now(), now())
    on conflict (database, key) do update set value = excluded.value, version = least_entries.version + 1, updated_at = excluded.updated_at`,
  slot: `with slot as (${written('document')} returning version)
    insert into public.least_versions select 'd' || :n, 'k' || (version % ${SLOTS}), ${NEXT}, now(), ${textOf('slot')} from slot`,
  record: recorded,
  projection:
    `insert into public.least_projections select 'd' || :n, ${NEXT}, 'prj_' || ${NUMBER}, decode(md5(${NUMBER}::text), 'hex'),
    '\\\\x00112233445566778899aabbccddeeff', false, '${outcomeOf('r1-100-0')}', now()`.replace('\\\\x', '\\x'),
  'small cycle': cycle('document', 'ledger'),
  'focused cycle': cycle('largeDocument', 'largeLedger'),
}
