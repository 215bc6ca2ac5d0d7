// Slugs are made from names: ascii-folded, and never empty.

import { randomInt } from 'node:crypto'

const BASE_LENGTH_MAX = 56
const LETTERS = 'abcdefghijkmnpqrstuvwxyz23456789'

export function slugOf(name: string, fallback: string): string {
  const folded = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[\u0300-\u036f]/g, '')
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, BASE_LENGTH_MAX)
    .replace(/^-+|-+$/g, '')
  const suffix = Array.from({ length: 6 }, () => LETTERS[randomInt(LETTERS.length)]).join('')
  return `${folded || fallback}-${suffix}`
}
