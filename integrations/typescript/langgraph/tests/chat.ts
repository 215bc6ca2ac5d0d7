// A fake chat model of LangChain, that says what it was told is remembered; and what it was shown.

import type { BaseMessage } from '@langchain/core/messages'
import { FakeListChatModel } from '@langchain/core/utils/testing'

export const shown: BaseMessage[][] = []

class LastMemory extends FakeListChatModel {
  override async _generate(...[messages, ...rest]: Parameters<FakeListChatModel['_generate']>) {
    shown.push(messages)
    const text = messages.map(({ content }) => String(content)).join('\n')
    const [, told = '[]'] = /<memories>(.*?)<\/memories>/s.exec(text) ?? []
    const [best] = JSON.parse(told) as { value: { text: string } }[]
    this.responses = [best?.value.text ?? 'I do not know that.']
    this.i = 0
    return super._generate(messages, ...rest)
  }
}

export const model: FakeListChatModel = new LastMemory({ responses: [''] })
