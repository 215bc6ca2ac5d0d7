import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseJson } from './json.ts'

const parse = (text: string) => parseJson(Buffer.from(text))

function refuses(bytes: Uint8Array, message: RegExp): void {
  assert.throws(
    () => parseJson(bytes),
    (error: Error & { code?: string }) => error.code === 'VALIDATION_ERROR' && message.test(error.message),
  )
}

const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)

test('what JSON says is what comes out', () => {
  for (const value of [null, true, 0, -1.5, 'ä💥\u2028', [], {}, { a: [{ b: null }], '': 1, prototype: 1 }])
    assert.deepEqual(parse(JSON.stringify(value)), value)
  assert.deepEqual(parse(' [1, 2] \n'), [1, 2])
})

test('what is no JSON is refused', () => {
  for (const text of ['', ' ', '{', '{"a":1,}', "{'a':1}", 'undefined', 'NaN', '1 2', '\ufeff{}', '[1}'])
    refuses(Buffer.from(text), /not valid JSON/)
})

test('what is no UTF-8 is refused', () => {
  refuses(Buffer.from([0x22, 0xff, 0x22]), /not valid UTF-8/)
  refuses(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), /not valid UTF-8/)
  refuses(Buffer.from('"x"', 'utf16le'), /NUL|not valid/)
})

test('32 levels are read and 33 are not, half a million at the price of one pass', () => {
  parse(nested(32))
  parse(`{"a":${nested(31)}}`)
  refuses(Buffer.from(nested(33)), /deeper than 32/)
  refuses(Buffer.from('{"a":'.repeat(33)), /deeper than 32/)
  refuses(Buffer.from('['.repeat(500_000)), /deeper than 32/)
})

test('brackets inside strings are no levels, whatever is escaped there', () => {
  const text = `${'['.repeat(50)}"\\${'{'.repeat(50)}`
  assert.equal(parse(JSON.stringify(text)), text)
  assert.deepEqual(parse('["\\\\", "[[["]'), ['\\', '[[['])
})

// Mutants of endOfString(): `% 2 === 0` turned round; a quote that is escaped taken for the end.
test('where a string ends is found behind any text and any number of backslashes', () => {
  for (let length = 0; length < 80; length += 1)
    for (let backslashes = 0; backslashes < 6; backslashes += 1) {
      const value = [`${'a'.repeat(length)}${'\\'.repeat(backslashes)}"${'['.repeat(40)}`, '\\'.repeat(length), []]
      assert.deepEqual(parse(JSON.stringify(value)), value)
    }
  // A quote that is taken for escaped would hide what comes behind it.
  for (const text of ['a', '\\'.repeat(40), `${'b'.repeat(40)}\\`])
    refuses(Buffer.from(`[${JSON.stringify(text)},${nested(32)}]`), /deeper than 32/)
})

test('keys that reach into prototypes are refused at any depth, escaped ones too', () => {
  for (const text of ['{"__proto__":1}', '{"a":[{"__proto__":{}}]}', '{"constructor":1}', '{"\\u005f_proto__":1}'])
    refuses(Buffer.from(text), /may not be called/)
  assert.equal(parse('"__proto__"'), '__proto__')
  assert.equal(Object.getPrototypeOf({}).polluted, undefined)
})

test('NUL, lone surrogates and numbers beyond a double are refused in ignored fields too', () => {
  for (const text of ['"\\u0000"', '{"a\\u0000":1}', '{"a":["x\\u0000y"]}']) refuses(Buffer.from(text), /NUL/)
  for (const text of ['"\\ud800"', '"\\udc00x"', '{"\\ud83d":1}']) refuses(Buffer.from(text), /surrogate/)
  for (const text of ['1e999', '[-1e999]', '{"a":{"b":1e400}}']) refuses(Buffer.from(text), /range of a double/)
  assert.equal(parse('"\\ud83d\\udca5"'), '💥')
})

// Mutant: MEMBERS_MAX = Infinity. Such bodies took 110 to 130 ms of processor time each.
test('more than 20,000 members and elements are 413, before they are parsed', () => {
  const refused = { code: 'PAYLOAD_TOO_LARGE', status: 413 }
  const list = (count: number) => `[${Array(count).fill('0').join(',')}]`
  assert.equal((parse(list(20_000)) as unknown[]).length, 20_000)
  const members = Array.from({ length: 20_001 }, (_, n) => `"k${n}":0`).join(',')
  for (const text of [list(20_001), `{${members}}`, `[${Array(10_001).fill('[]').join(',')}]`, ',,'.repeat(20_000)])
    assert.throws(() => parse(text), refused, text.slice(0, 20))
  assert.equal(parse(JSON.stringify(','.repeat(100_000))), ','.repeat(100_000), 'inside a text they are text')
})
