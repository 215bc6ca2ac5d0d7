// Keys: one letter has one meaning everywhere, and none is a key of browsers. `g s` is a letter after another. While
// somebody types they are letters; who does not want single letters switches them off (WCAG 2.1.4).

import { useEffect } from 'react'
import { usePreferences } from '../preferences.ts'

/** By key: `/`, `g s`, `ArrowLeft`, `shift+ArrowLeft`, `mod+k`. */
export type Keys = Readonly<Record<string, () => void>>

const CHORD_MS_MAX = 1_500
const layers: Keys[] = []
let first: { key: string; at: number } | undefined
let areLettersOn = true

/** As long as what calls this is shown; what was shown later wins. */
export function useKeys(keys: Keys): void {
  const { letters } = usePreferences()
  areLettersOn = letters === 'on'
  useEffect(() => {
    layers.push(keys)
    return () => void layers.splice(layers.lastIndexOf(keys), 1)
  }, [keys])
}

addEventListener('keydown', (event) => {
  const name = nameOf(event)
  const isTyping = (event.target as Element).closest?.('input, textarea, select, [contenteditable], dialog')
  const isSingle = !name.startsWith('mod+')
  if (event.defaultPrevented || event.isComposing || (isSingle && (isTyping || !areLettersOn))) return
  const before = first && event.timeStamp - first.at < CHORD_MS_MAX ? `${first.key} ${name}` : undefined
  first = undefined
  const act = (before && meaning(before)) ?? meaning(name)
  if (act) {
    event.preventDefault()
    act()
  } else if (layers.some((keys) => Object.keys(keys).some((key) => key.startsWith(`${name} `))))
    first = { key: name, at: event.timeStamp }
})

function meaning(name: string): (() => void) | undefined {
  return layers.findLast((keys) => Object.hasOwn(keys, name))?.[name]
}

function nameOf({ key, ctrlKey, metaKey, altKey, shiftKey }: KeyboardEvent): string {
  if (altKey) return `alt+${key}`
  if (ctrlKey || metaKey) return `mod+${key.toLowerCase()}`
  return shiftKey && key.length > 1 ? `shift+${key}` : key
}
