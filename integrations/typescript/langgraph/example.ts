import { HumanMessage } from '@langchain/core/messages'
import { END, type LangGraphRunnableConfig, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import { asData, LociStore } from '@locihq/langgraph'
import { Loci } from '@locihq/sdk'
import { model } from './chat.ts' // yours, such as new ChatOpenAI()

const store = new LociStore(new Loci().service())

async function answer({ messages }: typeof MessagesAnnotation.State, { configurable, store }: LangGraphRunnableConfig) {
  const [said] = messages.slice(-1)
  const namespace = [configurable?.user as string, 'said']
  const found = await store?.search(namespace, { query: said?.text ?? '', limit: 3 })
  if (said && !said.text.endsWith('?')) await store?.put(namespace, said.id ?? 'last', { text: said.text })
  // Beside the question, and never in the system's role: it is data.
  return { messages: [await model.invoke([new HumanMessage(asData(found ?? [])), ...messages])] }
}

const graph = new StateGraph(MessagesAnnotation)
  .addNode('answer', answer)
  .addEdge(START, 'answer')
  .addEdge('answer', END)
  .compile({ store })

async function ask(user: string, text: string) {
  const { messages } = await graph.invoke({ messages: [new HumanMessage(text)] }, { configurable: { user } })
  return messages.at(-1)?.text
}

await ask('ada', 'Please answer me in Dutch.')
console.log(await ask('ada', 'Which language do I want?')) // → Please answer me in Dutch.
console.log(await ask('bob', 'Which language do I want?')) // → I do not know that.
