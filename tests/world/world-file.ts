// The description of a running world for the conformance suite, filled as far as the product exists.

import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import type { TestPerson } from '@loci/management/testing/identity-provider.ts'
import type { SignInProvider } from './sign-in-provider.ts'
import { addOrganization, addTenant, ownerEmail, type WorldOrganization, type WorldTenant } from './tenants.ts'
import { BILLING_SECRET, type World } from './world.ts'

/** No address of this machine: whoever asks this daemon's administration asks from elsewhere. */
const NOBODY = '10.255.255.255/32'

/**
 * Starts one more daemon of the world, which takes the suite for a stranger, and one more management, which wants every
 * billing event signed; they stop with the world.
 */
export async function writeWorldFile(file: string, world: World): Promise<void> {
  const replicas = world.daemons.map(({ url }) => url)
  const stranger = await world.startDaemon({ LOCI_ADMIN_ALLOWLIST: NOBODY })
  const [a, b] = world.cellId
    ? await Promise.all([addParty(world, 'acme', 'enterprise'), addParty(world, 'globex', 'free')])
    : []
  // Without it nothing would be covered: the world has a billing secret.
  if (a && world.management) await pay(world.management.url, a.tenantId, 'enterprise')
  const signingSecret = `whsec_${randomBytes(32).toString('base64')}`
  const signed = world.management && (await world.startManagement({ LOCI_BILLING_SIGNING_SECRETS: signingSecret }))
  const { signIn } = world
  const description = {
    format: 1,
    daemons: replicas,
    management: world.management?.url,
    admin_token: world.adminToken,
    admin_forbidden_url: stranger.url,
    partner_name: world.daemonSettings().LOCI_PARTNER_NAME,
    ...(a && b ? { organizations: { a: party(a), b: party(b) } } : {}),
    billing: {
      secret: BILLING_SECRET,
      ...(signed ? { signed: { management: signed.url, signing_secret: signingSecret } } : {}),
    },
    ...(signIn ? { sign_in: signInOf(signIn) } : {}),
  }
  writeFileSync(file, `${JSON.stringify(description, null, 2)}\n`, { mode: 0o600 })
}

/** The owner of organization a, who is nobody in b; the owner of b signs in as `ben`. */
export const PEOPLE: TestPerson[] = [
  { sub: 'ada', email: ownerEmail('acme'), email_verified: true, name: 'Ada Example' },
  { sub: 'ben', email: ownerEmail('globex'), email_verified: true, name: 'Ben Example' },
]

/** Belongs to no organization until they make one. */
export const NEWCOMER: TestPerson = {
  sub: 'cleo',
  email: 'cleo@example.test',
  email_verified: true,
  name: 'Cleo Example',
}

/** The provider gives them tokens of another issuer, under its own keys. */
const FOREIGN: TestPerson = {
  sub: 'foreign',
  email: 'foreign@example.test',
  email_verified: true,
  name: 'Foreign Example',
  foreignIssuer: 'https://elsewhere.example.test',
}

function signInOf({ authorizeUrl, client, otherClient, scopes, parameters, form, own }: SignInProvider): object {
  if (own && !own.people.includes(FOREIGN)) own.people.push(FOREIGN)
  return {
    ...(own ? { foreign_issuer: { form: form(FOREIGN.sub) } } : {}),
    authorize_url: authorizeUrl,
    client_id: client.id,
    client_secret: client.secret,
    redirect_uri: client.redirectUri,
    scope: scopes,
    extra_parameters: parameters,
    form: form(PEOPLE[0]?.sub as string),
    other_client: {
      client_id: otherClient.id,
      client_secret: otherClient.secret,
      redirect_uri: otherClient.redirectUri,
    },
  }
}

type Party = WorldTenant & WorldOrganization

async function addParty(world: World, name: string, plan: string): Promise<Party> {
  const organization = await addOrganization(world, name)
  return { ...organization, ...(await addTenant(world, { name, plan, of: organization })) }
}

function party({ organizationId, tenantId, serviceId, apiKey, capability, operator, partner }: Party) {
  const ids = { organization_id: organizationId, tenant_id: tenantId, service_id: serviceId }
  return { ...ids, api_key: apiKey, capability, operator, partner }
}

/** As the payment provider says it. */
export async function pay(managementUrl: string, tenantId: string, plan: string, status = 'active'): Promise<void> {
  const answer = await fetch(`${managementUrl}/api/webhooks/billing`, {
    method: 'POST',
    headers: { authorization: `Bearer ${BILLING_SECRET}`, 'content-type': 'application/json' },
    body: JSON.stringify({ eventType: 'subscription.updated', tenantId, plan, status }),
  })
  if (answer.status !== 200) throw new Error(`the billing webhook answered ${answer.status}: ${await answer.text()}`)
}
