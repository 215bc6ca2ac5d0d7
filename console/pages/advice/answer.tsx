// What was answered: the tools that may be used, the best first, and those that may not.

import type { ToolRankResult } from '@loci/sdk/daemon.ts'
import type { UseQueryResult } from '@tanstack/react-query'
import { count, percent, shortId } from '../../format.ts'
import { Card } from '../../parts/card.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Said } from '../../parts/said.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { factorsOf, ruleOf } from './parts.ts'
import { Ranked } from './ranked.tsx'

export function Answer({ of }: { of: UseQueryResult<ToolRankResult> }) {
  return (
    <div className={of.data ? 'grid' : 'card'}>
      <Loaded of={of} rows={6}>
        {(answer) => <Answered answer={answer} />}
      </Loaded>
    </div>
  )
}

function Answered({ answer }: { answer: ToolRankResult }) {
  const { rankedTools, policy, recommendationId } = answer
  const isCold = rankedTools.length > 0 && rankedTools.every(({ coldStart }) => coldStart)
  const isTryingOut = rankedTools.some((tool) => factorsOf(tool).some(({ name }) => name === 'explore'))
  const formula = isTryingOut ? 'fit × works × tried out × health' : 'fit × works × health'
  return (
    <div className="grid">
      {!policy.resolved && (
        <div className="note warn" role="status">
          <Icon name="warning" />
          <p>
            <b>No policy is called so here.</b> <code>{policy.sourceRef}</code> was not found, so the default applied.
          </p>
        </div>
      )}
      {isCold && (
        <div className="note" role="status">
          <Icon name="info" />
          <p>No outcome was told in this class yet: they are ranked by their words and by what they did elsewhere.</p>
        </div>
      )}
      <Card
        title={
          <>
            Best first <span className="sm mut formula">score = {formula}, shown as a share</span>
          </>
        }
        aside={<span title={recommendationId}>{shortRecommendation(recommendationId)}</span>}
        flush
      >
        {rankedTools.length === 0 ? (
          <Empty
            title={policy.deniedTools.length > 0 ? 'Every tool is denied' : 'No outcome was told yet'}
            command="loci advice report shop.refund success --class refund --intent 'refund order 4411'"
          >
            {policy.deniedTools.length > 0
              ? 'The rules below leave none over.'
              : 'Advice ranks the tools of which an outcome was told: report what your agent tried and how it went.'}
          </Empty>
        ) : (
          <Ranked tools={rankedTools} />
        )}
      </Card>
      <Denied tools={policy.deniedTools} />
    </div>
  )
}

const WHY: Readonly<Record<string, string>> = {
  policy: 'policy',
  failure_budget: 'failure budget',
  constraint: 'limit of the task',
}

function Denied({ tools }: { tools: ToolRankResult['policy']['deniedTools'] }) {
  return (
    <Card title="Not allowed" aside={count(tools.length)} flush>
      {tools.length === 0 ? (
        <p className="b mut sm">No policy and no limit leaves a tool out.</p>
      ) : (
        <ul className="denied">
          {tools.map(({ toolId, reasonCode, rule, detail }) => (
            <li key={toolId}>
              <div className="row">
                <Icon name="lock" />
                <b className="b5 code">{toolId}</b>
                <span className="grow" />
                <span className="tag bad" title={reasonCode}>
                  {WHY[reasonCode] ?? reasonCode}
                </span>
              </div>
              <div className="sm mut2">
                <Rule rule={rule} detail={detail} />
              </div>
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}

function Rule({ rule, detail }: { rule: unknown; detail: string }) {
  const read = ruleOf(rule)
  if (!read) return detail
  const { index, policy, tool, taskClass, failureBudget, reason } = read
  return (
    <>
      Rule {count(index)} of <code>{policy}</code>
      {tool !== undefined && (
        <>
          {failureBudget === undefined ? ' denies ' : ` allows ${percent(failureBudget)} failures of `}
          <code>{tool}</code>
          {taskClass !== undefined && (
            <>
              {' in class '}
              <code>{taskClass}</code>
            </>
          )}
        </>
      )}
      {reason === undefined ? (
        '.'
      ) : (
        <>
          {': '}
          <Said of={reason} line />
        </>
      )}
    </>
  )
}

function shortRecommendation(id: string): string {
  return id.length > 40 ? `${id.slice(0, 24)}…${shortId(id).slice(-4)}` : id
}
