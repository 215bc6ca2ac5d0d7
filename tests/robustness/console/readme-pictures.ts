// The two pictures that README begins with: the sample of `loci up --seed demo`, as a person sees it. They are written
// into the tree, for a person to look at and commit.

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Browser } from 'playwright-core'
import type { Report } from '../../world/report.ts'
import { inScheme, type Scheme } from './look.ts'
import { timelineOf } from './mind.ts'
import { KNOWN } from './questions.ts'
import { openPage, type Scene, setScene, settled } from './scene.ts'

const PLACE = fileURLToPath(new URL('../../../docs/pictures/', import.meta.url))
/** Where nothing of either page has to be scrolled sideways. */
const SIZE = { width: 1440, height: 880 }
const SCHEMES: readonly Scheme[] = ['light', 'dark']
/** Between two cycles, so that the line stands beside what a cycle changed. */
const LATER_MS = 36_000

interface Picture {
  name: string
  path: string
  shows: string
}

export async function readmePictures(report: Report, browser: Browser): Promise<void> {
  const scene = await setScene(browser, { isHostile: false })
  try {
    mkdirSync(PLACE, { recursive: true })
    const pictures = await picturesOf(scene)
    for (const { name, path, shows } of pictures) {
      const page = await openPage(scene, scene.ada, path, shows)
      await page.setViewportSize(SIZE)
      for (const scheme of SCHEMES) {
        await inScheme(page, scheme)
        await settled(page, shows)
        await page.screenshot({ path: join(PLACE, `${name}-${scheme}.png`) })
      }
      await page.close()
    }
    report.note(`${pictures.length * SCHEMES.length} pictures are in docs/pictures`)
  } finally {
    await scene.world.stop()
  }
}

async function picturesOf(scene: Scene): Promise<Picture[]> {
  const { slug, hitId } = scene
  const { cycles } = await timelineOf(scene)
  const busiest = cycles.toSorted((one, other) => other.counts.evicted - one.counts.evicted)[0]
  if (!busiest) throw new Error('the sample has no cycle')
  const at = new Date(Date.parse(busiest.at) + LATER_MS).toISOString()
  return [
    { name: 'mind', path: `/s/${slug}/mind?at=${at}`, shows: '.held-then .now li' },
    { name: 'memory', path: `/s/${slug}/memory?q=${encodeURIComponent(KNOWN)}&hit=${hitId}`, shows: '.hits .on' },
  ]
}
