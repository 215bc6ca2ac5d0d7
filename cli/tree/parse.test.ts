import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CommandFailure } from '../failure.ts'
import type { Command } from './command.ts'
import { parse, requireArguments } from './parse.ts'

const run = async () => ({ data: null })
const STORE: Command = {
  path: 'memory store',
  summary: 'store',
  arguments: [{ name: 'text' }],
  options: [
    { name: 'tag', value: 'tag', many: true, summary: 'a tag' },
    { name: 'kind', value: 'kind', summary: 'what it is', choices: ['fact', 'event'] },
    { name: 'detach', short: 'd', summary: 'in the background' },
  ],
  run,
}
const COMMANDS: Command[] = [STORE, { path: 'up', summary: 'start', run }, { path: 'up code', summary: 'a code', run }]

const parsed = (...argv: string[]) => {
  const { command, arguments: words, values } = parse(COMMANDS, argv)
  return [command?.path, words, Object.fromEntries(values)]
}

function refusal(...argv: string[]): string {
  try {
    const { command, arguments: words } = parse(COMMANDS, argv)
    requireArguments(command as Command, words)
  } catch (error) {
    assert.ok(error instanceof CommandFailure)
    assert.equal(error.exit, 2)
    return `${error.message} ${error.fields.hint ?? ''}`
  }
  return 'taken'
}

test('options stand before and behind the words of a command, with = or a space, and -- ends them', () => {
  assert.deepEqual(parsed('--json', 'memory', 'store', 'tea', '--tag', 'a', '--tag=b', '-d'), [
    'memory store',
    ['tea'],
    { json: ['true'], tag: ['a', 'b'], detach: ['true'] },
  ])
  assert.deepEqual(parsed('memory', 'store', '--', '--tag'), ['memory store', ['--tag'], {}])
  assert.deepEqual(parsed('up', 'code'), ['up code', [], {}])
  assert.deepEqual(parsed('up'), ['up', [], {}])
})

// Mutant: nearest() answers undefined.
test('a misspelt command, option or value is refused with what was probably meant', () => {
  assert.match(refusal('memroy', 'store', 'x'), /Did you mean: loci memory/)
  assert.match(refusal('memory', 'stroe', 'x'), /Did you mean: loci memory store/)
  assert.match(refusal('memory', 'store', 'x', '--tga', 'a'), /Did you mean --tag/)
  assert.match(refusal('memory', 'store', 'x', '--kind', 'fakt'), /one of fact, event/)
  assert.match(refusal('memory', 'store'), /<text> is missing/)
  assert.match(refusal('memory', 'store', 'two', 'words'), /in quotes/)
  assert.match(refusal('memory', 'store', 'x', '--kind', 'fact', '--kind', 'event'), /twice/)
  assert.match(refusal('memory', 'store', 'x', '--tag'), /needs a value/)
  assert.match(refusal('zzz'), /is no command/)
  assert.equal(refusal('memory', 'store', 'x', '--kind', 'fact'), 'taken')
})
