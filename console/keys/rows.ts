// j and k go from row to row: the focus to the link of each, so that Enter opens it and a screen reader says it.

import { type RefObject, useMemo } from 'react'
import { useKeys } from './keys.ts'

/** `selector` finds the one link of each row. */
export function useRowKeys(list: RefObject<HTMLElement | null>, selector = '[data-row]'): void {
  useKeys(
    useMemo(() => {
      const step = (by: number) => () => {
        const links = [...(list.current?.querySelectorAll<HTMLElement>(selector) ?? [])]
        const at = links.indexOf(document.activeElement as HTMLElement)
        links[Math.max(0, Math.min(links.length - 1, at < 0 ? 0 : at + by))]?.focus()
      }
      return { j: step(1), k: step(-1) }
    }, [list, selector]),
  )
}
