// What recall is measured against: BM25, recency, and PostgreSQL's full text in the same run.

import type { IndexItem } from '@loci/daemon/memory/analysis/item.ts'
import { openPool } from '@loci/postgres/pool.ts'
import { startThrowaway } from '@loci/postgres/testing/throwaway.ts'
import { DEPTH, type QuestionSet, type Ranked } from './questions.ts'

/** BM25 over the same terms, k1 .9 and b .4, without anything else that recall knows. */
export class Bm25 {
  readonly #postings = new Map<string, [item: IndexItem, count: number][]>()
  readonly #items: number
  readonly #lengthMean: number

  constructor(items: readonly IndexItem[]) {
    this.#items = items.length
    this.#lengthMean = items.reduce((sum, { length }) => sum + length, 0) / (items.length || 1)
    for (const item of items) {
      for (const [term, count] of item.terms) {
        const holders = this.#postings.get(term)
        if (holders) holders.push([item, count])
        else this.#postings.set(term, [[item, count]])
      }
    }
  }

  search(terms: Iterable<string>): Ranked[] {
    const scores = new Map<number, number>()
    for (const term of terms) {
      const holders = this.#postings.get(term) ?? []
      const idf = Math.log(1 + (this.#items - holders.length + 0.5) / (holders.length + 0.5))
      for (const [{ seq, length }, count] of holders) {
        const worth = (idf * count * 1.9) / (count + 0.9 * (0.6 + (0.4 * length) / this.#lengthMean))
        scores.set(seq, (scores.get(seq) ?? 0) + worth)
      }
    }
    const ranked = [...scores].map(([seq, score]) => ({ seq, score }))
    return ranked.sort((a, b) => b.score - a.score || a.seq - b.seq).slice(0, DEPTH)
  }
}

export function newest(set: QuestionSet): Ranked[] {
  const last = set.records.toSorted((a, b) => b.seq - a.seq).slice(0, DEPTH)
  return last.map(({ seq }) => ({ seq, score: seq }))
}

/** ts_rank over to_tsvector('english'), any word of the question: question's id to the best seqs. */
export async function rankInPostgres(sets: readonly QuestionSet[]): Promise<Map<string, Ranked[]>> {
  const server = await startThrowaway()
  const pool = openPool({
    url: server.adminUrl(),
    applicationName: 'loci-eval',
    connectionsMax: 1,
    statementMs: 60_000,
    onError: () => {},
  })
  try {
    const records = sets.flatMap(({ id, records }) =>
      // With the actor's name, which helps it: recall@10 .593, without .505.
      records.map(({ seq, actor, content, media }) => ({ set: id, seq, text: `${actor}: ${content} ${media ?? ''}` })),
    )
    const questions = sets.flatMap(({ id: set, questions }) => questions.map(({ id, text }) => ({ set, id, text })))
    await pool.query({
      text: `create table turns as
        select r.set, r.seq, to_tsvector('english', r.text) as words
        from jsonb_to_recordset($1::jsonb) as r (set text, seq int, text text)`,
      values: [JSON.stringify(records)],
    })
    await pool.query({ text: 'create index on turns (set)' })
    await pool.query({ text: 'analyze turns' })
    // Materialized: otherwise the question is parsed again for every turn.
    const { rows } = await pool.query<{ id: string; seqs: number[] }>({
      text: `with asked as materialized (
          select set, id, replace(plainto_tsquery('english', text)::text, '&', '|')::tsquery as words
          from jsonb_to_recordset($1::jsonb) as r (set text, id text, text text))
        select q.id, array(
          select t.seq from turns t where t.set = q.set and t.words @@ q.words
          order by ts_rank(t.words, q.words) desc, t.seq limit ${DEPTH}) as seqs
        from asked q order by q.id`,
      values: [JSON.stringify(questions)],
    })
    return new Map(rows.map(({ id, seqs }) => [id, seqs.map((seq, i) => ({ seq, score: -i }))]))
  } finally {
    await pool.close()
    await server.remove()
  }
}
