// Where the people of a world sign in: what management is configured with, and what a browser needs to know.

import {
  type IdentityProvider,
  startIdentityProvider,
  type TestPerson,
} from '@loci/management/testing/identity-provider.ts'

export interface SignInProvider {
  name: string
  issuer: string
  authorizeUrl: string
  client: { id: string; secret: string; redirectUri: string }
  /** Another client, for another audience: its tokens open nothing of ours. */
  otherClient: { id: string; secret: string; redirectUri: string }
  audience: string
  scopes: string
  /** What else its authorize address is given. */
  parameters: Record<string, string>
  /** Names and values of the fields of its sign-in form. */
  form(sub: string): Record<string, string>
  /** How many refreshes it was asked for, by its own count. */
  refreshCalls(): Promise<number>
  /** Undefined where it is somebody else's program. */
  own: IdentityProvider | undefined
  stop(): Promise<void>
}

export type StartProvider = (options: { people: TestPerson[]; redirectUri: string }) => Promise<SignInProvider>

/** oidc-provider inside this process: it counts what it is asked, and fails as it is told. */
export const startOwnProvider: StartProvider = async (options) => {
  const own = await startIdentityProvider(options)
  const { issuer, client, otherClient, audience } = own
  return {
    ...{ name: 'oidc-provider', issuer, client, otherClient, audience, own },
    authorizeUrl: `${issuer}/auth`,
    scopes: 'openid profile email offline_access',
    // Without it the provider leaves offline_access out.
    parameters: { prompt: 'consent' },
    form: (login) => ({ login }),
    refreshCalls: async () => own.calls.filter(({ what }) => what === 'POST /token refresh_token').length,
    stop: () => own[Symbol.asyncDispose](),
  }
}
