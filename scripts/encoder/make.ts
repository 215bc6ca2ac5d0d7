// Makes the folder that LOCI_ENCODER names: takes the model and its vocabulary out of the artefact, installs the
// runtime beside them, leaves of it what this platform needs, and writes the manifest last.

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { type EncoderManifest, MANIFEST, MODEL, VOCABULARY } from '@loci/daemon/memory/encoder/folder.ts'
import { readZip } from './zip.ts'

/** What docs/operations/encoder.md names. */
const NAME = 'bge-small-en-v1.5-q'
const DIMENSIONS = 384
export const ARTEFACT_SHA256 = '95b1ab04b9455fac9c63d52786ff142bfd3e86ace6b987eed263206672700dfe'

const RUNTIME_VERSION = '1.30.0'
/** As npm writes it: another package of that version is refused. */
const RUNTIME = {
  'onnxruntime-node': 'sha512-twhs1C2C/BFkz1yc5OY0KIU2GUq6DURO7hD4bx5Q2Qy3nAMJwRXW8xU3NVczE29VA9lolLOYepoD8fjTGOfIqw==',
  'onnxruntime-common':
    'sha512-7fdVWjAID1dVhH/G8qK3APARunV4VkBFoCQAP7qp4Wkab0mrorvmc+sqiT+mKXOzDqdjN5j+/Z9nb4gzNPWcyA==',
} as const

export interface MakeOptions {
  artefact: Buffer
  sha256: string
  folder: string
  platform?: string
  arch?: string
}

export function makeFolder(options: MakeOptions): EncoderManifest {
  const { artefact, sha256, folder, platform = process.platform, arch = process.arch } = options
  const found = digestOf(artefact)
  if (found !== sha256) throw new Error(`the artefact has the SHA-256 ${found}, not ${sha256}: nothing was made`)
  if (existsSync(folder) && readdirSync(folder).length > 0) throw new Error(`${folder} is not empty`)
  const files = readZip(artefact)
  mkdirSync(folder, { recursive: true })
  writeFileSync(path.join(folder, MODEL), entryOf(files, `${NAME}.onnx`))
  writeFileSync(path.join(folder, VOCABULARY), vocabularyOf(entryOf(files, `${NAME}-tokenizer.json`)))
  installRuntime(folder, platform, arch)
  const made = globSync('**/*', { cwd: folder, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .sort()
  const manifest = {
    name: NAME,
    dimensions: DIMENSIONS,
    files: Object.fromEntries(made.map((file) => [file, digestOf(readFileSync(path.join(folder, file)))])),
  }
  writeFileSync(path.join(folder, MANIFEST), `${JSON.stringify(manifest, null, 1)}\n`)
  return manifest
}

function entryOf(files: Map<string, () => Buffer>, name: string): Buffer {
  const read = files.get(name)
  if (!read) throw new Error(`the artefact has no ${name}`)
  return read()
}

/** One piece per line, in the order of their ids. */
function vocabularyOf(tokenizer: Buffer): string {
  const { vocab } = (JSON.parse(tokenizer.toString()) as { model: { vocab: Record<string, number> } }).model
  const pieces = Object.entries(vocab).sort(([, one], [, other]) => one - other)
  if (pieces.some(([piece, id], at) => id !== at || piece.includes('\n')))
    throw new Error('the vocabulary of the artefact is no list')
  return `${pieces.map(([piece]) => piece).join('\n')}\n`
}

/**
 * Without install scripts: the library for the CPU is in the package, the script would fetch others. Of 288 MB 46 stay,
 * those of this platform; the packages that only the script uses go too.
 */
function installRuntime(folder: string, platform: string, arch: string): void {
  writeFileSync(path.join(folder, 'package.json'), '{ "private": true }\n')
  const wanted = Object.keys(RUNTIME).map((name) => `${name}@${RUNTIME_VERSION}`)
  execFileSync('npm', ['install', '--ignore-scripts', '--save-exact', '--no-audit', '--no-fund', ...wanted], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const modules = path.join(folder, 'node_modules')
  const lock = JSON.parse(readFileSync(path.join(modules, '.package-lock.json'), 'utf8')) as {
    packages: Record<string, { integrity?: string }>
  }
  for (const [name, integrity] of Object.entries(RUNTIME)) {
    if (lock.packages[`node_modules/${name}`]?.integrity !== integrity)
      throw new Error(`${name} ${RUNTIME_VERSION} is not the package that this version of loci was tested with`)
  }
  const keep = path.join('onnxruntime-node', 'bin', 'napi-v6', platform, arch)
  if (!existsSync(path.join(modules, keep))) throw new Error(`the runtime has no library for ${platform} ${arch}`)
  const isKept = (file: string) =>
    /^onnxruntime-(node|common)\/package\.json$/.test(file) ||
    /^onnxruntime-(node\/dist|common\/dist\/cjs)\/.*\.(js|json)$/.test(file) ||
    file.startsWith(`${keep}${path.sep}`)
  for (const entry of globSync('**/*', { cwd: modules, withFileTypes: true })) {
    const file = path.relative(modules, path.join(entry.parentPath, entry.name))
    if (entry.isFile() && !isKept(file)) rmSync(path.join(modules, file))
  }
  for (const name of readdirSync(modules)) if (!(name in RUNTIME)) rmSync(path.join(modules, name), { recursive: true })
  rmSync(path.join(folder, 'package-lock.json'), { force: true })
  writeFileSync(path.join(folder, 'package.json'), '{ "private": true }\n')
}

function digestOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
