// Words that stand for one tenant's content, name, id or credential and for nothing else. Wherever one turns up before
// eyes that it was not meant for, something has leaked.

export interface Canary {
  text: string
  /**
   * Whose, and of which part: `a/default` (a database), `a` (the instance as a whole), `nobody` (credentials and
   * names).
   */
  area: string
  kind: 'content' | 'name' | 'id' | 'credential'
}

export interface Canaries {
  add(kind: Canary['kind'], area: string, text: string): string
  /** Every one that is in the text, as it is or in base64 (cursors). */
  find(text: string): Set<Canary>
  readonly size: number
}

export function openCanaries(): Canaries {
  const byForm = new Map<string, Canary>()
  const all = new Set<Canary>()
  let pattern: RegExp | undefined
  return {
    get size() {
      return all.size
    },
    add(kind, area, text) {
      const canary = { kind, area, text }
      all.add(canary)
      byForm.set(text, canary)
      if (kind === 'content') for (const form of base64Forms(text)) byForm.set(form, canary)
      pattern = undefined
      return text
    },
    find(text) {
      pattern ??= new RegExp([...byForm.keys()].map(escaped).join('|'), 'g')
      const found = new Set<Canary>()
      for (const [form] of text.matchAll(pattern)) found.add(byForm.get(form) as Canary)
      return found
    },
  }
}

/** How it looks inside base64, wherever in the text it begins: the characters at its ends depend on its neighbours. */
function base64Forms(text: string): string[] {
  return [0, 1, 2].map((offset) =>
    Buffer.from('\0'.repeat(offset) + text)
      .toString('base64url')
      .slice(offset === 0 ? 0 : offset + 1, -3),
  )
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}

/**
 * The parts of a credential by which it would be known again: signatures and secrets, not headers that all of them
 * share.
 */
export function secretParts(credential: string): string[] {
  return credential.split('~').map((link) => (link.includes('.') ? link.slice(link.lastIndexOf('.') + 1) : link))
}
