import { type Example, rule } from './testing/rule.ts'
import { checkWords } from './words.ts'

const words: Example[] = [
  ['a retired name', { 'daemon/a.ts': '\ninterface Life {}' }, /daemon\/a\.ts:2: 'Life' is a retired word/],
  ['a retired name in a test', { 'tests/a.ts': 'await lookAt(1)' }, /write reconcileService/],
  ['the word in a sentence', { 'daemon/a.ts': "// Life goes on.\nconst a = 'Turn'" }, undefined],
  ['a longer name', { 'daemon/a.ts': 'const LifeBoat = lookAtAll' }, undefined],
]
rule('words', words, (_, sources) => checkWords(sources))
