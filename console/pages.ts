// Which pages there are: each is a folder of pages/ whose page.tsx exports `Page`. It is loaded when it is opened. An
// address whose folder is not there yet is told so, and nothing leads to it.

import { lazyRouteComponent } from '@tanstack/react-router'
import type { ComponentType } from 'react'

const PAGES = import.meta.glob<{ Page: ComponentType }>('./pages/*/page.tsx')

export function hasPage(name: string): boolean {
  return `./pages/${name}/page.tsx` in PAGES
}

/** Undefined where there is no such page: the route then shows what its address would show. */
export function lazyPage(name: string) {
  const load = PAGES[`./pages/${name}/page.tsx`]
  return load && lazyRouteComponent(load, 'Page')
}
