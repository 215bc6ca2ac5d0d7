// What stands around every page: the bar with the crumbs, the pages at the left, keys and the palette. It knows the
// organization, so that a page below need not ask which.

import {
  Link,
  Outlet,
  useNavigate,
  useParams,
  useRouteContext,
  useRouterState,
  useSearch,
} from '@tanstack/react-router'
import { lazy, Suspense, useEffect, useMemo, useRef, useState } from 'react'
import { ApiContext, createApi, type Me, type Organization } from '../api/api.ts'
import { signIn, useSessionOver } from '../api/session.ts'
import { useKeys } from '../keys/keys.ts'
import { Icon } from '../parts/icon.tsx'
import { Menu } from '../parts/menu.tsx'
import { isDark, prefer, usePreferences } from '../preferences.ts'
import { Crumbs } from './crumbs.tsx'
import { Live } from './live.tsx'
import { GENERAL, Nav, OF_ORGANIZATION, OF_SERVICE, Tabs, there } from './nav.tsx'
import { NoOrganization } from './no-organization.tsx'

const Palette = lazy(() => import('../keys/palette.tsx').then(({ Palette: one }) => ({ default: one })))
const KeyList = lazy(() => import('../keys/key-list.tsx').then(({ KeyList: one }) => ({ default: one })))

export function Frame() {
  const { organizations, user, staff } = useRouteContext({ from: '__root__' }).session
  const { org } = useSearch({ from: '__root__' })
  const organization = organizations.find(({ id }) => id === org) ?? organizations[0]
  const me = useMemo(() => ({ userId: user.id, isStaff: staff }), [user.id, staff])
  return organization ? <Framed key={organization.id} organization={organization} me={me} /> : <NoOrganization />
}

function Framed({ organization, me }: { organization: Organization; me: Me }) {
  const api = useMemo(() => createApi(organization, me), [organization, me])
  const [shown, show] = useState<'palette' | 'keys'>()
  const main = useRef<HTMLElement>(null)
  useLandmark(main)
  usePageKeys(show)
  return (
    <ApiContext value={api}>
      <a className="skip" href="#main">
        Skip to content
      </a>
      <header className="bar">
        <Link className="logo" to="/services" aria-label="loci, services">
          <Logo />
          <b>loci</b>
        </Link>
        <Crumbs />
        <span className="grow" />
        <Live />
        <button type="button" className="find" onClick={() => show('palette')}>
          <Icon name="find" />
          <span>Find or run</span>
          <kbd>{/Mac|iP/.test(navigator.platform) ? '⌘K' : 'Ctrl K'}</kbd>
        </button>
        <SchemeButton />
        <Person onKeys={() => show('keys')} />
      </header>
      <Nav />
      <main id="main" ref={main} tabIndex={-1}>
        <SessionOver />
        <Suspense>
          <Outlet />
        </Suspense>
      </main>
      <Tabs />
      <Suspense>
        {shown === 'palette' && <Palette onClose={() => show(undefined)} />}
        {shown === 'keys' && <KeyList onClose={() => show(undefined)} />}
      </Suspense>
    </ApiContext>
  )
}

/** A new page begins where its content does, for the keyboard and for who listens; not the first, which loads there. */
function useLandmark(main: React.RefObject<HTMLElement | null>): void {
  const path = useRouterState({ select: ({ resolvedLocation }) => resolvedLocation?.pathname })
  const before = useRef<string>(undefined)
  useEffect(() => {
    if (before.current !== undefined && path !== before.current) main.current?.focus({ preventScroll: true })
    before.current = path
  }, [path, main])
}

function usePageKeys(show: (what: 'palette' | 'keys') => void): void {
  const navigate = useNavigate()
  const { slug } = useParams({ strict: false })
  const keys = useMemo(() => {
    const items = there([...GENERAL, ...(slug === undefined ? [] : OF_SERVICE), ...OF_ORGANIZATION])
    const go = items.flatMap(({ key, to }) =>
      key ? [[`g ${key}`, () => void navigate({ to: to as '/services', params: (params) => params })] as const] : [],
    )
    return { ...Object.fromEntries(go), 'mod+k': () => show('palette'), '?': () => show('keys') }
  }, [navigate, slug, show])
  useKeys(keys)
}

function SchemeButton() {
  usePreferences()
  return (
    <button
      type="button"
      className="btn q s hide-s"
      aria-label={isDark() ? 'Light scheme' : 'Dark scheme'}
      onClick={() => prefer({ scheme: isDark() ? 'light' : 'dark' })}
    >
      <Icon name="scheme" />
    </button>
  )
}

function Person({ onKeys }: { onKeys(): void }) {
  const { user } = useRouteContext({ from: '__root__' }).session
  const { zone, scheme, letters } = usePreferences()
  const initials = (user.name ?? user.email).split(/[\s@.]+/, 2).map((word) => word[0] ?? '')
  const shown = initials.join('').toUpperCase()
  return (
    <Menu className="ava" label={shown} name={`${shown}: you, ${user.email}`}>
      <div className="who">
        <b>{user.name ?? user.email}</b>
        <span className="mut">{user.email}</span>
      </div>
      <button type="button" onClick={() => prefer({ scheme: isDark() ? 'light' : 'dark' })}>
        {isDark() ? 'Light scheme' : 'Dark scheme'}
      </button>
      {scheme !== 'auto' && (
        <button type="button" onClick={() => prefer({ scheme: 'auto' })}>
          Scheme of the system
        </button>
      )}
      <button type="button" onClick={() => prefer({ zone: zone === 'utc' ? 'local' : 'utc' })}>
        Times in {zone === 'utc' ? 'local time' : 'UTC'}
      </button>
      <button type="button" onClick={() => prefer({ letters: letters === 'on' ? 'off' : 'on' })}>
        Single letters as keys: {letters}
      </button>
      <button type="button" onClick={onKeys}>
        All keys
      </button>
      <a href="/sign-out">Sign out</a>
    </Menu>
  )
}

/** What was typed stays: she signs in elsewhere and goes on here. */
function SessionOver() {
  if (!useSessionOver()) return null
  return (
    <div className="note warn" role="alert">
      <Icon name="lock" />
      <div>
        <b>Your session is over</b>
        <p className="sm">
          Nothing on this page is lost.{' '}
          <a href="/sign-in" target="_blank" rel="noopener">
            Sign in in a new tab
          </a>{' '}
          and go on here, or{' '}
          <button type="button" className="link" onClick={signIn}>
            sign in here
          </button>
          .
        </p>
      </div>
    </div>
  )
}

function Logo() {
  return (
    <svg viewBox="0 0 20 20" aria-hidden="true">
      <rect x="1" y="1" width="8" height="8" rx="1.5" fill="var(--lamp-4)" />
      <rect x="11" y="1" width="8" height="8" rx="1.5" fill="none" stroke="var(--line-strong)" strokeWidth="1.5" />
      <rect x="1" y="11" width="8" height="8" rx="1.5" fill="none" stroke="var(--line-strong)" strokeWidth="1.5" />
      <rect x="11" y="11" width="8" height="8" rx="1.5" fill="var(--lamp-2)" />
    </svg>
  )
}
