// What people do with tokens and keys: narrow one in the browser and revoke its parent, make and revoke one by the
// keyboard alone, make a key with a sign-in that is too old.

import { claimsOf } from '@loci/sdk/attenuate.ts'
import type { Report } from '../../world/report.ts'
import type { SignInProvider } from '../../world/sign-in-provider.ts'
import { runSql } from '../../world/sql.ts'
import { pressOn } from '../signin/chromium.ts'
import { makeToken, revokeNewest } from './by-keyboard.ts'
import { openPage, type Scene, until } from './scene.ts'

/** Its delegation is pasted, never sent; what it makes is good for less; and it dies with its parent. */
export async function narrowAndRevoke(report: Report, scene: Scene): Promise<void> {
  const { ada, delegation, world } = scene
  const daemon = world.daemons.at(-1)?.url
  const { jti: rootId } = claimsOf(delegation.chain.split('~')[0] ?? '')
  const page = await openPage(scene, ada, `/o/tokens?act=narrow&id=${rootId}`, '[name="delegation"]')
  const sent: string[] = []
  page.on('request', (request) => sent.push(`${request.url()} ${request.postData() ?? ''}`))
  await page.locator('[name="delegation"]').fill(JSON.stringify(delegation))
  await page.locator('text=Signed here in the browser').waitFor()
  const offered = await page.locator('.op:has-text("operator") input').isDisabled()
  const reason = await page.locator('text=operator can’t be handed on').count()
  await page.locator('[name="child"]').fill('research')
  await page.locator('button:has-text("Make it")').click()
  await page.locator('text=Shown once').waitFor()
  await page.locator('.shown-once').click()
  const token = await page.locator('.shown-once code').innerText()
  await page.locator('button:has-text("I stored it")').click()
  await page.locator('.tk .ch:has-text("research")').waitFor()
  const leaked = sent.filter((text) => text.includes(delegation.key.d) || text.includes(token))
  const ask = async (method: string) => {
    const headers = { 'x-loci-capability': token, 'content-type': 'application/json' }
    const body = method === 'POST' ? { body: '{"content":"x"}' } : {}
    return (await fetch(`${daemon}/v1/memory/records`, { method, headers, ...body })).status
  }
  const statuses = [await ask('GET'), await ask('POST')]

  await page.locator('.tk tr:has(b:text-is("agent-prod")) a:has-text("Revoke")').click()
  const named = await page.locator('.asked p').first().innerText()
  await page.locator('button:has-text("Revoke 4 tokens")').click()
  await page.locator('.tk tr:has(b:text-is("agent-prod"))').waitFor({ state: 'detached' })
  const isListed = await page.locator('.tk .ch:has-text("research")').count()
  await page.close()
  let status = 200
  for (const endsAt = Date.now() + 120_000; status !== 401 && Date.now() < endsAt; ) status = await ask('GET')
  report.promise(
    'a token is narrowed in the browser, its delegation is sent nowhere, and whoever revokes its parent is told who dies with it',
    offered &&
      reason === 1 &&
      leaked.length === 0 &&
      statuses.join() === '200,403' &&
      /^3 more end with it: .*research/.test(named) &&
      isListed === 0 &&
      status === 401,
    `read and write were answered ${statuses}; "${named.slice(0, 60)}…"; afterwards ${status}`,
  )
}

export async function tokenByKeyboard(report: Report, scene: Scene): Promise<void> {
  const page = await openPage(scene, scene.ada, '/o/tokens', '.tk')
  await pressOn(page, 'Mint a token', 'Enter')
  await page.locator('h2:has-text("Mint a token")').waitFor()
  await page.keyboard.press('Escape')
  await page.locator('h2:has-text("Mint a token")').waitFor({ state: 'detached' })
  await page.reload()
  await page.locator('.tk tbody tr').first().waitFor()
  const { token, isHiddenBefore, isGone } = await makeToken(page, 'by keyboard')
  await revokeNewest(page, 'by keyboard')
  await page.close()
  report.promise(
    'somebody makes a token, stores it and revokes it, by the keyboard alone; its text is in the page only while it is shown',
    token.length > 100 && isHiddenBefore && isGone,
    `${token.length} characters, shown once`,
  )
}

/** A key outlives the session, so it needs a sign-in of the last ten minutes: in another tab, and nothing is lost. */
export async function signInOnTheWay(report: Report, scene: Scene): Promise<void> {
  const { ada, origin, world } = scene
  const page = await openPage(scene, ada, '/o/tokens?tab=keys&act=make', '.asked [name="name"]')
  await page.locator('.asked [name="name"]').fill('after a break')
  const old = `update loci.sessions set created_at = now() - interval '1 hour', auth_time = null`
  await runSql(world.postgres.adminUrl('loci_control'), old)
  const ageMs = `fetch('/api/auth/session').then((answer) => answer.json()).then((read) => Date.now() - Date.parse(read.signed_in_at))`
  await until(page, `${ageMs}.then((ms) => ms > 600_000)`)
  await page.locator('button:has-text("Make it")').click()
  await page.locator('text=Sign in once more for this').waitFor()
  const typed = await page.locator('.asked [name="name"]').inputValue()
  const [other] = await Promise.all([ada.waitForEvent('page'), page.locator('a:has-text("Sign in again")').click()])
  const provider = world.signIn as SignInProvider
  await other.waitForURL((url) => !url.href.startsWith(`${origin}/sign-in`))
  const fields = Object.entries(provider.form('ada'))
  for (const [name, value] of fields) await other.locator(`[name="${name}"]`).fill(value)
  await other.locator(`[name="${fields.at(-1)?.[0]}"]`).press('Enter')
  await other.waitForURL((url) => url.href.startsWith(origin))
  await other.close()
  await page.bringToFront()
  await until(
    page,
    `(window.dispatchEvent(new Event('focus')), document.body.innerText.includes('You have signed in again'))`,
  )
  await page.locator('button:has-text("Go on")').click()
  await page.locator('text=Shown once').waitFor()
  await page.locator('button:has-text("I stored it")').click()
  await page.locator('.tk tr:has-text("after a break")').waitFor()
  await page.close()
  report.promise(
    'a key that needs a new sign-in is asked for, signed in for in another tab and made, with what was typed',
    typed === 'after a break',
    `'${typed}' was kept`,
  )
}
