// Signing in: a person approves this command line in a browser, on whatever machine that is.

import { setTimeout as sleep } from 'node:timers/promises'
import { LociError } from '@loci/sdk/error.ts'
import { CommandFailure, usage } from '../failure.ts'
import { meantBy, withLoci } from '../profiles/connection.ts'
import { keepProfile, readKeys, readProfiles, requireProfileName, writeKeys } from '../profiles/profiles.ts'
import type { Call, Result } from '../tree/command.ts'
import { timeoutMs } from '../tree/timeout.ts'
import { fields } from './shown.ts'

const LOGIN_S = 600

export async function login(call: Call): Promise<Result> {
  const { url } = meantBy({
    ...call,
    text: (name) => (name === 'profile' && isNew(call) ? undefined : call.text(name)),
  })
  if (url.value === undefined) throw usage('Which loci? --url https://…', 'A local one needs no login: loci up')
  const address = url.value
  const name = profileName(call, address)
  if (call.has('token-stdin')) {
    const apiKey = (await call.host.readInput()).trim()
    if (!apiKey.startsWith('loci_sk_'))
      throw usage('What came on standard input is no API key: those begin with loci_sk_')
    return kept(call, name, address, apiKey)
  }
  return withLoci(
    { ...call, text: (one) => (one === 'url' ? address : one === 'profile' ? undefined : call.text(one)) },
    async ({ management }) => {
      const { body: begun } = await management.call('POST /api/v1/cli-logins', { body: {} })
      // Always before anything is opened: the browser may be on another machine.
      call.host.err(`Open    ${begun.verification_url}\nType    ${begun.user_code}\n`)
      if (shouldOpen(call)) await openPage(call, begun.verification_url)
      const endsAt = performance.now() + Math.min(timeoutMs(call, LOGIN_S), begun.expires_in * 1_000)
      for (;;) {
        await sleep(begun.interval * 1_000, undefined, { signal: call.host.signal })
        const apiKey = await poll(management, begun)
        if (apiKey) return kept(call, name, address, apiKey)
        if (performance.now() > endsAt)
          throw new CommandFailure('timedOut', 'TIMEOUT', 'Nobody approved it in time.', { hint: 'loci login' })
      }
    },
    { needsKey: false },
  )
}

type Management = Parameters<Parameters<typeof withLoci>[1]>[0]['management']

async function poll(
  management: Management,
  { id, device_code }: { id: string; device_code: string },
): Promise<string | undefined> {
  try {
    const answer = await management.call('POST /api/v1/cli-logins/{id}/poll', { path: { id }, body: { device_code } })
    return answer.status === 200 ? answer.body.api_key : undefined
  } catch (error) {
    if (error instanceof LociError && error.code === 'RATE_LIMITED') return undefined
    throw error
  }
}

function isNew(call: Call): boolean {
  const name = call.text('profile')
  return name !== undefined && !readProfiles(call.host).profiles.has(name)
}

function profileName(call: Call, url: string): string {
  const given = call.text('profile')
  if (given !== undefined) return requireProfileName(given)
  const { profiles } = readProfiles(call.host)
  const known = [...profiles].find(([, profile]) => profile.url === url)
  return known?.[0] ?? new URL(url).hostname.replaceAll(/[^A-Za-z0-9_-]/g, '-').slice(0, 40)
}

function kept(call: Call, name: string, url: string, apiKey: string): Result {
  const before = readProfiles(call.host).profiles.get(name)
  keepProfile(call.host, name, before?.url === url ? before : { url }, apiKey)
  return { data: { profile: name, url }, lines: [`signed in to ${url}; profile "${name}" is active`] }
}

/** Not over SSH and not without a screen: it would open on the wrong machine, or not at all. */
function shouldOpen({ host, has }: Call): boolean {
  const { SSH_CONNECTION, SSH_TTY, DISPLAY, WAYLAND_DISPLAY } = host.env
  if (has('no-browser') || SSH_CONNECTION || SSH_TTY || !host.isTerminal) return false
  return host.platform !== 'linux' || Boolean(DISPLAY || WAYLAND_DISPLAY)
}

async function openPage({ host }: Call, url: string): Promise<void> {
  const { spawn } = await import('node:child_process')
  const opener = host.platform === 'darwin' ? 'open' : host.platform === 'win32' ? 'explorer' : 'xdg-open'
  spawn(opener, [url], { stdio: 'ignore', detached: true })
    .on('error', () => {})
    .unref()
}

export async function logout(call: Call): Promise<Result> {
  const { profile } = meantBy(call)
  const keys = readKeys(call.host)
  const had = profile.value !== undefined && keys.delete(profile.value)
  writeKeys(call.host, keys)
  return {
    data: { profile: profile.value ?? null, signed_out: had },
    lines: [
      had
        ? `the key of profile "${profile.value}" is gone from this machine; loci keys revoke ends it`
        : 'there was no key',
    ],
  }
}

export async function whoami(call: Call): Promise<Result> {
  return withLoci(call, async ({ management }, { url, profile }) => {
    const { body } = await management.call('GET /api/v1/organizations')
    const who = { url: url.value, profile: profile.value ?? null, organizations: body.organizations }
    const rows = body.organizations.map(({ id, name, role }) => ({ organization: name, id, role }))
    return {
      data: who,
      lines: [
        `${url.value}  profile ${profile.value ?? '-'}`,
        ...rows.flatMap((row) => fields(row).map((line) => `  ${line}`)),
      ],
    }
  })
}
