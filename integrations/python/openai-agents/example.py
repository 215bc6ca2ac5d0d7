import asyncio
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, Model, ModelResponse, Runner, Usage
from agents.items import TResponseInputItem, TResponseStreamEvent
from locihq import AsyncLoci
from locihq_openai_agents import LociSession
from openai.types.responses import ResponseOutputMessage, ResponseOutputText


class Counting(Model):  # your model: Agent(model="gpt-…")
    async def get_response(
        self, system_instructions: str | None, input: str | list[TResponseInputItem], *given: Any, **more: Any
    ) -> ModelResponse:
        text = ResponseOutputText(text=f"I know {len(input)} items.", type="output_text", annotations=[])
        said = ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *given: Any, **more: Any) -> AsyncIterator[TResponseStreamEvent]:
        raise NotImplementedError


async def main() -> None:
    async with AsyncLoci() as loci:
        session = LociSession("chat-1", loci.service().user("ada"))
        agent = Agent(name="helper", model=Counting())
        for question in ("I like replies in Dutch", "Which replies do I like?"):
            result = await Runner.run(agent, question, session=session)
            print(result.final_output)  # → I know 3 items.
        print(len(await session.get_items()))  # → 4


asyncio.run(main())
