import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { MEANING_DIGEST } from './digest.ts'
import { KINDS, kindsOf } from './kinds.ts'
import { akinOf, THESAURUS } from './thesaurus.ts'

const akin = (term: string) => akinOf(term).map(({ number, cosine }) => ({ term: THESAURUS.termAt(number), cosine }))
const kinds = (term: string) => [...kindsOf(term)].map((number) => KINDS.termAt(number))

// Mutants: search() that goes right where it should go left; ENTRY_LENGTH 2.
test('words that mean nearly the same are akin, both ways and by falling cosine', () => {
  const cosine = (one: string, other: string) => akin(one).find(({ term }) => term === other)?.cosine ?? 0
  for (const [one, other] of [
    ['bike', 'bicycl'],
    ['drink', 'tea'],
    ['wife', 'marri'],
    ['vegetarian', 'meat'],
  ] as const) {
    assert.ok(cosine(one, other) > 0.4, `${one} ${other}`)
    assert.equal(cosine(one, other), cosine(other, one))
  }
  assert.equal(cosine('bike', 'meat'), 0)
  for (const term of ['bike', 'aardvark', 'zoo']) {
    const cosines = akin(term).map((each) => each.cosine)
    assert.ok(cosines.length > 0, term)
    assert.deepEqual(
      cosines,
      cosines.toSorted((a, b) => b - a),
    )
    assert.ok(!akin(term).some((each) => each.term === term))
  }
  for (const term of ['', 'qqqq', '4411', '昨天', 'bicycle']) assert.deepEqual(akin(term), [], term)
})

// Mutant: listAsked() that lets a later kind of a term replace the one before ('musician').
test('what is a kind of the asked is known, the commonest first', () => {
  assert.ok(kinds('languag').includes('dutch'))
  assert.ok(kinds('drink').includes('tea'))
  assert.ok(kinds('sport').includes('tenni'))
  assert.ok(kinds('job').includes('nurs'))
  // Two lines ask with this word.
  assert.ok(kinds('musician').includes('violin') && kinds('musician').includes('guitarist'))
  assert.ok(kinds('citi').indexOf('london') < kinds('citi').indexOf('utrecht'))
  // A thing is no job, a person's name neither, a city no kind of city.
  for (const term of ['printer', 'david', 'william']) assert.ok(!kinds('job').includes(term), term)
  assert.ok(!kinds('citi').includes('citi'))
  assert.deepEqual(kinds('dutch'), [])
})

test('the digest is that of both files', () => {
  const hash = createHash('sha256')
  for (const file of ['thesaurus.bin', 'kinds.bin']) hash.update(readFileSync(path.join(import.meta.dirname, file)))
  assert.equal(MEANING_DIGEST, hash.digest('hex'))
})

// Mutant: readTable() that reads from the working directory.
test('a program finds the tables from any working directory', async () => {
  const module = new URL('digest.ts', import.meta.url).href
  const script = `import(${JSON.stringify(module)}).then(({ MEANING_DIGEST }) => console.log(MEANING_DIGEST))`
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', script], { cwd: tmpdir() })
  assert.equal(stdout.trim(), MEANING_DIGEST)
})
