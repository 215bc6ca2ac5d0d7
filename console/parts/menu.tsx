// What opens below a button and closes by Escape, a click elsewhere or a choice: the browser's own popover.

import { Link, type LinkProps } from '@tanstack/react-router'
import { type ReactNode, useId, useRef } from 'react'

interface MenuProps {
  label: ReactNode
  /** For who does not see `label`. */
  name?: string
  className?: string
  children: ReactNode
}

const EDGE_PX = 8

export function Menu({ label, name, className = 'pick', children }: MenuProps) {
  const id = useId()
  const button = useRef<HTMLButtonElement>(null)
  const list = useRef<HTMLDivElement>(null)
  const place = () => {
    const [at, box] = [button.current?.getBoundingClientRect(), list.current]
    if (!at || !box) return
    const left = Math.min(at.left, innerWidth - box.offsetWidth - EDGE_PX)
    box.style.left = `${Math.max(EDGE_PX, left)}px`
    box.style.top = `${at.bottom + 4}px`
  }
  return (
    <>
      <button ref={button} type="button" className={className} popoverTarget={id} aria-label={name}>
        {label}
      </button>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the links and buttons in it act; a choice closes it */}
      <div
        ref={list}
        id={id}
        popover="auto"
        className="menu"
        onToggle={({ newState }) => newState === 'open' && place()}
        onClick={(event) => {
          if ((event.target as Element).closest('a, button')) list.current?.hidePopover()
        }}
        onKeyDown={(event) => move(event.currentTarget, event) && event.preventDefault()}
      >
        {children}
      </div>
    </>
  )
}

/** The arrows go from choice to choice, as Tab does. */
function move(list: HTMLElement, { key, target }: Pick<KeyboardEvent, 'key' | 'target'>): boolean {
  const step = { ArrowDown: 1, ArrowUp: -1 }[key]
  // In a field of a date they count.
  if (step === undefined || (target as Element).closest('input')) return false
  const choices = [...list.querySelectorAll<HTMLElement>('a[href], button:not(:disabled)')]
  const at = choices.indexOf(document.activeElement as HTMLElement)
  choices.at((at + step) % choices.length)?.focus()
  return true
}

export function MenuLink({ isOn = false, children, ...to }: LinkProps & { isOn?: boolean; children: ReactNode }) {
  return (
    <Link {...to} aria-current={isOn ? 'true' : undefined}>
      {children}
    </Link>
  )
}
