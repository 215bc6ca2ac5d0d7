// A browser, as far as signing in needs one: it keeps cookies, follows where it is led, and fills in one form.

interface Landed {
  status: number
  /** Where it ended. */
  url: string
  text: string
  cookie: string
}

/** From management's own link to the session, with the code in the form of the issuer. */
export async function signInWith(managementUrl: string, code: string): Promise<Landed> {
  const jar = new Map<string, string>()
  const begun = await follow(`${managementUrl}/sign-in/start`, jar)
  const request = /name="request" value="([^"]+)"/.exec(begun.text)?.[1] ?? ''
  const form = new URLSearchParams({ request, code })
  return follow(new URL('/authorize', begun.url).href, jar, form)
}

async function follow(from: string, jar: Map<string, string>, form?: URLSearchParams): Promise<Landed> {
  let url = from
  let body = form
  for (;;) {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const answer = await fetch(url, {
      redirect: 'manual',
      headers: { accept: 'text/html', ...(cookie ? { cookie } : {}) },
      ...(body ? { method: 'POST', body } : {}),
    })
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (/max-age=0/i.test(line)) jar.delete(name)
      else jar.set(name, value)
    }
    const to = answer.headers.get('location')
    if (!to) return { status: answer.status, url, text: await answer.text(), cookie }
    await answer.arrayBuffer()
    url = new URL(to, url).href
    body = undefined
  }
}
