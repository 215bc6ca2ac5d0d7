// `npm run eval -- <name>`: how good recall and advice are, on recorded data. Each evaluation prints its own figures.

import { evaluateAdvice } from './advice/advice.ts'
import { evaluateDay } from './day/evaluate.ts'
import { evaluateFirstQuestions } from './first-questions/first-questions.ts'
import { evaluateFreshQuestions } from './fresh-questions/fresh-questions.ts'
import { evaluateRecall } from './recall/recall.ts'
import { refit } from './recall/refit.ts'

type Evaluation = { says: string; run: (args: string[]) => Promise<void> }

const EVALUATIONS: Readonly<Record<string, Evaluation>> = {
  advice: { says: "MetaTool and a world that drifts through the daemon's tool advice", run: evaluateAdvice },
  day: { says: 'a scripted day, days made from it and LoCoMo through the cognitive cycle', run: evaluateDay },
  'first-questions': { says: 'what a newcomer asks of 1 to 200 records, over HTTP', run: evaluateFirstQuestions },
  'fresh-questions': { says: 'questions that nothing was tuned on, beside plain cosine', run: evaluateFreshQuestions },
  recall: { says: "LoCoMo and our own questions through the daemon's recall", run: evaluateRecall },
  refit: { says: '--file <records and questions>: weights for your own data', run: refit },
}

const [name, ...args] = process.argv.slice(2)
const evaluation = name !== undefined && Object.hasOwn(EVALUATIONS, name) ? EVALUATIONS[name] : undefined

if (name === undefined) {
  console.log(`usage: npm run eval -- <name>\n${list()}`)
} else if (!evaluation) {
  console.error(`there is no evaluation '${name}'\n${list()}`)
  process.exitCode = 2
} else {
  await evaluation.run(args)
}

function list(): string {
  const lines = Object.entries(EVALUATIONS).map(([each, { says }]) => `  ${each.padEnd(16)} ${says}`)
  return lines.join('\n')
}
