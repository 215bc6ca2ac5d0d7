// What this browser remembers of a person: the scheme, the zone of every axis, how dense rows are, and whether single
// letters are keys. Nothing else of ours is ever stored in a browser.

import { useSyncExternalStore } from 'react'
import type { Zone } from './format.ts'

export interface Preferences {
  scheme: 'auto' | 'light' | 'dark'
  zone: Zone
  density: 'normal' | 'compact'
  letters: 'on' | 'off'
}

const CHOICES: { readonly [Name in keyof Preferences]: readonly Preferences[Name][] } = {
  scheme: ['auto', 'light', 'dark'],
  zone: ['local', 'utc'],
  density: ['normal', 'compact'],
  letters: ['on', 'off'],
}

const dark = matchMedia('(prefers-color-scheme: dark)')
const listeners = new Set<() => void>()
let known = read()

export function usePreferences(): Preferences {
  return useSyncExternalStore(listen, () => known)
}

export function prefer(change: Partial<Preferences>): void {
  for (const [name, value] of Object.entries(change)) {
    try {
      localStorage.setItem(`loci-${name}`, value)
    } catch {
      // A browser that stores nothing forgets it with the page.
    }
  }
  known = { ...known, ...change }
  apply()
}

export function isDark(): boolean {
  return known.scheme === 'dark' || (known.scheme === 'auto' && dark.matches)
}

function read(): Preferences {
  const kept = <Name extends keyof Preferences>(name: Name): Preferences[Name] => {
    let text: string | null = null
    try {
      text = localStorage.getItem(`loci-${name}`)
    } catch {
      // As above.
    }
    return CHOICES[name].find((one) => one === text) ?? (CHOICES[name][0] as Preferences[Name])
  }
  return { scheme: kept('scheme'), zone: kept('zone'), density: kept('density'), letters: kept('letters') }
}

function apply(): void {
  document.documentElement.dataset.scheme = isDark() ? 'dark' : 'light'
  document.documentElement.dataset.density = known.density
  for (const listener of listeners) listener()
}

function listen(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

dark.addEventListener('change', apply)
// Of another tab.
addEventListener('storage', () => {
  known = read()
  apply()
})
apply()
