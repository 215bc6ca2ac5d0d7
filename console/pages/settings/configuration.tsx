// A configuration as a form: each key with its default and what it may be beside it, a value that is stored and not
// used at its key, and what would change before it is saved.

import type { Service } from '@loci/sdk/management.ts'
import { useMutation, useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { problemOf } from '../../api/problem.ts'
import { count, counted, span } from '../../format.ts'
import { useService } from '../../frame/service.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Loaded, Trouble } from '../../parts/states.tsx'
import { bodyOf, type Change, changesOf, fieldOf, grouped, keysIn, type Setting, shownOf, textOf } from './form.ts'
import { type Of, putSettings, type Settings, settingsQuery } from './queries.ts'

interface ConfigurationProps {
  of: Of
  title: string
  detail: Service
}

export function Configuration({ of, title, detail }: ConfigurationProps) {
  const view = useService()
  const settings = useQuery(settingsQuery(view, of))
  const version = settings.data?.version
  return (
    <section className="card" aria-label={title}>
      <header>
        <h2>{title}</h2>
        <span className="r">
          {version === 0 ? 'as it is by itself' : version !== undefined && `version ${count(version)}`}
        </span>
      </header>
      <Loaded of={settings} rows={8}>
        {(data) => <Form of={of} settings={data} ofService={new Set(keysIn(detail.config[of.replace('-', '_')]))} />}
      </Loaded>
    </section>
  )
}

/** Nothing outside of the names that the server tells. */
const GROUPS: Readonly<Record<string, string>> = {
  echo: 'Near copies',
  due: 'What comes due',
  weights: 'Weights of the parts of a score',
  schedule: 'Cycles by themselves',
  pressure: 'Cycles when much waits',
  neighbours: 'Turns beside a memory',
  retention: 'How much is kept',
  dense: 'Recall by meaning',
}

function Form({ of, settings, ofService }: { of: Of; settings: Settings; ofService: ReadonlySet<string> }) {
  const view = useService()
  const [typed, type] = useState<ReadonlyMap<string, string>>(new Map())
  const { changes, problems } = changesOf(settings.settings, typed)
  const save = useMutation({
    mutationFn: () =>
      putSettings(view, of, bodyOf(settings.config, settings.settings, changes, ofService), settings.version),
    onSuccess: () => type(new Map()),
  })
  const isConflict = save.error !== null && problemOf(save.error).code === 'VERSION_CONFLICT'
  const set = (key: string, text: string | undefined) => {
    const next = new Map(typed)
    if (text === undefined) next.delete(key)
    else next.set(key, text)
    save.reset()
    type(next)
  }
  const fixed = settings.settings.filter((setting) => fieldOf(setting).as === 'fixed')
  const open = settings.settings.filter((setting) => fieldOf(setting).as !== 'fixed')
  return (
    <form
      className="configuration"
      onSubmit={(event) => {
        event.preventDefault()
        save.mutate()
      }}
    >
      {grouped(open).map(([name, group]) => (
        <Group key={name} name={name} size={group.length}>
          {group.map((setting) => (
            <Row
              key={setting.key}
              of={of}
              setting={setting}
              text={typed.get(setting.key)}
              problem={problems.get(setting.key)}
              warning={settings.warnings.find(({ key }) => key === setting.key)}
              onType={(text) => set(setting.key, text)}
            />
          ))}
        </Group>
      ))}
      {fixed.length > 0 && (
        <p className="b sm mut">
          {counted(fixed.length, 'more setting')} {fixed.length === 1 ? 'has' : 'have'} no effect in this release:{' '}
          {fixed.map(({ key }) => key).join(', ')}.
        </p>
      )}
      <Unknown settings={settings} />
      {changes.length + problems.size > 0 && (
        <Diff
          changes={changes}
          isBroken={problems.size > 0}
          isBusy={save.isPending}
          onForget={() => {
            save.reset()
            type(new Map())
          }}
        />
      )}
      {isConflict ? (
        <div className="note warn" role="alert">
          <Icon name="swap" />
          <div>
            <b>Somebody else changed it meanwhile.</b>
            <p className="sm">
              Nothing was saved. Beside your changes stands now what is in force; save again if they still fit.
            </p>
          </div>
        </div>
      ) : (
        save.error && <Trouble error={save.error} isWrite onRetry={() => save.mutate()} />
      )}
      {save.isSuccess && changes.length === 0 && (
        <div className="note ok" role="status">
          <Icon name="check" />
          <p>Saved. The next write or cycle goes by it.</p>
        </div>
      )}
    </form>
  )
}

/** Many of a kind are folded away: who looks for one opens it. */
function Group({ name, size, children }: { name: string; size: number; children: ReactNode }) {
  if (name === '') return <div>{children}</div>
  const title = GROUPS[name] ?? name
  return size > 4 ? (
    <details className="group">
      <summary className="b b5">
        {title} <span className="mut sm">{size}</span>
      </summary>
      {children}
    </details>
  ) : (
    <fieldset className="group">
      <legend className="b b5">{title}</legend>
      {children}
    </fieldset>
  )
}

interface RowProps {
  of: Of
  setting: Setting
  text: string | undefined
  problem: string | undefined
  warning: { problem: string; using: unknown } | undefined
  onType(text: string | undefined): void
}

function Row({ of, setting, text = textOf(setting.value), problem, warning, onType }: RowProps) {
  const id = `${of}/${setting.key}`
  const field = fieldOf(setting)
  const isChanged = text !== textOf(setting.value)
  const isDefault = text === textOf(setting.default)
  const lasts = setting.key.endsWith('Ms') && Number(text) >= 1_000 ? span(Number(text)) : undefined
  const common = { id, 'aria-describedby': `${id}/range`, value: text }
  return (
    <div className={`setting${isChanged ? ' changed' : ''}`}>
      <label htmlFor={id}>
        <code>{setting.key}</code>
      </label>
      {field.as === 'choice' ? (
        <select className="in" {...common} onChange={({ target }) => onType(target.value)}>
          {field.choices.map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      ) : field.as === 'switch' ? (
        <select className="in" {...common} onChange={({ target }) => onType(target.value)}>
          <option value="true">on</option>
          <option value="false">off</option>
        </select>
      ) : (
        <input
          className="in tn"
          {...common}
          inputMode={field.as === 'number' ? 'decimal' : undefined}
          autoComplete="off"
          aria-invalid={problem !== undefined || undefined}
          placeholder={field.as === 'number' && field.mayBeNothing ? 'nothing' : undefined}
          onChange={({ target }) => onType(target.value)}
        />
      )}
      <span className="default sm mut tn">
        {isDefault ? (
          'the default'
        ) : (
          <button type="button" className="link" onClick={() => onType(textOf(setting.default))}>
            default {shownOf(setting.default)}
          </button>
        )}
      </span>
      <span className="sm mut range" id={`${id}/range`}>
        {lasts !== undefined && <b className="b5 mut2">{lasts}, </b>}
        {setting.range}
      </span>
      {problem && (
        <span className="st bad sm" role="alert">
          <Icon name="cross" />
          {problem}
        </span>
      )}
      {warning && (
        <span className="note warn sm">
          <Icon name="warning" />
          <span>
            What is stored is not used: {warning.problem} In use: <b>{shownOf(warning.using)}</b>
          </span>
        </span>
      )}
    </div>
  )
}

/** Keys of one's own are kept, and a key that is stored and unknown is told. */
function Unknown({ settings: { warnings, settings, config } }: { settings: Settings }) {
  const known = new Set(settings.map(({ key }) => key))
  const own = Object.keys(config).filter(
    (key) => !settings.some((one) => one.key === key || one.key.startsWith(`${key}.`)),
  )
  const others = warnings.filter(({ key }) => !known.has(key))
  return (
    <>
      {others.map(({ key, problem, using }) => (
        <p key={key} className="note warn sm">
          <Icon name="warning" />
          <span>
            <code>{key}</code> {problem} In use: <b>{shownOf(using)}</b>
          </span>
        </p>
      ))}
      {own.length > 0 && (
        <p className="b sm mut">
          Keys of your own, kept as they are: <code>{own.join(', ')}</code>
        </p>
      )}
    </>
  )
}

interface DiffProps {
  changes: readonly Change[]
  isBroken: boolean
  isBusy: boolean
  onForget(): void
}

function Diff({ changes, isBroken, isBusy, onForget }: DiffProps) {
  return (
    <div className="diff b">
      <table className="parts">
        <caption className="sr">What would change</caption>
        <thead className="sr">
          <tr>
            <th>Setting</th>
            <th>Now</th>
            <th>Then</th>
          </tr>
        </thead>
        <tbody>
          {changes.map(({ key, from, to, isDefault }) => (
            <tr key={key}>
              <td>
                <code>{key}</code>
              </td>
              <td className="num mut">
                <s>{shownOf(from)}</s>
              </td>
              <td className="num b5">
                {shownOf(to)}
                {isDefault && <span className="mut"> default</span>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <div className="row">
        <button type="submit" className="btn p" disabled={isBusy || isBroken || changes.length === 0}>
          {isBusy ? 'Saving…' : `Save ${counted(changes.length, 'change')}`}
        </button>
        <button type="button" className="btn" onClick={onForget}>
          Take back
        </button>
      </div>
    </div>
  )
}
