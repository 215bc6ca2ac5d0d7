// Before a token is revoked: who dies with it.

import { useMutation } from '@tanstack/react-query'
import { useApi } from '../../api/api.ts'
import { counted, shortId } from '../../format.ts'
import { Panel } from '../../parts/panel.tsx'
import { Trouble } from '../../parts/states.tsx'
import { Ago, useNow } from '../../parts/time.tsx'
import { credentialsChanged, revokeToken } from './queries.ts'
import { endsWithIt, type Node } from './tree.ts'

const NAMED_MAX = 8

export function RevokeToken({ node, onClose }: { node: Node; onClose(): void }) {
  const api = useApi()
  const now = useNow(10_000)
  const { id, token, child, root } = node
  const { alive, ended } = endsWithIt(node, now)
  const unlisted = token ? Math.max(0, token.children_total - token.children.length) : 0
  const revoke = useMutation({
    mutationFn: () => revokeToken(api, root.tenant_id, id),
    onSuccess: async () => {
      await credentialsChanged(api)
      onClose()
    },
  })
  const name = token?.name ?? child?.name ?? shortId(id)
  const number = 1 + alive.length
  return (
    <Panel title={`Revoke ${name}?`} onClose={onClose}>
      <p className="sm mut2">
        {alive.length > 0 ? (
          <>
            <b className="b5 ink">{counted(alive.length, 'more ends', 'more end')} with it: </b>
            {alive.slice(0, NAMED_MAX).map(({ jti, name: called }, at) => (
              <span key={jti} title={jti}>
                {at > 0 && ', '}
                {called ?? <span className="id">{shortId(jti)}</span>}
              </span>
            ))}
            {alive.length > NAMED_MAX && ` and ${alive.length - NAMED_MAX} more`}
            {ended.length > 0 && `; ${counted(ended.length, 'has', 'have')} ended before`}.{' '}
          </>
        ) : (
          'No other token that is registered ends with it. '
        )}
        {unlisted > 0 && `${counted(unlisted, 'older child', 'older children')} of it end too. `}
        What its holder made of it without registering ends as well. Every daemon refuses them within 5 seconds, 60 at
        worst. {token && !token.last_used_at && 'Not used yet.'}
        {token?.last_used_at && (
          <>
            Used <Ago at={token.last_used_at} />.
          </>
        )}
      </p>
      {revoke.error && <Trouble error={revoke.error} isWrite onRetry={() => revoke.mutate()} />}
      <div className="row">
        <button type="button" className="btn d" disabled={revoke.isPending} onClick={() => revoke.mutate()}>
          {revoke.isPending ? 'Asking…' : number === 1 ? 'Revoke it' : `Revoke ${number} tokens`}
        </button>
        <button type="button" className="btn q" onClick={onClose}>
          Keep
        </button>
      </div>
    </Panel>
  )
}
