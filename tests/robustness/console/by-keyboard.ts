// What people do with the keyboard alone, step by step.

import type { Page } from 'playwright-core'
import { pressOn } from '../signin/chromium.ts'
import { type Scene, settled, tabTo } from './scene.ts'

/** From the list of services, with the keyboard alone. Answers with the steps that it took. */
export async function makeService(page: Page, { origin }: Pick<Scene, 'origin'>, name: string): Promise<string[]> {
  await pressOn(page, 'Create service', 'Enter')
  await page.waitForURL(`${origin}/services/new`)
  await settled(page, 'text=2. Name and place')
  await tabTo(page, 'name')
  await page.keyboard.type(name)
  await page.keyboard.press('Enter')
  await page.locator('.foot:has-text("It is active")').waitFor({ timeout: 300_000 })
  return page.locator('.steps li.succeeded b').allInnerTexts()
}

/** From the list of tokens. */
export async function makeToken(page: Page, name: string) {
  await pressOn(page, 'Mint a token', 'Enter')
  await page.locator('.asked [name="name"]').waitFor()
  await tabTo(page, 'name')
  await page.keyboard.type(name)
  await page.keyboard.press('Enter')
  await page.locator('text=Shown once').waitFor()
  // What is not shown is not in the page.
  const before = await page.content()
  await pressOn(page, 'Show the token', 'Enter')
  const token = await page.locator('.shown-once code').innerText()
  await pressOn(page, 'I stored it', 'Enter')
  await page.locator(`.tk tr:has-text("${name}")`).waitFor()
  await page.locator('.asked').waitFor({ state: 'detached' })
  return { token, isHiddenBefore: !before.includes(token), isGone: !(await page.content()).includes(token) }
}

/** Down to the newest, which is the first. */
export async function revokeNewest(page: Page, name: string): Promise<void> {
  await focusNothing(page)
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.locator(`h2:has-text("Revoke ${name}?")`).waitFor()
  await pressOn(page, 'Revoke it', 'Enter')
  await page.locator(`.tk tr:has-text("${name}")`).waitFor({ state: 'detached' })
}

async function focusNothing(page: Page): Promise<void> {
  await page.evaluate('document.activeElement?.blur()')
}
