// The variables of lines for a shell, in /docs and in the file that `npm run dev` writes: one name means one thing.

export const SHELL = {
  M: 'the address of management',
  D: 'the address of a daemon',
  J: '`content-type: application/json`',
  KEY: '`x-api-key: ` and an API key',
  CAP: '`x-loci-capability: ` and a capability',
  ADMIN: '`x-loci-admin-token: ` and the token of the administration',
  TENANT: 'the id of a tenant',
} as const

export type ShellName = keyof typeof SHELL

/** The whole header of a credential, by the name of its security scheme. */
export const HEADER_VARIABLES: Readonly<Record<string, ShellName>> = {
  apiKey: 'KEY',
  capability: 'CAP',
  adminToken: 'ADMIN',
}
