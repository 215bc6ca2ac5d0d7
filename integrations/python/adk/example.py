import asyncio
from collections.abc import AsyncGenerator

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools.preload_memory_tool import PreloadMemoryTool
from google.genai import types
from locihq import AsyncLoci
from locihq_adk import LociMemoryService


class Echo(BaseLlm):  # your model: LlmAgent(model="gemini-…")
    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse]:
        known = "in Dutch" in str(llm_request.contents[:-1])
        text = "Graag gedaan!" if known else "Noted."
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=text)]))


async def main() -> None:
    async with AsyncLoci() as loci:
        memory, sessions = LociMemoryService(loci.service()), InMemorySessionService()
        agent = LlmAgent(name="helper", model=Echo(model="echo"), tools=[PreloadMemoryTool()])
        runner = Runner(app_name="desk", agent=agent, session_service=sessions, memory_service=memory)
        for said in ("I like replies in Dutch", "Which replies do I like?"):
            session = await sessions.create_session(app_name="desk", user_id="ada")
            message = types.Content(role="user", parts=[types.Part(text=said)])
            async for event in runner.run_async(user_id="ada", session_id=session.id, new_message=message):
                print(event.content.parts[0].text if event.content and event.content.parts else "")  # → Graag gedaan!
            ended = await sessions.get_session(app_name="desk", user_id="ada", session_id=session.id)
            if ended is not None:
                await memory.add_session_to_memory(ended)


asyncio.run(main())
