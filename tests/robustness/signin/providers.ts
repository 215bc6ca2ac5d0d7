// The same on each provider that this machine can start: the whole conformance suite, the pages in a browser, races of
// tabs, and what a provider does with a refresh token that comes twice, which is why there is a lease.

import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { obtainCode } from '@loci/management/testing/sign-in.ts'
import { freePort } from '@loci/postgres/testing/free-port.ts'
import { startKeycloak, whyNoKeycloak } from '../../world/keycloak.ts'
import type { LociProcess } from '../../world/process.ts'
import type { Report } from '../../world/report.ts'
import type { SignInProvider } from '../../world/sign-in-provider.ts'
import { addOrganization } from '../../world/tenants.ts'
import { startWorld, type World } from '../../world/world.ts'
import { PEOPLE } from '../../world/world-file.ts'
import { newPerson, startChromium, whyNoChromium } from './chromium.ts'
import { startFront } from './front.ts'
import { walk } from './pages.ts'
import { mutantWithoutLease, races } from './races.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const SUITE = fileURLToPath(new URL('../../../../shared/conformance/run.mjs', import.meta.url))
const ROUNDS = 50

/** The whole suite, once per provider. */
export async function suites(report: Report): Promise<void> {
  await conformance(report, 'oidc-provider')
  const why = whyNoKeycloak()
  if (why) report.skip('the conformance suite with Keycloak', why)
  else await conformance(report, 'keycloak')
}

/** All groups that are built, nothing skipped. */
async function conformance(report: Report, provider: string): Promise<void> {
  const name = `the whole conformance suite with ${provider}`
  if (!existsSync(SUITE)) return report.skip(name, 'the suite is not beside this checkout')
  const args = ['scripts/conformance.ts', '--provider', provider, '--slow', '--no-skips']
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise<number | null>((resolve) => child.on('exit', resolve))
  const lines = (await text(child.stdout)).trimEnd().split('\n')
  for (const line of lines.filter((one) => /FAIL|SKIP/.test(one))) report.note(line)
  const last = lines.at(-1) ?? 'no line at all'
  // The last line also names the checks of stages that are not built.
  const isGood = /^[1-9]\d* passed, 0 failed(, 0 skipped)?(; not run: .*)?$/.test(last) && (await ended) === 0
  report.promise(name, isGood, last)
}

export async function onKeycloak(report: Report): Promise<void> {
  const why = whyNoKeycloak()
  if (why) return report.skip('races, reuse and pages with Keycloak', why)
  const port = await freePort()
  const publicUrl = `http://127.0.0.1:${port}`
  const world = await startWorld({ replicas: 0, people: PEOPLE, publicUrl, startProvider: startKeycloak })
  try {
    await addOrganization(world, 'acme')
    const provider = world.signIn as SignInProvider
    const processUrl = (world.management as LociProcess).url
    const second = await world.startManagement()
    const noChromium = whyNoChromium()
    if (noChromium) report.skip(`pages in a real browser with ${provider.name}`, noChromium)
    else await inBrowser(report, world, port)
    await reuse(report, provider)
    await races(report, world, [processUrl, second.url], ROUNDS)
    await mutantWithoutLease(report, world)
  } finally {
    await world.stop()
  }
}

async function inBrowser(report: Report, world: World, port: number): Promise<void> {
  const browser = await startChromium()
  const { publicUrl, signIn } = world
  const processUrl = (world.management as LociProcess).url
  await using _front = await startFront(port, [processUrl])
  try {
    await walk(report, await newPerson(browser), { publicUrl, processUrl, provider: signIn as SignInProvider })
  } finally {
    await browser.close()
  }
}

/** One refresh token sent twice, straight to the provider. */
async function reuse(report: Report, provider: SignInProvider): Promise<void> {
  const { issuer, client } = provider
  const about = (await (await fetch(`${issuer}/.well-known/openid-configuration`)).json()) as Record<string, string>
  const basic = Buffer.from(`${client.id}:${client.secret}`).toString('base64')
  const token = async (grant: Record<string, string>) => {
    const headers = { authorization: `Basic ${basic}` }
    const body = new URLSearchParams(grant)
    const answer = await fetch(about.token_endpoint as string, { method: 'POST', headers, body })
    return { status: answer.status, ...((await answer.json()) as { access_token?: string; refresh_token?: string }) }
  }
  const refresh = (refresh_token = '') => token({ grant_type: 'refresh_token', refresh_token })
  const code = await obtainCode(provider, { login: 'ada' })
  const first = await token({ grant_type: 'authorization_code', ...code })
  const second = await refresh(first.refresh_token)
  const again = await refresh(first.refresh_token)
  const newer = await refresh(second.refresh_token)
  const headers = { authorization: `Bearer ${second.access_token}` }
  const userinfo = await fetch(about.userinfo_endpoint as string, { headers })
  const statuses = [first.status, second.status, again.status, newer.status, userinfo.status]
  report.promise(
    `${provider.name} ends everything when a refresh token comes twice, which is why none is sent twice`,
    statuses.join() === '200,200,400,400,401',
    `code ${statuses[0]}, refresh ${statuses[1]}, the same again ${statuses[2]}, the newer one ${statuses[3]}, userinfo ${statuses[4]}`,
  )
}
