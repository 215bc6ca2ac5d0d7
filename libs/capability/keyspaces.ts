// Keyspaces: `<domain>/<database>`, both whole segments; `*` stands only for a whole segment, so `kv/acme` never covers
// `kv/acme-corp`.

const KEYSPACE = /^(\*|[a-z-]{1,32})\/(\*|[a-z0-9_-]{1,64})$/

export function isKeyspace(text: unknown): text is string {
  return typeof text === 'string' && KEYSPACE.test(text)
}

export function isDatabaseName(text: string): boolean {
  return /^[a-z0-9_-]{1,64}$/.test(text)
}

/** Whether one of the keyspaces covers `<domain>/<database>`. A requested `*` needs a `*`. */
export function covers(keyspaces: readonly string[], domain: string, database: string): boolean {
  return keyspaces.some((keyspace) => {
    const at = keyspace.indexOf('/')
    const heldDomain = keyspace.slice(0, at)
    const heldDatabase = keyspace.slice(at + 1)
    return (heldDomain === '*' || heldDomain === domain) && (heldDatabase === '*' || heldDatabase === database)
  })
}

export function coversKeyspace(keyspaces: readonly string[], keyspace: string): boolean {
  const at = keyspace.indexOf('/')
  return covers(keyspaces, keyspace.slice(0, at), keyspace.slice(at + 1))
}

/** The one database that the keyspaces name in a domain, if they name exactly one and no wildcard. */
export function onlyDatabase(keyspaces: readonly string[], domain: string): string | undefined {
  const names = new Set(
    keyspaces
      .filter((keyspace) => keyspace.startsWith(`${domain}/`) || keyspace.startsWith('*/'))
      .map((keyspace) => keyspace.slice(keyspace.indexOf('/') + 1)),
  )
  const [name] = names
  return names.size === 1 && name !== '*' ? name : undefined
}
