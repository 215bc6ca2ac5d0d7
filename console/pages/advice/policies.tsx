// The policies of this database with their rules. The first rule that matches a tool decides.

import { useQuery } from '@tanstack/react-query'
import { count, counted, percent } from '../../format.ts'
import { useService } from '../../frame/service.tsx'
import { Said } from '../../parts/said.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { Status } from '../../parts/status.tsx'
import { policiesQuery } from './queries.ts'

export function Policies() {
  const policies = useQuery(policiesQuery(useService()))
  return (
    <div className={policies.data?.length ? 'grid' : 'card'}>
      <Loaded of={policies} rows={4}>
        {(all) =>
          all.length === 0 ? (
            <Empty title="No policy yet">
              Without one every tool may be advised. An operator puts the policy <code>default</code>, which holds for
              every request, by <code>PUT /v1/advice/policies/default</code>.
            </Empty>
          ) : (
            <div className="grid">
              {all.map(({ name, ref, version, rules }) => (
                <section key={name} className="card">
                  <header>
                    <h2>{name}</h2>
                    <span className="id">{ref}</span>
                    <span className="r">
                      version {count(version)} · {counted(rules.length, 'rule')}
                    </span>
                  </header>
                  <div className="scroll">
                    <table className="t">
                      <thead>
                        <tr>
                          <th className="num">Rule</th>
                          <th>Effect</th>
                          <th>Tools</th>
                          <th>Class</th>
                          <th>When</th>
                          <th>Why</th>
                        </tr>
                      </thead>
                      <tbody>
                        {rules.map(({ effect, tool, taskClass, sideEffects, failureBudget, reason }, index) => (
                          // biome-ignore lint/suspicious/noArrayIndexKey: a rule is its place in the policy
                          <tr key={index}>
                            <td className="num mut">{index}</td>
                            <td>
                              <Status
                                tone={effect === 'deny' ? 'bad' : 'ok'}
                                icon={effect === 'deny' ? 'lock' : 'check'}
                              >
                                {effect}
                              </Status>
                            </td>
                            <td>
                              <code>{tool}</code>
                            </td>
                            <td>
                              {taskClass === undefined ? <span className="mut">any</span> : <code>{taskClass}</code>}
                            </td>
                            <td className="sm mut2">
                              {[
                                sideEffects !== undefined && (sideEffects ? 'it has side effects' : 'it has none'),
                                failureBudget !== undefined && `over ${percent(failureBudget)} of it fail`,
                              ]
                                .filter(Boolean)
                                .join(', ') || 'always'}
                            </td>
                            <td>{reason === undefined ? '–' : <Said of={reason} line />}</td>
                          </tr>
                        ))}
                      </tbody>
                    </table>
                  </div>
                </section>
              ))}
            </div>
          )
        }
      </Loaded>
    </div>
  )
}
