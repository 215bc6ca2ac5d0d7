// Find or run: pages, services and what can be done, by a few letters; any id that is pasted leads to what it names.

import { useQuery } from '@tanstack/react-query'
import { useNavigate, useParams } from '@tanstack/react-router'
import { type KeyboardEvent, useEffect, useId, useMemo, useRef, useState } from 'react'
import { useApi } from '../api/api.ts'
import { servicesQuery } from '../api/services.ts'
import { GENERAL, OF_ORGANIZATION, OF_SERVICE, OF_STAFF, there } from '../frame/nav.tsx'
import { hasPage } from '../pages.ts'
import { Icon, type IconName } from '../parts/icon.tsx'
import { fits, isId } from './find.ts'

interface Found {
  group: string
  icon: IconName
  label: string
  note?: string
  run(): void
}

const SHOWN_MAX = 12

export function Palette({ onClose }: { onClose(): void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [text, setText] = useState('')
  const [on, setOn] = useState(0)
  const list = useId()
  const found = useFound(text)
  const current = found[Math.min(on, found.length - 1)]
  useEffect(() => dialog.current?.showModal(), [])
  const run = (one: Found | undefined) => {
    if (!one) return
    dialog.current?.close()
    one.run()
  }
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) setOn((at) => (Math.min(at, found.length - 1) + step + found.length) % found.length)
    else if (event.key === 'Enter') run(current)
    else return
    event.preventDefault()
  }
  return (
    <dialog ref={dialog} className="palette" aria-label="Find or run" onClose={onClose}>
      <div className="pi">
        <Icon name="find" />
        <input
          autoFocus
          role="combobox"
          aria-expanded
          aria-controls={list}
          aria-activedescendant={current && `${list}-${found.indexOf(current)}`}
          aria-label="Find or run"
          placeholder="Find or run"
          value={text}
          onKeyDown={onKeyDown}
          onChange={({ target }) => {
            setText(target.value)
            setOn(0)
          }}
        />
        <kbd>esc</kbd>
      </div>
      <div id={list} role="listbox" aria-label="Found" className="found">
        {found.map((one, at) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the input above has the keys
          <div
            key={`${one.group}/${one.label}/${one.note}`}
            id={`${list}-${at}`}
            role="option"
            tabIndex={-1}
            aria-selected={one === current}
            onClick={() => run(one)}
          >
            <Icon name={one.icon} />
            {one.label}
            <span className="r">{one.note ?? one.group}</span>
          </div>
        ))}
      </div>
      {found.length === 0 && <p className="b mut">Nothing here is called that.</p>}
      <div className="pf">
        <span>
          <kbd>↑</kbd> <kbd>↓</kbd> move
        </span>
        <span>
          <kbd>↵</kbd> open
        </span>
        <span className="grow" />
        <span>Paste any id: svc_ mem_ cyc_ cap_ op_</span>
      </div>
    </dialog>
  )
}

function useFound(text: string): Found[] {
  const navigate = useNavigate()
  const { slug } = useParams({ strict: false })
  const api = useApi()
  const { isStaff } = api.me
  const { data: services = [] } = useQuery(servicesQuery(api))
  return useMemo(() => {
    const all: Found[] = []
    if (isId(text))
      all.push({
        group: 'Id',
        icon: 'link',
        label: text.trim(),
        note: 'go there',
        run: () => void navigate({ to: '/go/$id', params: { id: text.trim() }, search: { from: slug } }),
      })
    const pages = [...(slug ? OF_SERVICE : []), ...GENERAL, ...OF_ORGANIZATION, ...(isStaff ? OF_STAFF : [])]
    for (const { label, icon, to } of there(pages))
      all.push({
        group: 'Page',
        icon,
        label,
        run: () => void navigate({ to: to as '/services', params: (params) => params }),
      })
    if (hasPage('create'))
      all.push({
        group: 'Do',
        icon: 'add',
        label: 'Create a service',
        run: () => void navigate({ to: '/services/new' }),
      })
    for (const { name, slug: to } of services)
      all.push({
        group: 'Service',
        icon: 'services',
        label: name,
        note: to,
        run: () => void navigate({ to: '/s/$slug', params: { slug: to }, search: { db: undefined } }),
      })
    return all
      .filter(({ group, label, note }) => group === 'Id' || fits(`${label} ${note ?? ''}`, text))
      .slice(0, SHOWN_MAX)
  }, [text, slug, services, isStaff, navigate])
}
