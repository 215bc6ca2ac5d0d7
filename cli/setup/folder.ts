// The folder of an installation: secrets in files of their own, what was chosen, and the settings of both programs. A
// file that is there keeps its text unless it must change, and always keeps its mode and its owner.

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { replaceFile } from '../replace-file.ts'
import { readText } from '../up/files.ts'

/** Where in it the units of systemd are. */
export const UNITS = 'systemd'

export interface Folder {
  path: string
  file(name: string): string
  read(name: string): string | undefined
  /** Writes where it differs; says whether it did. */
  write(name: string, text: string): boolean
  /** What is there, or what is made now. A key is never replaced. */
  keep(name: string, make: () => string): string
}

export function folderAt(path: string): Folder {
  const file = (name: string) => join(path, name)
  const read = (name: string) => readText(file(name)) || undefined
  const write = (name: string, text: string) => {
    if (read(name) === text.trimEnd()) return false
    replaceFile(file(name), text, 0o600)
    return true
  }
  return {
    path,
    file,
    read,
    write,
    keep(name, make) {
      const known = read(name)
      if (known !== undefined) return known
      const made = make()
      write(name, `${made}\n`)
      return made
    },
  }
}

export function makeFolder({ path, file }: Folder): void {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  mkdirSync(file(UNITS), { recursive: true })
}
