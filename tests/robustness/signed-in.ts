// People of a world who are signed in, and what their browsers ask.

import type { TestAnswer } from '@loci/chassis/testing/request.ts'
import type { IdentityProvider } from '@loci/management/testing/identity-provider.ts'
import { type Browser, exchange, obtainCode } from '@loci/management/testing/sign-in.ts'
import type { LociProcess } from '../world/process.ts'
import type { World } from '../world/world.ts'

export function providerOf(world: World): IdentityProvider {
  if (!world.identityProvider) throw new Error('nobody can sign in in this world')
  return world.identityProvider
}

/** At this process, or at the first of the world; whose public URL decides the names of the cookies. */
export async function signInAt(world: World, url?: string, login = 'ada'): Promise<Browser> {
  const code = await obtainCode(providerOf(world), { login })
  const { answer, browser } = await exchange(askedAt(world, url), code)
  if (answer.status !== 200) throw new Error(`the exchange answered ${answer.status}: ${answer.text}`)
  return browser
}

export function askedAt(world: World, url?: string) {
  const publicUrl = (world.management as LociProcess).url
  return { url: url ?? publicUrl, settings: { publicUrl } }
}

export function refresh(browser: Browser, url?: string): Promise<TestAnswer> {
  return browser.ask('POST /api/auth/refresh', { body: {}, ...(url ? { url } : {}) })
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
