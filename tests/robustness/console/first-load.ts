// The first page: what it weighs, and that its files are kept.

import type { Browser } from 'playwright-core'
import type { Report } from '../../world/report.ts'
import type { Scene } from './scene.ts'
import { isLight, kilobytes, weighFirstLoad, weightText } from './weight.ts'

export async function firstLoad(report: Report, browser: Browser, scene: Scene): Promise<void> {
  const { files, ...weight } = await weighFirstLoad(browser, scene.ada, scene)
  report.promise(
    'the first page loads at most 200 KB of JavaScript and 20 KB of CSS, compressed',
    isLight(weight),
    `${weightText(weight)}, ${kilobytes(weight.fonts)} fonts in ${files.length} files`,
  )
  const wrong = files.filter(({ path, headers }) => {
    const cached = String(headers['cache-control'])
    return path === '/services' ? cached !== 'no-cache' : !/max-age=31536000, immutable/.test(cached)
  })
  report.promise(
    'files are kept for ever and the page is asked for again each time',
    wrong.length === 0 && files.some(({ path }) => path === '/services'),
    `${files.length} files, ${wrong.map(({ path }) => path).join(' ') || 'none wrong'}`,
  )
}
