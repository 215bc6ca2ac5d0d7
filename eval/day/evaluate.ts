// `npm run eval -- day [--moment <name> | --cost]`: what the cycle keeps in mind, with the shipped defaults at
// capacity 25, and what it costs. Exits 1 when a promised figure is missed.

import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import type { CycleResult } from '@loci/daemon/cycles/shapes.ts'
import { readLocomo } from '../recall/locomo.ts'
import { carryOver } from './carry-over.ts'
import { printCost } from './cost.ts'
import { ABLATIONS, type Day, type DayRun, runDay } from './day.ts'
import { vary, without } from './vary.ts'

const FILE = path.join(import.meta.dirname, '..', '..', '..', 'shared', 'data', 'day.json')
const VARIED = 30
const PROMISED = { varied: 320, held: 0.88, first: 0.8, sumError: 1e-6 }

export async function evaluateDay(args: string[]): Promise<void> {
  const { values } = parseArgs({ args, options: { moment: { type: 'string' }, cost: { type: 'boolean' } } })
  const file = process.env.LOCI_EVAL_DAY ?? FILE
  if (!existsSync(file)) return console.log(`no scripted day at ${file}; LOCI_EVAL_DAY says where another one is`)
  const day = JSON.parse(readFileSync(file, 'utf8')) as Day
  if (values.moment !== undefined) return showMoment(day, values.moment)
  if (values.cost) return printCost(day)
  const missed = [...runOnce(day), ...ablate(day), ...runVaried(day), ...askLocomo()]
  for (const each of missed) console.log(`MISSED ${each}`)
  process.exitCode = missed.length > 0 ? 1 : 0
}

function runOnce(day: Day): string[] {
  const [one, again] = [runDay(day), runDay(day)]
  const total = day.moments.length
  console.log(
    `${day.observations.length} observations, ${one.cycles} cycles, mean ${one.slotsMean.toFixed(1)} slots, ` +
      `scores off the sum of their parts by at most ${one.sumError.toExponential(1)}, hash ${one.hash.slice(0, 16)}`,
  )
  for (const line of wrongOf(one)) console.log(`  ${line}`)
  console.log(`moments held: ${one.held} of ${total}`)
  return [
    ...(one.held < total ? [`${total} of ${total} moments`] : []),
    ...(one.hash === again.hash ? [] : ['the same decisions twice']),
    ...(one.sumError < PROMISED.sumError ? [] : ['parts that sum to the score']),
  ]
}

function ablate(day: Day): string[] {
  console.log('\nswitched off: moments that fail (those that it is there for, and others)')
  return ABLATIONS.flatMap((ablation) => {
    const { day: changed, config } = without(ablation, day)
    const { wrong } = runDay(changed, config)
    const failed = day.moments.filter(({ name }) => wrong.get(name)?.length)
    const meant = day.moments.filter(({ failsWithout }) => failsWithout === ablation)
    const names = (moments: Day['moments']) => moments.map(({ name }) => name).join(', ') || 'none'
    const others = failed.filter((moment) => !meant.includes(moment))
    console.log(
      `  ${ablation.padEnd(14)}${names(failed.filter((one) => meant.includes(one)))}; others: ${names(others)}`,
    )
    return meant.filter((one) => !failed.includes(one)).map(({ name }) => `'${name}' holds without ${ablation}`)
  })
}

function runVaried(day: Day): string[] {
  let held = 0
  console.log(
    `\n${VARIED} other days (words, chatter, cadence 3 to 8, every second with a quarter of the chatter left out)`,
  )
  for (let seed = 1; seed <= VARIED; seed++) {
    const run = runDay(vary(day, { seed, cadence: 3 + (seed % 6), drop: seed % 2 === 1 ? 0.25 : 0 }))
    held += run.held
    for (const line of wrongOf(run)) console.log(`  day ${seed}: ${line}`)
  }
  console.log(`moments held: ${held} of ${VARIED * day.moments.length}`)
  return held < PROMISED.varied ? [`${PROMISED.varied} moments of ${VARIED} other days`] : []
}

function askLocomo(): string[] {
  const dialogues = readLocomo()
  if (dialogues === null) {
    console.log('\nLoCoMo is not there: carry-over was not measured')
    return []
  }
  const { questions, held, first, slotsMean } = carryOver(dialogues)
  console.log(`\nLoCoMo with carry-over, ${questions} questions, mean ${slotsMean.toFixed(1)} slots`)
  console.log(`evidence held ${held.toFixed(3)}, in the first ten slots ${first.toFixed(3)}`)
  return [
    ...(held < PROMISED.held ? [`evidence held ${PROMISED.held}`] : []),
    ...(first < PROMISED.first ? [`evidence in the first ten slots ${PROMISED.first}`] : []),
  ]
}

function wrongOf({ wrong }: DayRun): string[] {
  return [...wrong].flatMap(([name, list]) => (list.length === 0 ? [] : [`${name}: ${list.join(', ')}`]))
}

function showMoment(day: Day, name: string): void {
  runDay(day, {}, ({ slots, decisions }: CycleResult, moment) => {
    if (moment?.name !== name) return
    for (const { explain, record, key, value } of slots) {
      const parts = explain.parts.map((part) => `${part.name} ${part.contribution.toFixed(2)}`).join(' ')
      const text = String(value).slice(0, 60).padEnd(60)
      console.log(`${explain.score.toFixed(2).padStart(6)} ${(record?.id ?? key).padEnd(8)} ${text} ${parts}`)
    }
    for (const { action, reasonCode, subject, score, reason } of decisions) {
      if (action === 'evicted' || action === 'stored')
        console.log(`${score.toFixed(2).padStart(6)} ${subject.key.padEnd(8)} ${action} ${reasonCode}: ${reason}`)
    }
  })
}
