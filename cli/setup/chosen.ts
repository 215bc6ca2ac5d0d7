// What an installation was told once: where its parts are reached, and who owns it. Services and capabilities know
// these addresses, so a later run that tells another one is refused; where a program listens may change.

import { resolve } from 'node:path'
import { CommandFailure, usage } from '../failure.ts'
import type { Call } from '../tree/command.ts'
import { readJson } from '../up/files.ts'
import type { Folder } from './folder.ts'

export interface Chosen {
  publicUrl: string
  cellUrl: string
  cell: string
  region: string
  capacity: string
  ownerEmail: string
  organization: string
  listen: string
  cellListen: string
  tlsCert?: string | undefined
  tlsKey?: string | undefined
}

type Name = keyof Chosen

const OPTIONS: Readonly<Record<Name, string>> = {
  publicUrl: 'public-url',
  cellUrl: 'cell-url',
  cell: 'cell',
  region: 'region',
  capacity: 'capacity',
  ownerEmail: 'owner-email',
  organization: 'organization',
  listen: 'listen',
  cellListen: 'cell-listen',
  tlsCert: 'tls-cert',
  tlsKey: 'tls-key',
}
const MAY_CHANGE: readonly Name[] = ['listen', 'cellListen', 'tlsCert', 'tlsKey']
const USUAL: Partial<Chosen> = {
  publicUrl: 'http://127.0.0.1:4400',
  cellUrl: 'http://127.0.0.1:4410',
  cell: 'cell-1',
  region: 'us-east-1',
  capacity: '1000',
  organization: 'default',
  listen: '127.0.0.1:4400',
  cellListen: '127.0.0.1:4410',
}
const CHOSEN = 'setup.json'

export function chosenFor(call: Call, folder: Folder): Chosen {
  const known = readJson<Chosen>(folder.file(CHOSEN))
  const values = Object.entries(OPTIONS).map(([name, option]) => {
    const given = givenFor(call, name as Name, option)
    const before = known?.[name as Name]
    if (known && given !== undefined && given !== before && !MAY_CHANGE.includes(name as Name))
      throw new CommandFailure(
        'config',
        'LOCI-REMEMBERED',
        `This installation has --${option} ${before}: nothing was changed.`,
        { hint: `Leave --${option} out, or set up another one: --directory <directory>` },
      )
    return [name, given ?? before ?? USUAL[name as Name]]
  })
  const chosen = Object.fromEntries(values) as Chosen
  if (chosen.ownerEmail === undefined) throw usage('--owner-email is missing: who owns the first organization.')
  for (const name of ['publicUrl', 'cellUrl'] as const)
    if (!URL.canParse(chosen[name]) || new URL(chosen[name]).origin !== chosen[name])
      throw usage(`--${OPTIONS[name]} is an origin such as https://loci.example, without a path.`)
  if (!/^\d{1,7}$/.test(chosen.capacity)) throw usage('--capacity is a whole number.')
  if ((chosen.tlsCert === undefined) !== (chosen.tlsKey === undefined))
    throw usage('--tls-cert and --tls-key go together.')
  return chosen
}

/** In one file, before anything is made of it: a run that is cut off is finished by the next as it was begun. */
export function keepChosen(folder: Folder, chosen: Chosen): boolean {
  return folder.write(CHOSEN, `${JSON.stringify(chosen, null, 2)}\n`)
}

function givenFor(call: Call, name: Name, option: string): string | undefined {
  const given = call.text(option)
  return given !== undefined && name.startsWith('tls') ? resolve(call.host.cwd, given) : given
}
