// The capabilities of a tenant: a tree, because a holder may narrow one for a sub-agent without asking anybody.

import type { Tenant } from '@loci/sdk/management.ts'
import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { type CSSProperties, useRef } from 'react'
import { useApi } from '../../api/api.ts'
import { apiKeysQuery, type Token } from '../../api/credentials.ts'
import type { Whole } from '../../api/every-page.ts'
import { membersQuery, nameOf } from '../../api/members.ts'
import { servicesQuery } from '../../api/services.ts'
import { count, counted, shortId, span } from '../../format.ts'
import { useRowKeys } from '../../keys/rows.ts'
import { CommandLine } from '../../parts/copy.tsx'
import { useMay } from '../../parts/right.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { Ago, useNow } from '../../parts/time.tsx'
import { MakeToken } from './make.tsx'
import { NarrowToken } from './narrow.tsx'
import { RevokeToken } from './revoke.tsx'
import { databasesOf, inWords } from './rights.ts'
import { isOfConsole, isOver, type Node, treeOf } from './tree.ts'

const route = getRouteApi('/o/tokens')

interface CapabilitiesProps {
  tenants: UseQueryResult<Tenant[]>
  tenant: Tenant | undefined
  tokens: UseQueryResult<Whole<Token>>
}

export function Capabilities({ tenants, tenant, tokens }: CapabilitiesProps) {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const now = useNow(10_000)
  const mayMake = useMay('tokens:write')
  const table = useRef<HTMLTableElement>(null)
  useRowKeys(table)
  const { act, id, ended, own } = search
  const every = tokens.data?.items ?? []
  const ofConsole = every.filter((token) => isOfConsole(token) && !isOver(token, now)).length
  const items = own === 'yes' ? every : every.filter((token) => !isOfConsole(token))
  const all = treeOf(items, { now, withEnded: true })
  const nodes = ended === 'yes' ? all : treeOf(items, { now, withEnded: false })
  const picked = all.find((node) => node.id === id)
  const hidden = all.length - nodes.length
  const close = () => void navigate({ search: { tenant: search.tenant, ended, own } })
  const isOpen = tenant !== undefined && (act === 'make' || (picked !== undefined && act !== undefined))
  return (
    <div className={`grid${isOpen ? ' with-asked' : ''}`}>
      <section className="card">
        {tenants.error && <Loaded of={tenants}>{() => null}</Loaded>}
        <Loaded of={tokens} rows={6}>
          {({ isCut }) =>
            all.length === 0 ? (
              <Empty
                title="No token yet"
                command="loci tokens create"
                action={
                  mayMake && (
                    <Link to="/o/tokens" search={{ act: 'make', tenant: search.tenant }} className="btn p">
                      Mint a token
                    </Link>
                  )
                }
              >
                An agent calls the service with a token of its own: it says what the agent may do, in which databases,
                and until when.
              </Empty>
            ) : (
              <>
                <table ref={table} className="t tk">
                  <thead>
                    <tr>
                      <th>Name</th>
                      <th className="hide-s">Id</th>
                      <th>May</th>
                      <th className="hide-s">Database</th>
                      <th className="num">Expires</th>
                      <th className="num hide-s">Used</th>
                      <th />
                    </tr>
                  </thead>
                  <tbody>
                    {nodes.map((node) => (
                      <Row key={`${node.root.token_id} ${node.id}`} node={node} now={now} isOn={node.id === id} />
                    ))}
                  </tbody>
                </table>
                <div className="b sm mut under">
                  Children are made offline by their holder and appear when registered. A child can only have less, for
                  a shorter time.{' '}
                  {hidden > 0 && (
                    <Link to="/o/tokens" search={{ ...search, ended: 'yes' }}>
                      Show {counted(hidden, 'that has ended', 'that have ended')}
                    </Link>
                  )}
                  {ended === 'yes' && (
                    <Link to="/o/tokens" search={{ ...search, ended: undefined }}>
                      Hide those that have ended
                    </Link>
                  )}
                  {ofConsole > 0 && (
                    <>
                      {' '}
                      <Link to="/o/tokens" search={{ ...search, own: own === 'yes' ? undefined : 'yes' }}>
                        {own === 'yes' ? 'Hide' : `Show ${count(ofConsole)}`} of the console itself
                      </Link>
                    </>
                  )}
                  {isCut && ' Only the newest are shown.'}
                  <p className="row wrap by-command">
                    <span>The same from a shell</span>
                    <CommandLine>loci tokens list</CommandLine>
                  </p>
                </div>
              </>
            )
          }
        </Loaded>
      </section>
      {isOpen && (
        <aside className="grid" aria-label="What is being done">
          {act === 'make' && <MakeToken key={tenant.id} tenant={tenant} onClose={close} />}
          {act === 'narrow' && picked?.token && <NarrowToken key={picked.id} token={picked.token} onClose={close} />}
          {act === 'revoke' && picked && <RevokeToken key={picked.id} node={picked} onClose={close} />}
        </aside>
      )}
    </div>
  )
}

function Row({ node, now, isOn }: { node: Node; now: number; isOn: boolean }) {
  const { id, depth, token, child, root, hasEnded } = node
  const search = route.useSearch()
  const mayRevoke = useMay('tokens:write')
  const revokedAt = token?.revoked_at ?? child?.revoked_at
  const expiresAt = token?.expires_at ?? child?.expires_at ?? root.expires_at
  const mayNarrow = token && !hasEnded && token.max_delegation_depth > 0
  return (
    <tr className={[isOn ? 'on' : '', depth > 0 ? 'ch' : ''].join(' ')}>
      <td>
        <div className="tree" style={{ '--depth': depth } as CSSProperties}>
          {depth > 0 && <i aria-hidden="true" />}
          <div>
            <b className="b5">{token ? (token.name ?? 'without a name') : (child?.name ?? 'made by its holder')}</b>
            {token && <Maker token={token} />}
          </div>
        </div>
      </td>
      <td className="hide-s">
        <span className="id" title={id}>
          {shortId(id)}
        </span>
      </td>
      <td className="mut2">
        {token?.ops.includes('operator') ? (
          <span className="tag warn">operator: everything</span>
        ) : (
          <span title={opsOf(node)?.join(', ')}>{opsOf(node) ? inWords(opsOf(node) ?? []) : '–'}</span>
        )}
      </td>
      <td className="hide-s">{token ? <code>{databasesOf(token.keyspaces)}</code> : <span className="mut">–</span>}</td>
      <td className="num nowrap">
        {revokedAt ? (
          <span className="mut">revoked</span>
        ) : hasEnded ? (
          <span className="mut">expired</span>
        ) : (
          <span title={expiresAt}>{span(Date.parse(expiresAt) - now)}</span>
        )}
      </td>
      <td className="num mut2 hide-s">{token?.last_used_at ? <Ago at={token.last_used_at} /> : '–'}</td>
      <td className="num nowrap">
        {mayNarrow && (
          <>
            <Link to="/o/tokens" search={{ ...search, act: 'narrow', id }} className="why">
              Narrow
            </Link>{' '}
            &nbsp;
          </>
        )}
        {mayRevoke && !hasEnded && (
          <Link to="/o/tokens" search={{ ...search, act: 'revoke', id }} className="why" data-row>
            Revoke
          </Link>
        )}
      </td>
    </tr>
  )
}

/** Of a child as its holder told it: nobody verifies that, and what was not told is not known. */
function opsOf({ token, child }: Node): readonly string[] | undefined {
  return token?.ops ?? child?.ops ?? undefined
}

function Maker({ token: { sub, made_by, service_id } }: { token: Token }) {
  const api = useApi()
  const { data: services } = useQuery(servicesQuery(api))
  const { data: members } = useQuery(membersQuery(api))
  const { data: keys } = useQuery(apiKeysQuery(api))
  const by = sub ?? made_by
  const member = members?.items.find(({ user_id }) => user_id === by)
  const key = keys?.items.find(({ id }) => id === by)
  const who = member ? nameOf(member) : key ? `the key ${key.name}` : by ? shortId(by) : undefined
  const service = services?.find(({ id }) => id === service_id)
  return (
    <div className="xs mut">
      {who && `by ${who}, `}
      {service?.name ?? shortId(service_id)}
    </div>
  )
}
