// A token made narrower for a sub-agent, here in the browser: with the delegation that its holder pastes, which is sent
// nowhere. Management learns the id of what was made, so that it is listed and can be revoked.

import { attenuate, claimsOf, type Delegation, delegate } from '@loci/sdk/attenuate.ts'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useApi } from '../../api/api.ts'
import type { Token } from '../../api/credentials.ts'
import { shortId, span } from '../../format.ts'
import { Icon } from '../../parts/icon.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Secret } from '../../parts/secret.tsx'
import { Trouble } from '../../parts/states.tsx'
import { useNow } from '../../parts/time.tsx'
import { credentialsChanged, readDelegation, registerChild } from './queries.ts'
import { ALL, inWords, whyNotNarrowed } from './rights.ts'
import { Rights } from './rights-field.tsx'

const TIMES = [
  [900, '15 minutes'],
  [3_600, '1 hour'],
  [6 * 3_600, '6 hours'],
  [86_400, '1 day'],
  [7 * 86_400, '7 days'],
] as const

export function NarrowToken({ token, onClose }: { token: Token; onClose(): void }) {
  const name = token.name ?? shortId(token.token_id)
  const [text, setText] = useState('')
  const delegation = readDelegation(text)
  const problem = text.trim() === '' ? undefined : problemWith(delegation, token)
  return (
    <Panel title={`Narrow ${name} for a sub-agent`} onClose={onClose}>
      <label className="field">
        <span className="label">Its delegation</span>
        {/* Not a password, but as good as one: no browser and no checker of spelling is to keep it. */}
        <textarea
          name="delegation"
          className="in code"
          rows={3}
          autoComplete="off"
          spellCheck={false}
          placeholder={'{"chain":"…","key":{…}}'}
          aria-invalid={problem !== undefined}
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
        <span className={`sm ${problem ? 'refused' : 'mut'}`} role={problem ? 'alert' : undefined}>
          {problem ?? 'As it was shown when the token was made. It stays in this page.'}
        </span>
      </label>
      {delegation && !problem && <Narrowing key={text} token={token} delegation={delegation} onClose={onClose} />}
    </Panel>
  )
}

function problemWith(delegation: Delegation | undefined, { token_id }: Token): string | undefined {
  if (!delegation) return 'This is no delegation: it has a chain and a key.'
  try {
    const { jti } = claimsOf(delegation.chain.split('~')[0] ?? '')
    return jti === token_id ? undefined : `This is the delegation of ${shortId(jti)}.`
  } catch {
    return 'Its chain is no capability; was it cut or wrapped?'
  }
}

interface NarrowingProps {
  token: Token
  delegation: Delegation
  onClose(): void
}

function Narrowing({ token, delegation, onClose }: NarrowingProps) {
  const api = useApi()
  const now = useNow(10_000)
  const links = delegation.chain.split('~')
  const parent = claimsOf(links.at(-1) ?? '')
  const leftMs = parent.exp * 1_000 - now
  const times = TIMES.filter(([seconds]) => seconds * 1_000 <= leftMs)
  const linksLeft = token.max_delegation_depth - links.length
  const [name, setName] = useState('')
  const [ops, setOps] = useState<readonly string[]>(() => parent.ops.filter((op) => op.endsWith(':read')))
  const [seconds, setSeconds] = useState(() => times.findLast(([one]) => one <= 21_600)?.[0] ?? 0)
  const [mayNarrow, setMayNarrow] = useState(false)
  const [signed, setSigned] = useState<{ of: string; text: string; jti: string; exp: number }>()
  const make = useMutation({
    gcTime: 0,
    mutationFn: async () => {
      // What was signed is registered again where that was refused: the id stays the same.
      const of = JSON.stringify([name, ops, seconds, mayNarrow])
      const made = signed?.of === of ? signed : { of, ...(await sign()) }
      setSigned(made)
      const { jti, exp } = made
      const child = { jti, exp, ops: [...ops], ...(name.trim() === '' ? {} : { name: name.trim() }) }
      await registerChild(api, { tenantId: token.tenant_id, rootId: token.token_id }, child)
      return made
    },
    onSuccess: () => void credentialsChanged(api),
  })
  const sign = async () => {
    const narrowing = { ops: [...ops], ...(seconds > 0 ? { ttlSeconds: seconds } : {}) }
    const made = mayNarrow ? await delegate(delegation, narrowing) : await attenuate(delegation, narrowing)
    const chain = typeof made === 'string' ? made : made.chain
    const { jti, exp } = claimsOf(chain.split('~').at(-1) ?? '')
    return { text: typeof made === 'string' ? made : JSON.stringify(made), jti, exp }
  }
  if (make.data)
    return (
      <Secret parts={[{ label: mayNarrow ? 'Delegation' : 'Token', text: make.data.text }]} onStored={onClose}>
        <p className="sm mut2">
          <span className="id" title={make.data.jti}>
            {shortId(make.data.jti)}
          </span>{' '}
          may do {inWords(ops)}, for {span(make.data.exp * 1_000 - now)}.
        </p>
      </Secret>
    )
  return (
    <form
      className="grid fields"
      onSubmit={(event) => {
        event.preventDefault()
        make.mutate()
      }}
    >
      <label className="field">
        <span className="label">Name</span>
        <input
          name="child"
          className="in"
          maxLength={100}
          autoComplete="off"
          placeholder="planner"
          value={name}
          onChange={({ target }) => setName(target.value)}
        />
      </label>
      <fieldset className="field">
        <legend>May</legend>
        <Rights
          ops={ALL}
          isOn={(op) => ops.includes(op)}
          whyNot={(op) => whyNotNarrowed(op, parent.ops)}
          onToggle={(op) => setOps(ops.includes(op) ? ops.filter((one) => one !== op) : [...ops, op])}
        />
      </fieldset>
      <div className="grid two">
        <label className="field">
          <span className="label">For</span>
          <select className="in" value={seconds} onChange={({ target }) => setSeconds(Number(target.value))}>
            {times.map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
            <option value={0}>as long as its parent</option>
          </select>
          <span className="sm mut">at most {span(leftMs)}</span>
        </label>
        <label className="field">
          <span className="label">May narrow again</span>
          <select
            className="in"
            disabled={linksLeft < 1}
            value={mayNarrow ? 'yes' : 'no'}
            onChange={({ target }) => setMayNarrow(target.value === 'yes')}
          >
            <option value="no">no</option>
            {linksLeft > 0 && <option value="yes">{linksLeft === 1 ? 'once' : `${linksLeft} times`}</option>}
          </select>
          {linksLeft < 1 && <span className="sm mut">{`its token was made for ${token.max_delegation_depth}`}</span>}
        </label>
      </div>
      <div className="note">
        <Icon name="lock" />
        <p className="sm">
          Signed here in the browser with the delegation you pasted. It is not sent; the id of the new token is
          registered, so that it can be revoked.
        </p>
      </div>
      {make.error && <Trouble error={make.error} isWrite onRetry={() => make.mutate()} />}
      <div className="row">
        <button type="submit" className="btn p" disabled={make.isPending || ops.length === 0}>
          {make.isPending ? 'Signing…' : 'Make it'}
        </button>
        <button type="button" className="btn q" onClick={onClose}>
          Cancel
        </button>
      </div>
    </form>
  )
}
