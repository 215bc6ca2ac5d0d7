// Everything else that is known of a memory.

import type { Record as Memory } from '@loci/sdk/daemon.ts'
import { Link } from '@tanstack/react-router'
import { bytes, score as shown } from '../../format.ts'
import { useService } from '../../frame/service.tsx'
import { Card } from '../../parts/card.tsx'
import { Said } from '../../parts/said.tsx'
import { Ago, Moment } from '../../parts/time.tsx'

export function Fields({ record }: { record: Memory }) {
  const { service } = useService()
  const { salience, salienceHint, evidenceRefs, tags, media, metadata, dueAt, expiresAt, source, content } = record
  return (
    <Card title="Fields">
      <dl className="kv">
        <dt>Salience</dt>
        <dd>
          <span className="tn">{shown(salience)}</span> from its text,{' '}
          {salienceHint === 0 ? 'no hint' : `hint ${shown(salienceHint, { signed: true })}`}
        </dd>
        <dt>Tags</dt>
        <dd className="row wrap">
          {tags.length === 0 && <span className="mut">none</span>}
          {tags.map((tag) => (
            <Link
              key={tag}
              to="/s/$slug/memory"
              params={{ slug: service.slug }}
              search={(now) => ({ ...now, view: 'browse' as const, tag })}
              className="tag"
            >
              <Said of={tag} line />
            </Link>
          ))}
        </dd>
        <dt>Evidence</dt>
        <dd>
          {evidenceRefs.length === 0 && <span className="mut">none</span>}
          <ul>
            {evidenceRefs.map((reference) => (
              <li key={reference}>
                <Said of={reference} />
              </li>
            ))}
          </ul>
        </dd>
        {media !== null && (
          <>
            <dt>Media</dt>
            <dd>
              <Said of={media} />
            </dd>
          </>
        )}
        {metadata !== null && (
          <>
            <dt>Metadata</dt>
            <dd>
              <Said of={metadata} />
            </dd>
          </>
        )}
        {dueAt !== null && (
          <>
            <dt>Due</dt>
            <dd>
              <Moment at={dueAt} /> <span className="mut">(</span>
              <Ago at={dueAt} />
              <span className="mut">)</span>
            </dd>
          </>
        )}
        <dt>Expires</dt>
        <dd>{expiresAt === null ? 'never' : <Moment at={expiresAt} />}</dd>
        <dt>Size</dt>
        <dd>{bytes(new TextEncoder().encode(content).length)}</dd>
        <dt>Written by</dt>
        <dd className="id">{source.actor ?? source.type}</dd>
        {source.ref !== null && (
          <>
            <dt>Request</dt>
            <dd className="id">{source.ref}</dd>
          </>
        )}
        <dt>Id</dt>
        <dd className="id">{record.id}</dd>
      </dl>
    </Card>
  )
}
