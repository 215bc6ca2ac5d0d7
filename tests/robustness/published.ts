// What publint and attw find in a package that is to be published.

import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core'
import { publint } from 'publint'
import { formatMessage } from 'publint/utils'

export async function publintProblems(folder: string): Promise<string[]> {
  const { messages, pkg } = await publint({ pkgDir: folder, strict: true, pack: false })
  return messages.map((message) => formatMessage(message, pkg) ?? message.code)
}

/** Packs it beside its files: what is checked is the tarball. */
export async function typeProblems(folder: string): Promise<string[]> {
  execFileSync('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: folder, stdio: 'pipe' })
  const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz')) as string
  const data = readFileSync(path.join(folder, tarball))
  const result = await checkPackage(createPackageFromTarballData(new Uint8Array(data)))
  if (!result.types) return ['it has no types']
  // ESM alone: what is older than `exports`, and `require` of it, are not promised.
  return result.problems
    .filter(({ kind }) => kind !== 'NoResolution' && kind !== 'CJSResolvesToESM')
    .map(({ kind }) => kind)
}
