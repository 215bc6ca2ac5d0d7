// The dashboards of deploy/grafana as Prometheus reads them: expressions that are ones, of metrics that are scraped,
// and panels that stand in nobody's place. No Grafana is had here: that it loads them is not shown.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'

const HOME = fileURLToPath(new URL('../../deploy/grafana', import.meta.url))

export interface Dashboard {
  file: string
  uid: string
  panels: {
    id: number
    title: string
    description: string
    gridPos: { x: number; y: number; w: number; h: number }
    targets: { expr: string }[]
  }[]
}

export function readDashboards(): Dashboard[] {
  return readdirSync(HOME).map((file) => ({ ...JSON.parse(readFileSync(path.join(HOME, file), 'utf8')), file }))
}

/** With what a person would choose: all of them. */
export function expressionsOf(boards: Dashboard[]): string[] {
  return boards.flatMap(({ panels }) =>
    panels.flatMap(({ targets }) => targets.map(({ expr }) => expr.replaceAll(/\$(?:job|instance)\b/g, '.*'))),
  )
}

export function problemsOf(boards: Dashboard[]): string[] {
  const problems: string[] = []
  for (const { file, panels } of boards) {
    if (new Set(panels.map(({ id }) => id)).size < panels.length) problems.push(`${file}: two panels have one id`)
    for (const { title, description, targets, gridPos: own } of panels) {
      if (!description || targets.length === 0) problems.push(`${file}: ${title} shows or says nothing`)
      if (own.x + own.w > 24) problems.push(`${file}: ${title} is wider than the page`)
      const inWay = panels.filter(({ gridPos: other }) => other !== own && overlap(own, other))
      if (inWay.length > 0) problems.push(`${file}: ${title} stands where ${inWay[0]?.title} does`)
    }
  }
  if (new Set(boards.map(({ uid }) => uid)).size < boards.length) problems.push('two boards have one uid')
  return [...problems, ...saidOf(expressionsOf(boards))]
}

type Place = Dashboard['panels'][number]['gridPos']

function overlap(one: Place, other: Place): boolean {
  return one.x < other.x + other.w && other.x < one.x + one.w && one.y < other.y + other.h && other.y < one.y + one.h
}

/** By promtool, as the rules that they could be. */
function saidOf(expressions: string[]): string[] {
  const place = mkdtempSync(path.join(tmpdir(), 'loci-dashboards-'))
  try {
    const rules = expressions.map((expr, at) => ({ record: `panel:${at}`, expr }))
    const file = path.join(place, 'rules.yml')
    writeFileSync(file, stringify({ groups: [{ name: 'panels', rules }] }))
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', file], { encoding: 'utf8' })
    return status === 0 ? [] : `${stdout}${stderr}`.split('\n').filter((line) => /could not parse|error/i.test(line))
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}
