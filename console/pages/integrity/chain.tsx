// The chain of cycles as links: each cycle names the hash of the one before it, so none can be changed or left out.

import { useQuery } from '@tanstack/react-query'
import { count, shortId } from '../../format.ts'
import { useService } from '../../frame/service.tsx'
import { Card } from '../../parts/card.tsx'
import { Copy } from '../../parts/copy.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { Status } from '../../parts/status.tsx'
import { Clock } from '../../parts/time.tsx'
import { chainQuery, LINKS, linksQuery } from './queries.ts'
import { chainIn, isLinked, type Link, linksOf, type Walk } from './walk.ts'

const WORDS: Readonly<Record<Link, string>> = {
  whole: 'verified',
  waiting: 'not verified yet',
  damaged: 'damaged',
  redacted: 'redacted by an erasure',
}

/** A walk over all rows has read the chain too. */
export function Chain({ walk }: { walk: Walk | null }) {
  const view = useService()
  const chain = useQuery(chainQuery(view))
  const { data: cycles = [] } = useQuery(linksQuery(view))
  const corruption = chain.data?.corruption
  return (
    <Card
      title="Chain of cycles"
      aside={
        corruption &&
        (corruption.detected ? (
          <Status tone="bad" icon="cross">
            damaged
          </Status>
        ) : corruption.status === 'clean' ? (
          <Status tone="ok" icon="link">
            whole
          </Status>
        ) : (
          <Status tone="idle" icon="info">
            {corruption.status}
          </Status>
        ))
      }
    >
      <Loaded of={chain} rows={4}>
        {({ completedCycles, corruption: found }) => {
          if (completedCycles === 0)
            return (
              <Empty title="No cycle ran yet" command="loci cycles run">
                Each cycle is linked to the one before it by a hash.
              </Empty>
            )
          const read = chainIn(walk)
          const links = linksOf(cycles, {
            entries: found.entries,
            checkedThroughSeq: Math.max(found.checkedThroughSeq ?? 0, read?.through ?? 0),
          })
          const [first, last] = [links[0], links.at(-1)]
          const redacted = links.filter(({ link }) => link === 'redacted').length
          const linked = isLinked(cycles)
          const label = `Cycles ${count(first?.seq)} to ${count(last?.seq)}: ${(
            ['whole', 'waiting', 'damaged', 'redacted'] as const
          )
            .map((kind) => [links.filter(({ link }) => link === kind).length, WORDS[kind]] as const)
            .filter(([many]) => many > 0)
            .map(([many, word]) => `${many} ${word}`)
            .join(', ')}`
          return (
            <div className="grid chain">
              <div className="links" role="img" aria-label={label}>
                {links.map(({ seq, link }) => (
                  <i key={seq} data-link={link} title={`cycle ${count(seq)}, ${WORDS[link]}`} />
                ))}
              </div>
              <dl className="kv">
                <dt>Verified</dt>
                <dd>
                  {found.checkedThroughSeq === null ? (
                    read ? (
                      <>
                        {count(read.through)} of {count(completedCycles)}, by this check at <Clock at={read.at} />
                      </>
                    ) : (
                      'nothing yet'
                    )
                  ) : (
                    <>
                      {count(found.checkedThroughSeq)} of {count(completedCycles)}
                      {found.verifiedAt !== null && (
                        <>
                          , at <Clock at={found.verifiedAt} />
                        </>
                      )}
                    </>
                  )}
                </dd>
                {first && last && completedCycles > LINKS && (
                  <>
                    <dt>Shown</dt>
                    <dd>
                      {count(first.seq)} to {count(last.seq)}
                    </dd>
                  </>
                )}
                {linked !== undefined && (
                  <>
                    <dt>Links</dt>
                    <dd>
                      {linked ? (
                        'each names the one before it, checked here'
                      ) : (
                        <Status tone="bad" icon="cross">
                          one does not name the one before it
                        </Status>
                      )}
                    </dd>
                  </>
                )}
                {redacted > 0 && (
                  <>
                    <dt>Redacted</dt>
                    <dd>{count(redacted)}, by an erasure; the chain still verifies</dd>
                  </>
                )}
                {found.entries.map(({ ref, seq, reason }) => (
                  <Damaged key={`${ref}/${seq}`} seq={seq} reason={reason} ident={ref} />
                ))}
                {cycles[0] && (
                  <>
                    <dt>Head</dt>
                    <dd className="row wrap">
                      <span className="id" title={cycles[0].hash}>
                        {shortId(`_${cycles[0].hash}`).slice(1)}
                      </span>
                      <Copy text={cycles[0].hash} />
                    </dd>
                  </>
                )}
              </dl>
            </div>
          )
        }}
      </Loaded>
    </Card>
  )
}

function Damaged({ seq, reason, ident }: { seq: number | null; reason: string; ident: string | null }) {
  return (
    <>
      <dt>{seq === null ? 'Damaged' : `Cycle ${count(seq)}`}</dt>
      <dd>
        <Status tone="bad" icon="cross">
          {reason.replaceAll('_', ' ')}
        </Status>{' '}
        {ident && <span className="id">{shortId(ident)}</span>}
      </dd>
    </>
  )
}
