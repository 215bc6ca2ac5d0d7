// Prompts that a person picks in a client. They hold no memory themselves: they tell the model which tools to use.

import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'

interface Prompt {
  title: string
  description: string
  /** Optional, and what it is. */
  argument: { name: string; description: string }
  text(given: string | undefined): string
}

const ARGUMENT_MAX = 2_000

const PROMPTS: Record<string, Prompt> = {
  'resume-task': {
    title: 'Resume a task',
    description: 'Take up earlier work where it was left.',
    argument: { name: 'task', description: 'Which one, in a few words.' },
    text: (task) =>
      `Resume ${task ? `this task: ${task}` : 'the task that is in working memory'}. First call working_memory. Then call recall for the task, for decisions made about it and for what is open. Say in a few sentences where things stand and what you take from memory, then call focus with the goal and go on. Where memory has nothing, say so and ask.`,
  },
  'handoff-summary': {
    title: 'Hand over',
    description: 'Keep what the next session or agent must know.',
    argument: { name: 'for', description: 'Who goes on, and with what.' },
    text: (whom) =>
      `Hand this work over${whom ? ` to: ${whom}` : ''}. Call remember once for each decision, result and open question, one whole sentence with names and dates, with replaces for what has changed. Then call run_cycle with what happened as observations. Close with a summary of ten lines at most: goal, state, decisions, open questions, next step.`,
  },
}

export function listPrompts() {
  return Object.entries(PROMPTS).map(([name, { title, description, argument }]) => ({
    ...{ name, title, description, arguments: [{ ...argument, required: false }] },
  }))
}

export function getPrompt(name: string, given: Record<string, string> = {}) {
  const prompt = Object.hasOwn(PROMPTS, name) ? PROMPTS[name] : undefined
  if (!prompt) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no prompt ${name}.`)
  const { argument, description } = prompt
  const unknown = Object.keys(given).find((one) => one !== argument.name)
  const value = given[argument.name]
  if (unknown !== undefined || (value?.length ?? 0) > ARGUMENT_MAX)
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `The prompt ${name} takes \`${argument.name}\` alone, of at most ${ARGUMENT_MAX} characters.`,
    )
  const text = prompt.text(value === '' ? undefined : value)
  return { description, messages: [{ role: 'user' as const, content: { type: 'text' as const, text } }] }
}
