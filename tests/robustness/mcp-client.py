# Lists and calls every tool of /mcp with the official client in Python. One argument, JSON: the address (`url`), how to
# negotiate (`mode`: legacy, auto), the `headers` of each request, the `arguments` of each tool, and for a client without
# a credential its `oauth`: `client_id` and `redirect_uri`. Such a client prints {"open": address} for the person's
# browser, and reads what the browser was led back with, as a line of JSON. When all tools were called its access token
# counts as expired, so the tools are listed once more after a refresh. The last line is
# {"listed", "failed", "recalled", "tokens"}.

import asyncio
import json
import sys
import time

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata

given = json.loads(sys.argv[1])
asked = given.get("oauth")
tokens = []


class Kept:
    """What a client keeps: who it is, and its tokens."""

    async def get_tokens(self):
        return None

    async def set_tokens(self, token):
        tokens.append({"access_token": token.access_token, "refresh_token": token.refresh_token})

    async def get_client_info(self):
        return OAuthClientInformationFull(client_id=asked["client_id"], redirect_uris=[asked["redirect_uri"]])

    async def set_client_info(self, client_info):
        raise RuntimeError("a registered client does not register itself")


async def lead(url: str) -> None:
    print(json.dumps({"open": url}), flush=True)


async def led_back() -> AuthorizationCodeResult:
    line = await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    return AuthorizationCodeResult(**json.loads(line))


def auth() -> OAuthClientProvider | None:
    if asked is None:
        return None
    metadata = OAuthClientMetadata(redirect_uris=[asked["redirect_uri"]], token_endpoint_auth_method="none")
    return OAuthClientProvider(given["url"], metadata, Kept(), lead, led_back)


async def main() -> None:
    provider = auth()
    async with httpx2.AsyncClient(headers=given["headers"], timeout=60, auth=provider) as http:
        async with Client(streamable_http_client(given["url"], http_client=http), mode=given["mode"]) as client:
            listed = [tool.name for tool in (await client.list_tools()).tools]
            failed, texts = [], {}
            for name, values in given["arguments"].items():
                if name not in listed:
                    continue
                if name == "forget":
                    values = {**values, "id": json.loads(texts["remember"])["id"]}
                result = await client.call_tool(name, values)
                texts[name] = result.content[0].text
                if result.is_error:
                    failed.append(f"{name}: {texts[name]}")
            if provider is not None:
                provider.context.token_expiry_time = time.time() - 1
                await client.list_tools()
            told = {"listed": sorted(listed), "failed": failed, "recalled": texts.get("recall", ""), "tokens": tokens}
            print(json.dumps(told))


asyncio.run(main())
