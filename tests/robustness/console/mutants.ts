// What the test would say of a console that breaks its promises: a page is spoilt in the browser in one way, and must
// be caught by the same inspection.

import type { Report } from '../../world/report.ts'
import { inspect } from './look.ts'
import { openPage, type Scene } from './scene.ts'

const SPOILT: readonly { name: string; how: string }[] = [
  { name: 'a button without a name', how: `document.querySelector('main').append(document.createElement('button'))` },
  { name: 'pale text', how: `document.querySelector('.sub').style.color = '#ddd'` },
  {
    name: 'a table that is wider than the screen',
    how: `document.querySelector('main').style.minWidth = '700px'`,
  },
  {
    name: 'columns that are too narrow for what stands in them',
    how: `document.querySelector('.below').style.setProperty('grid-template-columns', '90px 1fr')`,
  },
]

export async function consoleMutants(report: Report, scene: Scene): Promise<void> {
  for (const { name, how } of SPOILT) {
    const page = await openPage(scene, scene.ada, '/services', '.sv')
    await page.evaluate(how)
    const { violations, tooWide } = await inspect(page, 'mutant', { widths: [320, 390] })
    await page.close()
    const found = [...violations, ...tooWide.map((width) => `too wide at ${width} px`)]
    report.mutant(name, found[0]?.slice(0, 80))
  }
}
