// Processes of management that take billing events, with and without signatures.

import { type LociProcess, startProgram, untilReady } from '../world/process.ts'
import type { World } from '../world/world.ts'
import { SIGNING, type Target } from './billing-provider.ts'

/** Another replica on the same database, that wants signatures. */
export async function startSigned(world: World, start = startProgram): Promise<Target & { process: LociProcess }> {
  const secret = { LOCI_BILLING_SIGNING_SECRETS: `whsec_${SIGNING.toString('base64')}` }
  return { ...(await startPlain(world, start, secret)), isSigned: true }
}

export async function startPlain(
  world: World,
  start = startProgram,
  extra: Record<string, string> = {},
): Promise<Target & { process: LociProcess }> {
  const process = await start('management', world.managementSettings({ LOCI_LISTEN: '127.0.0.1:0', ...extra }))
  await untilReady(process.url)
  return { url: process.url, isSigned: false, process }
}
