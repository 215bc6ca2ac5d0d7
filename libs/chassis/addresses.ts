// Who is at the other end. The socket's peer is a fact; a forwarding header is a claim, believed only from a trusted
// proxy.

import { BlockList, isIP } from 'node:net'

export interface AddressSet {
  has(address: string): boolean
  readonly size: number
}

/** CIDRs or single addresses. Throws with the entry that is wrong. */
export function addressSet(entries: string[]): AddressSet {
  const list = new BlockList()
  for (const entry of entries) {
    const [address, bits, more] = entry.split('/') as [string, string?, string?]
    const family = isIP(address)
    const width = family === 6 ? 128 : 32
    if (
      family === 0 ||
      more !== undefined ||
      (bits !== undefined && !(/^\d{1,3}$/.test(bits) && Number(bits) <= width))
    ) {
      throw new Error(`'${entry}' is not an address or a CIDR such as 10.0.0.0/8`)
    }
    list.addSubnet(address, bits === undefined ? width : Number(bits), family === 6 ? 'ipv6' : 'ipv4')
  }
  return {
    size: entries.length,
    has(address) {
      const plain = unmapped(address)
      const family = isIP(plain)
      return family !== 0 && list.check(plain, family === 6 ? 'ipv6' : 'ipv4')
    },
  }
}

/** Whom an address stands for: itself, or the /64 that an IPv6 host has to choose its addresses from. */
export function networkOf(address: string): string {
  const plain = unmapped(address)
  if (isIP(plain) !== 6) return plain
  const [head = '', tail] = plain.split('%', 1)[0]?.split('::') ?? []
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - left.length - right.length - (plain.includes('.') ? 1 : 0))
  const groups = [...left, ...Array<string>(zeros).fill('0'), ...right]
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`
}

/** A set that trusts everyone trusts nobody: the leftmost X-Forwarded-For is whatever the attacker wrote. */
export function coversEveryone(entries: string[]): boolean {
  const isWord = (entry: string) => entry === 'true' || entry === '*' || entry === '0.0.0.0' || entry === '::'
  if (entries.some(isWord)) return true
  // Asked of the set and not of how it is written: two halves, or ::ffff:0:0/96, are everyone too.
  const set = addressSet(entries)
  return OPPOSITE_ENDS.some((ends) => ends.every((address) => set.has(address)))
}

const OPPOSITE_ENDS = [
  ['1.1.1.1', '223.255.255.1'],
  ['2001:4860::1', '2a0f::1'],
]

type Headers = Record<string, string | string[] | undefined>

const FORWARDING = [
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-proto',
  'x-forwarded-server',
  'x-real-ip',
  'via',
]

export function hasForwardingHeader(headers: Headers): boolean {
  return (
    FORWARDING.some((name) => headers[name] !== undefined) ||
    Object.keys(headers).some((name) => name.startsWith('x-forwarded-'))
  )
}

/**
 * The client's address: the socket peer, or, when the peer is a trusted proxy, the first address of X-Forwarded-For
 * from the right that is not one itself. `undefined` when the peer is trusted and the header is missing or malformed.
 */
export function clientAddress(peer: string, headers: Headers, trusted: AddressSet): string | undefined {
  const address = unmapped(peer)
  if (!trusted.has(address)) return address
  const chain = String(headers['x-forwarded-for'] ?? '')
    .split(',')
    .map((part) => part.trim())
  if (chain.some((part) => isIP(part) === 0)) return undefined
  for (const hop of chain.toReversed()) if (!trusted.has(hop)) return unmapped(hop)
  return unmapped(chain[0] as string)
}

/** Did it arrive by TLS: on our own listener, or by the word of a trusted proxy. */
export function arrivedByTls(
  socket: { encrypted?: boolean; remoteAddress?: string | undefined },
  headers: Headers,
  trusted: AddressSet,
): boolean {
  if (socket.encrypted === true) return true
  return headers['x-forwarded-proto'] === 'https' && trusted.has(socket.remoteAddress ?? '')
}

export function isLoopback(host: string): boolean {
  return LOOPBACK.has(host.replace(/^\[|\]$/g, '')) || host === 'localhost'
}

const LOOPBACK = addressSet(['127.0.0.0/8', '::1'])

/** Dual-stack sockets report IPv4 peers as ::ffff:127.0.0.1. */
function unmapped(address: string): string {
  return /^::ffff:\d+\.\d+\.\d+\.\d+$/i.test(address) ? address.slice(7) : address
}
