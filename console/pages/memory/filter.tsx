// One filter: what it lets pass now, and a form to say something else. What was met already can be chosen.

import { type ReactNode, useState } from 'react'
import { Icon } from '../../parts/icon.tsx'
import { Menu } from '../../parts/menu.tsx'
import { Said } from '../../parts/said.tsx'
import { usePreferences } from '../../preferences.ts'
import { momentOf } from './parts.ts'

interface FilterProps {
  /** "actor". */
  name: string
  /** What it says while it lets everything pass: "any actor". */
  any: string
  value: string | undefined
  /** How the value is shown, where it is no word of somebody. */
  shown?: ReactNode
  seen?: readonly string[]
  isMoment?: boolean
  onPick(value: string | undefined): void
}

export function Filter({ name, any, value, shown, seen = [], isMoment = false, onPick }: FilterProps) {
  const label =
    value === undefined ? (
      any
    ) : (
      <>
        {name} {shown ?? <Said of={value} line />}
      </>
    )
  return (
    <Menu
      className={`tag filter${value === undefined ? '' : ' acc'}`}
      name={value === undefined ? any : `${name}: ${value}`}
      label={
        <>
          {label}
          <Icon name="choose" />
        </>
      }
    >
      <Typed key={value} name={name} value={value} isMoment={isMoment} onPick={onPick} />
      {seen.map((one) => (
        <button key={one} type="button" aria-current={one === value || undefined} onClick={() => onPick(one)}>
          <Said of={one} line />
        </button>
      ))}
      {value !== undefined && (
        <button type="button" onClick={() => onPick(undefined)}>
          <Icon name="cross" />
          {any}
        </button>
      )}
    </Menu>
  )
}

function Typed({ name, value, isMoment, onPick }: Pick<FilterProps, 'name' | 'value' | 'isMoment' | 'onPick'>) {
  const { zone } = usePreferences()
  const [text, setText] = useState(isMoment ? '' : (value ?? ''))
  const meant = isMoment ? momentOf(text, zone) : text.trim() || undefined
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        onPick(meant)
      }}
    >
      <label className="field">
        <span className="label">
          {name}
          {isMoment && <span className="mut"> ({zone === 'utc' ? 'UTC' : 'local time'})</span>}
        </span>
        <input
          className="in"
          type={isMoment ? 'datetime-local' : 'text'}
          maxLength={256}
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
      </label>
      <button type="submit" className="btn s" disabled={isMoment && meant === undefined}>
        Apply
      </button>
    </form>
  )
}
