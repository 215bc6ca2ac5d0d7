// One request and its answer. node:http and not fetch, which takes longer to load than a daemon to recall.

import { request as overHttp } from 'node:http'
import { request as overHttps } from 'node:https'

const BYTES_MAX = 4_000_000

/** Rejects when there is no answer within `ms`; a redirect is an answer, for it would carry the credential away. */
export function ask(method, url, { headers = {}, body, ms }) {
  const { promise, resolve, reject } = Promise.withResolvers?.() ?? deferred()
  const text = body === undefined ? undefined : JSON.stringify(body)
  const fields = Object.entries({
    accept: 'application/json',
    ...(text === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
    ...headers,
  }).filter(([, value]) => value !== undefined)
  const open = url.startsWith('https:') ? overHttps : overHttp
  const sent = open(url, { method, headers: Object.fromEntries(fields), agent: false }, (answer) => {
    const chunks = []
    let size = 0
    answer.on('data', (chunk) => {
      size += chunk.length
      if (size > BYTES_MAX) sent.destroy(new Error('the answer is too long'))
      else chunks.push(chunk)
    })
    answer.on('end', () => resolve({ status: answer.statusCode, body: jsonIn(Buffer.concat(chunks)) }))
    answer.on('error', reject)
  })
  const timer = setTimeout(() => sent.destroy(new Error(`no answer within ${Math.round(ms)} ms`)), ms)
  sent.on('error', reject)
  sent.on('close', () => clearTimeout(timer))
  sent.end(text)
  return promise
}

function deferred() {
  const made = {}
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }))
  return made
}

function jsonIn(bytes) {
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}
