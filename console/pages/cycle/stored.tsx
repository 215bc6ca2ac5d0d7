// The cycle as it is stored: what makes it provable, and what it was run with.

import type { Cycle } from '@loci/sdk/daemon.ts'
import { count } from '../../format.ts'
import { Copy } from '../../parts/copy.tsx'
import { Said } from '../../parts/said.tsx'

export function Stored({ cycle }: { cycle: Cycle }) {
  const { id, hash, prevHash, workingMemory, engine, configVersion, requestedBy, metadata, warnings } = cycle
  return (
    <details className="card stored">
      <summary className="b">As it is stored</summary>
      <dl className="kv sm b">
        <dt>Id</dt>
        <dd className="row wrap">
          <span className="id">{id}</span>
          <Copy text={JSON.stringify(cycle, null, 2)} label="JSON" />
        </dd>
        <dt>Asked for by</dt>
        <dd>{requestedBy === null ? 'nobody: by itself' : <span className="id">{requestedBy}</span>}</dd>
        <dt>Hash</dt>
        <dd className="id">{hash}</dd>
        <dt>Hash before it</dt>
        <dd className="id">{prevHash ?? 'none: it is the first'}</dd>
        <dt>Working memory</dt>
        <dd>
          <span className="id">{workingMemory.before.digest}</span> →{' '}
          <span className="id">{workingMemory.after.digest}</span>
        </dd>
        <dt>Engine</dt>
        <dd>
          {engine.version}, deterministic, seed <span className="id">{engine.seed}</span>
        </dd>
        <dt>Configuration</dt>
        <dd>{configVersion === 0 ? 'as it comes' : `version ${count(configVersion)}`}</dd>
        {warnings.map(({ key, problem }) => (
          <Warning key={key} name={key} problem={problem} />
        ))}
        {metadata !== null && (
          <>
            <dt>Metadata</dt>
            <dd>
              <Said of={metadata} />
            </dd>
          </>
        )}
      </dl>
    </details>
  )
}

function Warning({ name, problem }: { name: string; problem: string }) {
  return (
    <>
      <dt>Warning</dt>
      <dd>
        <code>{name}</code> {problem}
      </dd>
    </>
  )
}
