// The daemon's own index over a set of records, cut into segments as the daemon cuts them.

import { analyseCue, analyseItem } from '@loci/daemon/memory/analysis/analyse.ts'
import { analyserOf, type IndexItem, type Language, type RecordText } from '@loci/daemon/memory/analysis/item.ts'
import { buildSegment } from '@loci/daemon/memory/index/build.ts'
import { type Database, openDatabase } from '@loci/daemon/memory/index/database.ts'
import { openSegment } from '@loci/daemon/memory/index/format.ts'
import { type Ranked, type SearchOptions, search } from '@loci/daemon/memory/index/search.ts'

const SEGMENT_ITEMS_MAX = 4_096

export interface DaemonIndex {
  database: Database
  segmentBytes: number
  search: (text: string, options: SearchOptions) => Ranked[]
}

export function indexRecords(records: readonly RecordText[], language: Language): DaemonIndex {
  return indexItems(
    records.map((record) => analyseItem(record, language)),
    language,
  )
}

export function indexItems(items: readonly IndexItem[], language: Language): DaemonIndex {
  const bodies: Uint8Array[] = []
  for (let from = 0; from < items.length; from += SEGMENT_ITEMS_MAX) {
    bodies.push(buildSegment(items.slice(from, from + SEGMENT_ITEMS_MAX), analyserOf(language)))
  }
  const database = openDatabase(
    bodies.map((body) => openSegment(body)),
    language,
  )
  return {
    database,
    segmentBytes: bodies.reduce((sum, body) => sum + body.byteLength, 0),
    search: (text, options) => search(database, analyseCue(text, language, database.names), options).ranked,
  }
}
