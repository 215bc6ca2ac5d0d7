// What every page says when management is dead, when too much is asked, and when the session is over: what was there
// stays, nothing typed is lost, and it goes on by itself.

import type { Page } from 'playwright-core'
import type { Report } from '../../world/report.ts'
import type { SignInProvider } from '../../world/sign-in-provider.ts'
import { runSql } from '../../world/sql.ts'
import { signInAs } from '../signin/pages.ts'
import type { ConsolePage } from './pages.ts'
import { openPage, type Scene, until } from './scene.ts'

interface Open {
  name: string
  shows: string
  page: Page
}

/** What somebody comes back to is asked for again where it is old. */
const COME_BACK = `window.dispatchEvent(new Event('visibilitychange'))`
const TYPED = 'half a name'

export async function everyState(report: Report, scene: Scene, pages: readonly ConsolePage[]): Promise<void> {
  const problems: string[] = []
  const open: Open[] = []
  for (const { name, path, shows, asksOnce } of pages)
    if (!asksOnce) open.push({ name, shows, page: await openPage(scene, scene.ada, path(scene), shows) })
  const typedIn = open.filter(({ name }) => name === 'tokens-make' || name === 'tokens-keys')
  for (const { page } of typedIn) await page.locator('.asked [name="name"]').fill(TYPED)
  const look = async (when: string) => {
    for (const { name, shows, page } of open)
      if ((await page.locator(shows).count()) === 0) problems.push(`${name}: what was there is gone, ${when}`)
    for (const { name, page } of typedIn)
      if ((await page.locator('.asked [name="name"]').inputValue()) !== TYPED)
        problems.push(`${name}: what was typed is lost, ${when}`)
  }
  const again = async () => {
    for (const { page } of open)
      await until(page, `(${COME_BACK}, !document.querySelector('.since, main > .note[role="alert"]'))`)
  }

  const revive = await killManagement(scene)
  for (const { page } of open) await until(page, `(${COME_BACK}, document.querySelector('.since') !== null)`)
  await look('management dead')
  await revive()
  await again()
  await look('management back')

  const use = await usedUp(scene)
  for (const { page } of open) {
    const said = `document.body.innerText.match(/too many|rate/i) !== null && document.querySelector('.since') !== null`
    await use()
    while (!(await page.evaluate<boolean>(`(${COME_BACK}, ${said})`))) await use()
  }
  await look('too many requests')
  await again()

  await endSessions(scene)
  for (const { page } of open)
    await until(page, `(${COME_BACK}, document.body.innerText.includes('Your session is over'))`)
  await look('no session')
  await signInElsewhere(scene)
  await again()
  await look('signed in again')
  for (const { page } of open) await page.close()
  for (const line of problems) report.note(line)
  report.promise(
    'while management is dead, a limit is reached or the session is over, every page keeps what it shows and what was typed, says why, and goes on',
    problems.length === 0 && open.length > 0,
    `${open.length} pages × dead, 429, signed out: ${problems.length} problems`,
  )
}

/** Ada's, as by a sign-out on another machine: the cookies are there, and good for nothing. */
async function endSessions({ world }: Scene): Promise<void> {
  const ended = `update loci.sessions set ended_at = now(), end_reason = 'signed_out'
    where ended_at is null and user_id = (select id from loci.users where subject = 'ada')`
  await runSql(world.postgres.adminUrl('loci_control'), ended)
}

/** In a tab of its own, beside those that wait. */
async function signInElsewhere({ ada, origin, world }: Scene): Promise<void> {
  const page = await ada.newPage()
  const provider = world.signIn as SignInProvider
  await signInAs(page, { publicUrl: origin, processUrl: origin, provider }, 'ada')
  await page.close()
}

async function killManagement({ world, origin }: Scene): Promise<() => Promise<void>> {
  await world.management?.kill()
  return async () => {
    await world.startManagement({ LOCI_LISTEN: new URL(origin).host })
  }
}

/** All buckets are empty for some seconds: only their time is set, management refuses as ever. */
async function usedUp({ world }: Scene): Promise<() => Promise<unknown>> {
  const url = world.postgres.adminUrl('loci_control')
  return () => runSql(url, `update loci.rate_limits set tat = extract(epoch from now()) * 1000 + 25000`)
}
