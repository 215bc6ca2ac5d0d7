# Lists and calls every tool of /mcp with the official client in Python. Arguments: the address, the capability, the
# database, how to negotiate (legacy, auto). Prints one line of JSON: {"version", "listed", "failed", "recalled"}.

import asyncio
import json
import sys

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

url, capability, database, mode = sys.argv[1:5]
arguments = json.loads(sys.argv[5])


async def main() -> None:
    headers = {"x-loci-capability": capability, "x-loci-database": database}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
            listed = [tool.name for tool in (await client.list_tools()).tools]
            failed, texts = [], {}
            for name, given in arguments.items():
                if name not in listed:
                    continue
                if name == "forget":
                    given = {**given, "id": json.loads(texts["remember"])["id"]}
                result = await client.call_tool(name, given)
                texts[name] = result.content[0].text
                if result.is_error:
                    failed.append(f"{name}: {texts[name]}")
            print(json.dumps({"listed": sorted(listed), "failed": failed, "recalled": texts.get("recall", "")}))


asyncio.run(main())
