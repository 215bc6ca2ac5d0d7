// Every page of the console with what it shows when it has all that it can show. A new page gets a row here, and is
// then opened in every state and scheme (look.ts).

import { KNOWN, UNKNOWN } from './questions.ts'
import type { Addressed } from './scene.ts'

export interface ConsolePage {
  /** Of the pictures; its folder in console/pages. */
  name: string
  path(scene: Addressed): string
  /** By which it is seen that it is full. */
  shows: string
  /** Where there is nothing to show: its address, whose eyes, and by what that is seen. Left out: it is never empty. */
  empty?: { path(scene: Addressed): string; as: 'ada' | 'ben'; shows: string }
  /** Whether it asks the daemon of a service: then it is also seen stale and failing. */
  ofService: boolean
  /** It asks for what it shows once, because that never changes by itself: so it never grows stale. */
  asksOnce?: true
}

export const PAGES: readonly ConsolePage[] = [
  {
    name: 'services',
    path: () => '/services',
    shows: '.sv .lit [data-lamp]',
    empty: { path: () => '/services', as: 'ben', shows: 'text=No service yet' },
    ofService: false,
  },
  {
    name: 'create',
    path: () => '/services/new',
    shows: 'text=2. Name and place',
    ofService: false,
    asksOnce: true,
  },
  {
    name: 'overview',
    path: ({ slug }) => `/s/${slug}`,
    shows: '.place [data-lamp]',
    empty: { path: ({ emptySlug }) => `/s/${emptySlug}`, as: 'ada', shows: 'text=Nothing is in mind' },
    ofService: true,
  },
  {
    name: 'mind',
    path: ({ slug }) => `/s/${slug}/mind`,
    shows: '.lanes .held .glow',
    empty: { path: ({ emptySlug }) => `/s/${emptySlug}/mind`, as: 'ada', shows: 'text=Nothing was in mind yet' },
    ofService: true,
  },
  {
    name: 'cycles',
    path: ({ slug }) => `/s/${slug}/cycles`,
    shows: '.cy .phases i',
    empty: { path: ({ emptySlug }) => `/s/${emptySlug}/cycles`, as: 'ada', shows: 'text=No cycle ran yet' },
    ofService: true,
  },
  {
    name: 'cycle',
    path: ({ slug }) => `/s/${slug}/cycles/14`,
    shows: '.dl .through > i',
    empty: { path: ({ emptySlug }) => `/s/${emptySlug}/cycles/1`, as: 'ada', shows: 'text=There is no cycle 1' },
    ofService: true,
    asksOnce: true,
  },
  {
    name: 'memory',
    path: ({ slug }) => `/s/${slug}/memory?q=${encodeURIComponent(KNOWN)}`,
    shows: '.hits [data-hit]',
    empty: { path: ({ emptySlug }) => `/s/${emptySlug}/memory`, as: 'ada', shows: 'text=Nothing is stored yet' },
    ofService: true,
    asksOnce: true,
  },
  {
    name: 'memory-why',
    path: ({ slug, hitId }) => `/s/${slug}/memory?q=${encodeURIComponent(KNOWN)}&hit=${hitId}`,
    shows: '.hits .on',
    ofService: true,
    asksOnce: true,
  },
  {
    name: 'memory-abstained',
    path: ({ slug }) => `/s/${slug}/memory?q=${encodeURIComponent(UNKNOWN)}`,
    shows: 'text=I don’t know.',
    ofService: true,
    asksOnce: true,
  },
  {
    name: 'memory-browse',
    path: ({ slug }) => `/s/${slug}/memory?view=browse`,
    shows: '.records li',
    empty: {
      path: ({ emptySlug }) => `/s/${emptySlug}/memory?view=browse`,
      as: 'ada',
      shows: 'text=Nothing is stored yet',
    },
    ofService: true,
    asksOnce: true,
  },
  {
    name: 'record',
    path: ({ slug, hitId }) => `/s/${slug}/memory/${hitId}`,
    shows: '.subject bdi',
    empty: {
      path: ({ slug }) => `/s/${slug}/memory/mem_00000000000000000000000000`,
      as: 'ada',
      shows: 'text=There is no memory under this id',
    },
    ofService: true,
    asksOnce: true,
  },
  {
    name: 'working-memory',
    path: ({ slug }) => `/s/${slug}/working-memory`,
    shows: '.wm [data-lamp]',
    empty: { path: ({ emptySlug }) => `/s/${emptySlug}/working-memory`, as: 'ada', shows: 'text=Nothing is in mind' },
    ofService: true,
  },
  {
    name: 'working-memory-slot',
    path: ({ slug }) => `/s/${slug}/working-memory?slot=hostile`,
    shows: '.with-panel [data-lamp]',
    ofService: true,
  },
  {
    name: 'advice',
    path: ({ slug }) => `/s/${slug}/advice?class=refund&intent=refund+order+4411&tool=shop.refund`,
    shows: '.ranked tbody tr.open',
    empty: {
      path: ({ emptySlug }) => `/s/${emptySlug}/advice?intent=refund+order+4411`,
      as: 'ada',
      shows: 'text=No outcome was told yet',
    },
    ofService: true,
  },
  {
    name: 'events',
    path: ({ slug }) => `/s/${slug}/events`,
    shows: '.tail tbody tr',
    empty: { path: ({ emptySlug }) => `/s/${emptySlug}/events`, as: 'ada', shows: 'text=Nothing happened in 24 hours' },
    ofService: true,
  },
  {
    name: 'integrity',
    path: ({ slug }) => `/s/${slug}/integrity?check=full`,
    shows: '.links [data-link="whole"]',
    empty: { path: ({ emptySlug }) => `/s/${emptySlug}/integrity`, as: 'ada', shows: 'text=No cycle ran yet' },
    ofService: true,
  },
  { name: 'settings', path: ({ slug }) => `/s/${slug}/settings`, shows: '.setting', ofService: true },
  {
    name: 'tokens',
    path: () => '/o/tokens',
    shows: '.tk .tree i',
    empty: { path: () => '/o/tokens', as: 'ben', shows: 'text=No token yet' },
    ofService: false,
  },
  {
    name: 'tokens-make',
    path: () => '/o/tokens?act=make',
    shows: 'h2:has-text("Mint a token")',
    ofService: false,
  },
  {
    name: 'tokens-keys',
    path: () => '/o/tokens?tab=keys&act=make',
    shows: 'h2:has-text("New API key")',
    ofService: false,
  },
  {
    name: 'tokens-partners',
    path: () => '/o/tokens?tab=partners',
    shows: 'text=tells as crm',
    empty: { path: () => '/o/tokens?tab=partners', as: 'ben', shows: 'text=No partner yet' },
    ofService: false,
  },
  {
    name: 'usage',
    path: () => '/o/usage',
    shows: '.said .tag.ok',
    empty: { path: () => '/o/usage', as: 'ben', shows: 'text=Nothing was said about this tenant' },
    ofService: false,
  },
  { name: 'members', path: () => '/o/members', shows: 'text=sam@acme.example', ofService: false },
  {
    name: 'cells',
    path: () => '/staff/cells',
    shows: '.cells .meter',
    empty: { path: () => '/staff/cells', as: 'ben', shows: 'text=Only platform staff sees this' },
    ofService: false,
  },
  {
    name: 'quarantine',
    path: () => '/staff/quarantine',
    shows: 'text=Nothing is in quarantine',
    empty: { path: () => '/staff/quarantine?view=parked', as: 'ada', shows: 'text=customer-of-another-system' },
    ofService: false,
  },
  {
    name: 'audit',
    path: () => '/staff/audit',
    shows: '.audit tbody tr',
    empty: { path: () => '/staff/audit', as: 'ben', shows: 'text=Only platform staff sees this' },
    ofService: false,
    // Reading the audit is audited, so it is read again when somebody asks.
    asksOnce: true,
  },
  { name: 'nothing-here', path: () => '/s/no-such-service', shows: 'text=has no service', ofService: false },
]
