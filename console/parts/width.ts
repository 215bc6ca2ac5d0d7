// How wide something is drawn, so that a plot can be drawn in its pixels and its text is never stretched.

import { type RefObject, useLayoutEffect, useState } from 'react'

export function useWidth(element: RefObject<Element | null>): number {
  const [width, setWidth] = useState(0)
  useLayoutEffect(() => {
    const box = element.current
    if (!box) return
    setWidth(Math.floor(box.getBoundingClientRect().width))
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)))
    observer.observe(box)
    return () => observer.disconnect()
  }, [element])
  return width
}
