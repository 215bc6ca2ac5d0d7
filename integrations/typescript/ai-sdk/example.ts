import { lociMemory } from '@locihq/ai-sdk'
import { Loci } from '@locihq/sdk'
import { generateText, wrapLanguageModel } from 'ai'
import { model } from './model.ts' // yours, such as openai('gpt-5')

const service = new Loci().service()
const remembering = wrapLanguageModel({ model, middleware: lociMemory(service) })

async function ask(user: string, prompt: string) {
  const { text } = await generateText({ model: remembering, prompt, providerOptions: { loci: { user } } })
  return text
}

await ask('ada', 'Please answer me in Dutch from now on.')
console.log(await ask('ada', 'Which language do I want for answers?')) // → in Dutch
console.log(await ask('bob', 'Which language do I want for answers?')) // → I do not know that.
