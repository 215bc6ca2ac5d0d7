import asyncio
import uuid
from collections.abc import Sequence
from typing import Any

from agent_framework import Agent, BaseChatClient, ChatResponse, Message
from locihq import AsyncLoci, AsyncUser
from locihq_agent_framework import LociContextProvider, LociHistoryProvider


class Echo(BaseChatClient[Any]):  # your model: OpenAIChatClient(), …
    def _inner_get_response(self, *, messages: Sequence[Message], **_: Any) -> Any:
        async def answer() -> ChatResponse:
            return ChatResponse(messages=[Message("assistant", [messages[0].text])])

        return answer()


async def main() -> None:
    async with AsyncLoci() as loci:
        service = loci.service()

        def user_of(session_id: str) -> AsyncUser:
            return service.user(session_id.split("--", maxsplit=1)[0])

        providers = [LociHistoryProvider(user_of), LociContextProvider(user_of)]
        agent = Agent(Echo(), instructions="Be brief.", context_providers=providers)

        await service.user("ada").remember("Ada prefers replies in Dutch")
        session = agent.create_session(session_id=f"ada--{uuid.uuid4()}")
        print(await agent.run("Which language does Ada prefer?", session=session))  # → Ada prefers replies in Dutch


asyncio.run(main())
