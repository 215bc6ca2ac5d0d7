import json

import httpx2
from anthropic import Anthropic
from locihq import Loci
from locihq_anthropic import LociMemoryTool

asked = {"command": "create", "path": "/memories/replies.md", "file_text": "Ada prefers replies in Dutch\n"}
use = {"type": "tool_use", "id": "toolu_1", "name": "memory", "input": asked}


def claude(request: httpx2.Request) -> httpx2.Response:  # without this, and with your key: Claude
    told = "tool_result" in request.content.decode()
    content = [{"type": "text", "text": "Noted."}] if told else [use]
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude", "content": content}
    stop = "end_turn" if told else "tool_use"
    return httpx2.Response(200, json={**message, "stop_reason": stop, "stop_sequence": None, "usage": usage})


client = Anthropic(api_key="none", http_client=httpx2.Client(transport=httpx2.MockTransport(claude)))
with Loci() as loci:
    ada = loci.service().user("ada")
    runner = client.beta.messages.tool_runner(
        model="claude-sonnet-5-5",
        max_tokens=1024,
        messages=[{"role": "user", "content": "I like replies in Dutch. Remember that."}],
        tools=[LociMemoryTool(ada)],
    )
    print(runner.until_done().content[0].model_dump()["text"])  # → Noted.
    kept = ada.kv.get("files/memories/replies.md")
    print(json.dumps(kept and kept["value"]))  # → "Ada prefers replies in Dutch\n"
