// What rot does to memory: every edit of a record or of a segment of its index is found, hides nothing that is healthy,
// and changes no answer. With what gives the checks away.

import { plantMutant } from '../world/mutant.ts'
import type { Report } from '../world/report.ts'
import { type RotCell, startRotCell } from './rot-cell.ts'
import { RECORD_EDITS, rotRecords, rotSegments, SEGMENT_EDITS } from './rot-records.ts'

export async function recordEdits(report: Report, cell: RotCell, rounds: number): Promise<void> {
  const { edits: done, found, served, hidden, missed } = await rotRecords(cell, rounds * RECORD_EDITS.length)
  for (const line of [...served, ...hidden, ...missed].slice(0, 10)) report.note(line)
  report.promise(
    `${done} edits of records by a superuser`,
    found === done && served.length + hidden.length + missed.length === 0,
    `${found} found, ${served.length} served as truth, ${hidden.length} healthy ones hidden`,
  )
}

export async function segmentEdits(report: Report, cell: RotCell, rounds: number): Promise<void> {
  const { edits: done, found, wrong, missed, asked } = await rotSegments(cell, rounds * SEGMENT_EDITS.length)
  for (const line of [...wrong, ...missed].slice(0, 10)) report.note(line)
  report.promise(
    `${done} edits of the index of memory by a superuser`,
    found === done && wrong.length + missed.length === 0,
    `${found} found, ${wrong.length} of ${asked} recalls other than from the rows`,
  )
}

export async function memoryMutants(report: Report): Promise<void> {
  await using mutant = await plantMutant([
    {
      file: 'daemon/memory/functions.sql',
      from: 'coalesce(r.digest = loci.record_digest(r) and r.instance_id = p_instance and r.database = p_database, false)',
      to: 'true',
    },
    {
      file: 'daemon/memory/upkeep/indexing.ts',
      from: 'return row && segmentDigest(due, segment, row.body).equals(row.digest) ? row.body : undefined',
      to: 'return row?.body',
    },
    { file: 'daemon/memory/reports/functions.sql', from: 'where g.from_seq > g.covered + 1', to: 'where false' },
  ])
  const cell = await startRotCell({
    ...{ dataChecksums: true, rowsPerDatabase: 1, root: mutant.root, start: mutant.startProgram },
  })
  try {
    const { served } = await rotRecords(cell, 1)
    report.mutant('the digest of a record is not looked at', served[0])
    const { wrong, missed } = await rotSegments(cell, SEGMENT_EDITS.length)
    report.mutant('the digest of a segment is not looked at', wrong.length > 0 ? `${wrong.length} recalls` : undefined)
    report.mutant('nobody looks for a segment that is gone', missed[0])
  } finally {
    await cell.close()
  }
}
