import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { CapacityFigures } from './capacity-figures.ts'
import { capacityPage, PAGE, readFigures } from './capacity-page.ts'

const FIGURES = readFigures()

/** Numbers of the first row that begins so, behind its first column. */
function rowOf(page: string, start: string): number[] {
  const line = page.split('\n').find((one) => one.startsWith(`| ${start} |`))
  assert.ok(line, `no row ${start}`)
  return [...line.slice(start.length + 3).matchAll(/\d[\d ]*(?:\.\d+)?/g)].map(([text]) =>
    Number(text.replaceAll(' ', '')),
  )
}

const times = (factor: number): CapacityFigures => ({
  ...FIGURES,
  operations: FIGURES.operations.map((one) => ({
    ...one,
    daemonUs: one.daemonUs * factor,
    postgresUs: one.postgresUs * factor,
  })),
})

// Mutants: usOf() without PostgreSQL; busyOf() without PEAK.
test('a cell holds half as many where everything costs twice as much, and four times as many on four times the cores', () => {
  const [page, dearer] = [capacityPage(FIGURES), capacityPage(times(2))]
  for (const cores of ['2', '8', '32']) {
    const [busy = 0, half = 0] = [rowOf(page, cores)[0], rowOf(dearer, cores)[0]]
    assert.ok(busy > 0 && Math.abs(busy / 2 - half) <= 1, `${busy} and ${half} on ${cores} cores`)
  }
  const [few = 0, many = 0] = [rowOf(page, '2')[0], rowOf(page, '8')[0]]
  assert.ok(Math.abs(many - 4 * few) <= 4)
  const daemonAlone = capacityPage({
    ...FIGURES,
    operations: FIGURES.operations.map((one) => ({ ...one, postgresUs: 0 })),
  })
  assert.ok((rowOf(daemonAlone, '2')[0] ?? 0) > few)
  // By hand: what a busy agent does in a day, four times as fast in the busiest hour, on half of two cores.
  const seconds = Number(/([\d.]+) s of processor/.exec(page)?.[1])
  assert.ok(Math.abs(few - (2 * 0.5 * 86_400) / 4 / seconds) < few / 20, `${few} of ${seconds} s`)
})

test('more instances need more cells, and their rows in the control database more room', () => {
  const page = capacityPage(FIGURES)
  const cells = ['1 000', '1 000 000', '100 000 000'].map((count) => rowOf(page, count)[0] ?? 0)
  assert.ok(cells[0] === 1 && (cells[1] ?? 0) > 1 && (cells[2] ?? 0) > 50 * (cells[1] ?? 0), cells.join())
})

test('the page is that of the figures; npm run bench -- capacity --page writes it', () => {
  assert.equal(readFileSync(PAGE, 'utf8'), capacityPage(FIGURES))
})
