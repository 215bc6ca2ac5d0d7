// npm run build -- adapters: the adapters for frameworks of agents, each one file of integrations/typescript, into
// dist/adapters. The frameworks are peers and not installed here, so declarations are made from the file alone: what it
// exports says its types. That they are right is checked where the frameworks are (test:system -- adapters).

import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import path from 'node:path'

const HOME = 'integrations/typescript'

/** Their folders; what is private is an example and is not published. */
export function adaptersOf(top: string): string[] {
  const folders = existsSync(path.join(top, HOME)) ? readdirSync(path.join(top, HOME)) : []
  return folders.filter((name) => !manifestOf(path.join(top, HOME, name)).private)
}

/** The tarball. */
export function buildAdapter(top: string, name: string, dist: string, common: object): string {
  const home = path.join(top, HOME, name)
  const folder = path.join(dist, name)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  const source = readFileSync(path.join(home, `${name}.ts`), 'utf8')
  writeFileSync(path.join(folder, `${name}.js`), stripTypeScriptTypes(source).replaceAll(/[ \t]+$/gm, ''))
  declare(top, path.join(home, `${name}.ts`), folder)
  cpSync(path.join(home, 'README.md'), path.join(folder, 'README.md'))
  for (const file of ['LICENSE', 'NOTICE']) cpSync(path.join(top, file), path.join(folder, file))
  const manifest = {
    ...manifestOf(home),
    ...common,
    repository: { type: 'git', url: 'git+https://github.com/locihq/loci.git', directory: `${HOME}/${name}` },
    sideEffects: false,
    exports: { '.': { types: `./${name}.d.ts`, default: `./${name}.js` }, './package.json': './package.json' },
  }
  writeFileSync(path.join(folder, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`)
  const pack = ['pack', '--json', '--silent', '--pack-destination', dist]
  const [{ filename }] = JSON.parse(execFileSync('npm', pack, { cwd: folder, encoding: 'utf8' })) as [
    { filename: string },
  ]
  return path.join(dist, filename.replace('@', '').replace('/', '-'))
}

function manifestOf(folder: string): { private?: boolean } {
  return JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'))
}

function declare(top: string, file: string, folder: string): void {
  const compiler = path.join(top, 'node_modules/typescript/bin/tsc')
  const flags = ['--declaration', '--emitDeclarationOnly', '--isolatedDeclarations', '--noCheck', '--ignoreConfig']
  const target = ['--target', 'es2024', '--module', 'nodenext', '--outDir', folder]
  execFileSync(process.execPath, [compiler, ...flags, ...target, file], { stdio: ['ignore', 'inherit', 'inherit'] })
}
