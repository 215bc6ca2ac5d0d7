// `npm run dev`: a page that is open loads again when a source of the console changed. The sources are a copy, and what
// is served afterwards is built as ever.

import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { linkModules } from '../../world/mutant.ts'
import type { Report } from '../../world/report.ts'
import { openPage, type Scene } from './scene.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const DIST = path.join(ROOT, 'console/dist')
const COPIED = ['package.json', 'tsconfig.json', 'libs', 'sdk', 'console', 'scripts/build/console.ts']
const SOURCE = 'console/frame/nav.tsx'

export async function reloadsInDev(report: Report, scene: Scene): Promise<void> {
  const root = realpathSync(mkdtempSync(path.join(tmpdir(), 'loci-console-dev-')))
  try {
    for (const name of COPIED) cpSync(path.join(ROOT, name), path.join(root, name), { recursive: true })
    linkModules(root)
    // Its own one, so that nothing of the checkout is looked at.
    const { watchConsole } = (await import(path.join(root, 'scripts/build/console.ts'))) as {
      watchConsole(top: string, folder: string): Promise<() => Promise<void>>
    }
    const end = await watchConsole(root, DIST)
    const page = await openPage(scene, scene.ada, '/services', '.nav >> text=API docs')
    const file = path.join(root, SOURCE)
    writeFileSync(file, readFileSync(file, 'utf8').replace('API docs', 'All of the API'))
    const isThere = await page
      .locator('.nav >> text=All of the API')
      .waitFor({ timeout: 120_000 })
      .then(
        () => true,
        () => false,
      )
    await page.close()
    await end()
    execFileSync(process.execPath, ['--disable-warning=ExperimentalWarning', 'scripts/build.ts', 'console'], {
      cwd: ROOT,
    })
    const left = readdirSync(DIST, { recursive: true, encoding: 'utf8' }).filter((name) => name.includes('reload'))
    const isNamed = readFileSync(path.join(DIST, 'index.html'), 'utf8').includes('/reload')
    report.promise(
      'in development an open page loads again when a source changed; nothing of that is in what is built to be served',
      isThere && left.length === 0 && !isNamed,
      `${isThere ? 'it shows what was changed' : 'it shows what was before'}; ${left.length} files of it afterwards`,
    )
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}
