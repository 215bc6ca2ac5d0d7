// The console begins: who is signed in, then the page that the address names. Nobody signed in is led to sign-in.

import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { createRoot } from 'react-dom/client'
import { queries } from './api/cache.ts'
import { readSession, signIn } from './api/session.ts'
import { NoAnswer } from './frame/not-here.tsx'
import './preferences.ts'
import { makeRouter } from './routes.tsx'
import './style/tokens.css'
import './style/fonts.css'
import './style/base.css'

// A file that this page wants is gone: there is a newer release, whose page knows the new names.
addEventListener('vite:preloadError', () => location.reload())

const root = createRoot(document.getElementById('root') as HTMLElement)

async function begin(): Promise<void> {
  const session = await readSession()
  if (!session) return signIn()
  const router = makeRouter({ session })
  root.render(
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
    </QueryClientProvider>,
  )
}

begin().catch(() => root.render(<NoAnswer onRetry={() => location.reload()} />))
