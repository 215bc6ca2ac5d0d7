// The console as files: Vite makes the page and what it loads, and each file gets the forms that browsers take
// compressed, so that nothing is compressed while somebody waits.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { Plugin } from 'vite'

const COMPRESSED = /\.(?:js|css|svg|txt)$/
/** Their licence goes with them wherever they go. */
const FONTS = ['inter', 'source-serif-4', 'jetbrains-mono']

export async function buildConsole(top: string, folder: string): Promise<void> {
  const { build } = await import('vite')
  await build({ ...options(top), build: { outDir: folder } })
  finish(top, folder)
}

/**
 * Builds again whenever a source of it changed, for as long as the process runs or until what it answers with is
 * called; pages that are open load again by themselves.
 */
export async function watchConsole(top: string, folder: string, onBuilt = () => {}): Promise<() => Promise<void>> {
  const { build } = await import('vite')
  const watching = { outDir: folder, watch: {}, minify: false }
  const watcher = await build({ ...options(top), plugins: [reloading()], build: watching })
  if (!('on' in watcher)) throw new Error('vite does not watch')
  await new Promise<void>((resolve) => {
    watcher.on('event', (event) => {
      if (event.code === 'ERROR') console.error(event.error.message)
      if (event.code !== 'END') return
      onBuilt()
      resolve()
    })
  })
  return () => watcher.close()
}

/** Of development alone. A file of our own origin, so that the policy of the page is what it is everywhere. */
function reloading(): Plugin {
  const fileName = 'assets/reload.js'
  return {
    name: 'reload',
    buildStart() {
      this.emitFile({ type: 'asset', fileName, source: RELOAD })
    },
    transformIndexHtml: () => [{ tag: 'script', attrs: { type: 'module', src: `/console/${fileName}` } }],
  }
}

/** The page names its files by hashes of what they hold: it is another one as soon as anything was built anew. */
const RELOAD = `let known
setInterval(async () => {
  if (document.hidden) return
  const answer = await fetch('/services', { cache: 'no-store' }).catch(() => undefined)
  const now = answer?.ok ? answer.headers.get('etag') : undefined
  if (now && known && now !== known) location.reload()
  known ??= now
}, 1000)
`

function options(top: string) {
  return { configFile: path.join(top, 'console/vite.config.ts'), logLevel: 'warn' as const, mode: 'production' }
}

function finish(top: string, folder: string): void {
  const assets = path.join(folder, 'assets')
  const licences = FONTS.map((name) =>
    readFileSync(path.join(top, `node_modules/@fontsource-variable/${name}/LICENSE`)),
  )
  writeFileSync(path.join(assets, 'fonts.txt'), licences.join('\n\n'))
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!COMPRESSED.test(name)) continue
    const file = path.join(folder, name)
    const plain = readFileSync(file)
    const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: plain.length }
    writeFileSync(`${file}.br`, brotliCompressSync(plain, { params }))
    writeFileSync(`${file}.gz`, gzipSync(plain, { level: 9 }))
  }
}
