// Where an id leads that somebody pasted: by its prefix to the page of what it names, where that has one. Rules without
// React.

import { ID_TYPES, type IdType } from '@loci/contract/ids.ts'

/**
 * organization: one of those that the person belongs to.
 * service: it names one.
 * operation: of a service, which its answer names.
 * memory, cycle: somewhere in a service; it is looked for.
 * page: of the organization; where it stands in a list.
 * nowhere: it is known what it is, and no page has it.
 */
export type Place =
  | { is: 'organization' | 'service' | 'operation' | 'memory' | 'cycle' }
  | { is: 'page'; page: 'tokens' | 'members' | 'usage' | 'audit' | 'cells'; what: string }
  | { is: 'nowhere'; what: string; why: string }

const PAGES: Readonly<Partial<Record<IdType, 'tokens' | 'members' | 'usage' | 'audit' | 'cells'>>> = {
  cap: 'tokens',
  key: 'tokens',
  ptr: 'tokens',
  rev: 'tokens',
  oac: 'tokens',
  oag: 'tokens',
  usr: 'members',
  inv: 'members',
  ten: 'usage',
  aud: 'audit',
  cell: 'cells',
}

const NOWHERE: Readonly<Partial<Record<IdType, string>>> = {
  req: 'Requests are not kept. Give it to who runs this installation: it stands in the log of the program that answered.',
  evt: 'Events have no page of their own. Those of a service stand in its events for 24 hours.',
  slt: 'Slots are named by their keys. Look for it in the working memory of its service.',
  prj: 'Outcomes that were told have no page of their own. They stand as evidence beside the tools that they are about.',
  ses: 'Sessions have no page. Sign out to end yours.',
}

/** Undefined: it is no id of ours. */
export function placeOf(id: string): Place | undefined {
  const type = /^([a-z]{2,4})_[0-9a-z]+$/.exec(id)?.[1] as IdType | undefined
  if (type === undefined || !Object.hasOwn(ID_TYPES, type)) return undefined
  const what = ID_TYPES[type]
  if (type === 'org') return { is: 'organization' }
  if (type === 'svc') return { is: 'service' }
  if (type === 'op') return { is: 'operation' }
  if (type === 'mem') return { is: 'memory' }
  if (type === 'cyc') return { is: 'cycle' }
  const page = PAGES[type]
  return page ? { is: 'page', page, what } : { is: 'nowhere', what, why: NOWHERE[type] ?? 'It has no page of its own.' }
}

export interface Searched {
  serviceId: string
  slug: string
  database: string
}

/** What came into view last is looked through first. */
export function inOrder(services: readonly { id: string; slug: string; status: string }[], last: string | undefined) {
  return services
    .filter(({ status }) => status === 'active' || status === 'updating' || status === 'suspended')
    .toSorted((one, other) => Number(other.slug === last) - Number(one.slug === last))
}
