// How a page looks to whoever is there: to a program that knows the rules of accessibility, on screens of every width,
// and as a picture for people.

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import { SCREEN, until } from './scene.ts'

/** Kept after the run, to be laid beside the design. Not in the repository. */
const OUTPUT = fileURLToPath(new URL('../../../output/console/', import.meta.url))
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']

export type Scheme = 'light' | 'dark'

export interface Seen {
  /** Rules of WCAG 2.2 A and AA that it breaks, with where. */
  violations: string[]
  /** Widths at which it scrolls sideways. */
  tooWide: number[]
}

export async function inScheme(page: Page, scheme: Scheme): Promise<void> {
  await page.emulateMedia({ colorScheme: scheme })
  await until(page, `document.documentElement.dataset.scheme === '${scheme}'`)
}

export async function inspect(page: Page, name: string, { widths }: { widths: readonly number[] }): Promise<Seen> {
  mkdirSync(OUTPUT, { recursive: true })
  await page.setViewportSize(SCREEN)
  const violations = await violationsOf(page)
  violations.push(...(await page.evaluate<string[]>(OUTSIDE)))
  await page.screenshot({ path: join(OUTPUT, `${name}.png`) })
  const tooWide: number[] = []
  for (const width of widths) {
    await page.setViewportSize({ width, height: 844 })
    // A plot is drawn again in the next frame.
    await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))')
    if (await page.evaluate<boolean>(`document.scrollingElement.scrollWidth > ${width}`)) tooWide.push(width)
    if (width === 390) {
      await page.screenshot({ path: join(OUTPUT, `${name}-390.png`) })
      // As high as it is: what the tabs at the bottom cover is reached by scrolling, and is no finding.
      const height = await page.evaluate<number>('document.scrollingElement.scrollHeight')
      await page.setViewportSize({ width, height: Math.max(844, height) })
      violations.push(...(await violationsOf(page)).map((one) => `at 390 px: ${one}`))
    }
  }
  await page.setViewportSize(SCREEN)
  return { violations: [...new Set(violations)], tooWide }
}

/** What stands out of its card, or on another card. */
const OUTSIDE = `[...document.querySelectorAll('.card')].flatMap((card) => {
  if (card.scrollWidth <= card.clientWidth + 1) return []
  const { right } = card.getBoundingClientRect()
  const out = [...card.querySelectorAll('*')].filter((one) => one.getBoundingClientRect().right > right + 1).at(-1)
  return [
    'something stands out of the card ' + card.innerText.slice(0, 20).replace(/\\s+/g, ' ') + ': ' +
      out?.tagName + '.' + out?.className + ' ' + out?.textContent.slice(0, 60),
  ]
})`

interface Violation {
  id: string
  nodes: { target: string[]; html: string; failureSummary: string }[]
}

async function violationsOf(page: Page): Promise<string[]> {
  await page.evaluate(axe.source)
  const { violations } = await page.evaluate<{ violations: Violation[] }>(
    `axe.run(document, { runOnly: ${JSON.stringify(RULES)}, resultTypes: ['violations'] })`,
  )
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(
      ({ target, failureSummary }) => `${id} ${target.join(' ')} ${failureSummary.split('\n')[1]?.trim() ?? ''}`,
    ),
  )
}
