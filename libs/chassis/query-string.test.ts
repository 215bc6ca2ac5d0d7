import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseQuery } from './query-string.ts'

const parse = (text: string) => ({ ...parseQuery(text) })

test('names and values are decoded as forms are', () => {
  assert.deepEqual(parse(''), {})
  assert.deepEqual(parse('a=1&b=x%20y+z&c=%C3%A4&d=a=b&e&f='), {
    a: '1',
    b: 'x y z',
    c: 'ä',
    d: 'a=b',
    e: '',
    f: '',
  })
  assert.deepEqual(parse('&a=1&&'), { a: '1' })
})

test('a parameter given twice is refused, however its name is written', () => {
  for (const text of ['a=1&a=1', 'a=1&%61=2', 'a&a'])
    assert.throws(() => parseQuery(text), { code: 'VALIDATION_ERROR', message: /parameter 'a' twice/ }, text)
})

test('what is not percent-encoded UTF-8, or has a NUL, is refused', () => {
  for (const text of ['a=%', 'a=%zz', '%=1', 'a=%ff', 'a=%ed%a0%80', 'a=%c3'])
    assert.throws(() => parseQuery(text), { code: 'VALIDATION_ERROR' }, text)
  for (const text of ['a=%00', '%00=1']) assert.throws(() => parseQuery(text), { message: /NUL/ }, text)
})

test('a parameter named like a property of objects is only a parameter', () => {
  const found = parseQuery('__proto__=1&constructor=2&toString=3')
  assert.deepEqual(Object.keys(found), ['__proto__', 'constructor', 'toString'])
  assert.equal(Object.getPrototypeOf(found), null)
})
