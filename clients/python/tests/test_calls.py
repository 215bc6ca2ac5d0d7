"""What is sent, what is sent again, and what a refusal becomes: against somebody's server."""

from __future__ import annotations

import base64
import json
import time
import unittest
from typing import Any

from flavours import SERVICE, in_both, loci_of, refused, take
from somebodys_server import Act, SomebodysServer, refusal

from locihq import LociError
from locihq.calls import base_of

GET = "GET /v1/kv/entries/{key}"
PUT = "PUT /v1/kv/entries/{key}"
BATCH = "POST /v1/kv/entries/batch"
OPERATIONS = {"operations": [{"op": "delete", "key": "a"}]}
BUSY = refusal(503, "OVERLOADED", retryable=True, retryAfterMs=1)
TOKEN = "e30." + base64.urlsafe_b64encode(json.dumps({"svc": SERVICE}).encode()).decode().rstrip("=") + ".x"


async def daemon_of(loci: Any, database: str | None = None) -> Any:
    return await take(loci.service().daemon(database))


class Calls(unittest.TestCase):
    @in_both
    async def test_path_query_headers_and_body_arrive_as_they_were_given(self, flavour: str) -> None:
        with SomebodysServer(Act(body={"key": "a/b"})) as server:
            async with loci_of(flavour, url=f"{server.url}/cell/", token=TOKEN) as loci:
                daemon = await daemon_of(loci, "notes")
                await take(daemon.call("GET /v1/kv/entries", query={"prefix": "ä&b", "limit": 5, "cursor": None}))
                answer = await take(daemon.call(PUT, path={"key": "a/b ?#%"}, body={"value": None}))
            listed, put = server.seen
        self.assertEqual(listed.line, "GET /cell/v1/kv/entries?prefix=%C3%A4%26b&limit=5")
        self.assertEqual(put.line, "PUT /cell/v1/kv/entries/a%2Fb%20%3F%23%25")
        self.assertEqual((put.body, put.headers["content-type"]), ('{"value":null}', "application/json"))
        self.assertEqual((put.headers["x-loci-capability"], put.headers["x-loci-database"]), (TOKEN, "notes"))
        self.assertEqual((answer.status, answer.body["key"], answer.request_id), (200, "a/b", "req_header"))

    @in_both
    async def test_a_key_that_would_lead_to_another_route_is_not_sent(self, flavour: str) -> None:
        with SomebodysServer() as server:
            async with loci_of(flavour, url=server.url, token=TOKEN) as loci:
                daemon = await daemon_of(loci)
                for key in ("", ".", "..", "\ud800"):
                    error = await refused(lambda key=key: daemon.call(GET, path={"key": key}))
                    self.assertEqual((error.code, error.status), ("INVALID_REQUEST", 0), key)
            self.assertEqual(server.seen, [])

    @in_both
    async def test_a_refusal_is_an_error_with_all_that_the_server_said(self, flavour: str) -> None:
        management = {"code": "FORBIDDEN", "message": "m", "status": 403, "request_id": "req_2", "retry_after": 40}
        acts = [refusal(404, "NOT_FOUND", hint="h", details={"a": 1}), Act(403, {"error": management})]
        with SomebodysServer(*acts) as server:
            async with loci_of(flavour, url=server.url, token=TOKEN) as loci:
                daemon = await daemon_of(loci)
                one = await refused(lambda: daemon.call(GET, path={"key": "a"}))
                two = await refused(lambda: daemon.call(GET, path={"key": "a"}))
        self.assertEqual(
            (one.code, one.status, one.message, one.request_id, one.hint, one.details, one.attempts),
            ("NOT_FOUND", 404, "NOT_FOUND.", "req_1", "h", {"a": 1}, 1),
        )
        self.assertEqual((two.code, two.request_id, two.retry_after_ms), ("FORBIDDEN", "req_2", 40_000))

    @in_both
    async def test_a_page_of_something_in_between_is_an_error_of_its_own_and_asked_again(self, flavour: str) -> None:
        with SomebodysServer(Act(502, "<html>"), Act(418, "<html>")) as server:
            async with loci_of(flavour, url=server.url, token=TOKEN) as loci:
                daemon = await daemon_of(loci)
                error = await refused(lambda: daemon.call(GET, path={"key": "a"}))
        self.assertEqual((error.code, error.status, error.attempts), ("UNEXPECTED_ANSWER", 418, 2))

    # Mutant: a key for each attempt.
    @in_both
    async def test_a_post_keeps_one_key_over_a_lost_connection_and_a_busy_server(self, flavour: str) -> None:
        running = refusal(409, "IDEMPOTENCY_IN_PROGRESS", retryable=True)
        with SomebodysServer(Act(instead="drop"), BUSY, running, Act(body={"results": []})) as server:
            async with loci_of(flavour, url=server.url, token=TOKEN) as loci:
                daemon = await daemon_of(loci)
                await take(daemon.call(BATCH, body=OPERATIONS))
                await take(daemon.call(BATCH, body=OPERATIONS, idempotency_key="mine"))
            keys = [one.headers.get("idempotency-key") for one in server.seen]
        self.assertEqual(len(keys), 5)
        self.assertEqual(len(set(keys[:4])), 1)
        self.assertRegex(str(keys[0]), "^[0-9a-f]{32}$")
        self.assertEqual(keys[4], "mine")

    # Mutant: a key for every POST that honours one.
    @in_both
    async def test_a_key_is_sent_where_the_server_would_not_know_a_repeat_by_itself(self, flavour: str) -> None:
        body = {"results": [], "abstained": True, "nextCursor": None, "records": []}
        with SomebodysServer(Act(body=body)) as server:
            async with loci_of(flavour, url=server.url, token=TOKEN) as loci:
                ada = loci.service().user("ada")
                await take(ada.remember("a"))
                await take(ada.remember("b", source_event_id="evt-1"))
                await take(ada.remember("c", options={"attempts_max": 1}))
                await take(ada.remember("d", options={"attempts_max": 1, "idempotency_key": "mine"}))
                await take(ada.recall("e"))
                await take(ada.slots.put("f", 1, if_version=3, pinned=True))
            keys = [one.headers.get("idempotency-key") for one in server.seen]
            slot = server.seen[-1]
        self.assertRegex(str(keys[0]), "^[0-9a-f]{32}$")
        self.assertEqual(keys[1:], [None, None, "mine", None, None])
        self.assertEqual((slot.headers["if-match"], slot.body), ('"3"', '{"value":1,"pinned":true}'))

    # Mutant: status == 500 left out of may_repeat().
    @in_both
    async def test_an_unknown_outcome_is_repeated_with_its_key_one_on_a_version_is_not_a_bug_never_is(
        self, flavour: str
    ) -> None:
        unknown = refusal(500, "OUTCOME_UNKNOWN", retryable=True)
        for acts, given, expected in (
            ((unknown, Act()), {"name": BATCH, "body": OPERATIONS}, 2),
            ((Act(instead="drop"), Act()), {"name": PUT, "path": {"key": "a"}, "body": {"value": 1}}, 2),
            ((unknown, Act()), {"name": PUT, "headers": {"If-Match": '"3"'}, "path": {"key": "a"}, "body": {}}, 1),
            ((Act(instead="drop"), Act()), {"name": PUT, "headers": {"If-Match": "*"}, "path": {"key": "a"}}, 1),
            ((refusal(500, "INTERNAL_ERROR"), Act()), {"name": BATCH, "body": OPERATIONS}, 1),
            ((refusal(503, "SUBSERVICE_DISABLED"), Act()), {"name": GET, "path": {"key": "a"}}, 1),
            ((BUSY, Act()), {"name": "POST /admin/revocations", "body": {"jti": "a"}}, 1),
        ):
            with SomebodysServer(*acts) as server:
                async with loci_of(flavour, url=server.url, token=TOKEN) as loci:
                    daemon = await daemon_of(loci)
                    try:
                        await take(daemon.call(given.pop("name"), **given))
                    except LociError as error:
                        self.assertEqual(expected, 1, error)
                self.assertEqual(len(server.seen), expected, acts[0])

    @in_both
    async def test_retry_after_is_waited_for_and_beyond_the_deadline_the_refusal_comes_at_once(
        self, flavour: str
    ) -> None:
        soon = refusal(429, "RATE_LIMITED", {"retry-after": "1"})
        late = refusal(429, "RATE_LIMITED", {"retry-after": "31"})
        with SomebodysServer(soon, Act()) as patient, SomebodysServer(late) as server:
            async with loci_of(flavour, url=server.url, token=TOKEN) as loci:
                daemon = await daemon_of(loci)
                error = await refused(lambda: daemon.call(GET, path={"key": "a"}))
            self.assertEqual((error.retry_after_ms, len(server.seen)), (31_000, 1))
            asked = time.monotonic()
            async with loci_of(flavour, url=patient.url, token=TOKEN) as loci:
                await take((await daemon_of(loci)).call(GET, path={"key": "a"}))
            self.assertGreaterEqual(time.monotonic() - asked, 1)

    @in_both
    async def test_attempts_and_times_are_bounds(self, flavour: str) -> None:
        with SomebodysServer(BUSY) as server:
            async with loci_of(flavour, url=server.url, token=TOKEN, attempts_max=2) as loci:
                daemon = await daemon_of(loci)
                few = await refused(lambda: daemon.call(GET, path={"key": "a"}))
                self.assertEqual((few.code, few.attempts, len(server.seen)), ("OVERLOADED", 2, 2))
        for instead in ("hang", "trickle"):
            with SomebodysServer(Act(instead=instead, body={"long": "x" * 400})) as server:
                async with loci_of(flavour, url=server.url, token=TOKEN) as loci:
                    daemon = await daemon_of(loci)
                    error = await refused(
                        lambda daemon=daemon: daemon.call(GET, path={"key": "a"}, attempt_ms=300, attempts_max=1)
                    )
                    self.assertEqual(error.code, "TIMEOUT", instead)
        with SomebodysServer(Act(instead="hang"), Act()) as server:
            async with loci_of(flavour, url=server.url, token=TOKEN, attempt_ms=2_000) as loci:
                await take((await daemon_of(loci)).call(GET, path={"key": "a"}))
            self.assertEqual(len(server.seen), 2)

    @in_both
    async def test_a_moved_service_is_followed_once_with_the_credential_and_the_same_key(self, flavour: str) -> None:
        def moved(endpoint: object) -> Act:
            return refusal(421, "SERVICE_MOVED", details={"endpoint": endpoint})

        with SomebodysServer(Act(body={"results": []})) as now, SomebodysServer(moved(now.url)) as old:
            async with loci_of(flavour, url=old.url, token=TOKEN) as loci:
                await take((await daemon_of(loci)).call(BATCH, body=OPERATIONS))
            (first,), (second,) = old.seen, now.seen
            self.assertEqual(second.headers["x-loci-capability"], TOKEN)
            self.assertEqual(second.headers["idempotency-key"], first.headers["idempotency-key"])
            for endpoint in (old.url, "ftp://a/", "http://user:pass@127.0.0.1", 7, None):
                old.acts = [moved(endpoint)]
                async with loci_of(flavour, url=old.url, token=TOKEN) as loci:
                    daemon = await daemon_of(loci)
                    error = await refused(lambda daemon=daemon: daemon.call(GET, path={"key": "a"}))
                    self.assertEqual(error.code, "SERVICE_MOVED", endpoint)
            self.assertEqual(len(now.seen), 1)

    @in_both
    async def test_a_redirect_is_not_followed_for_the_credential_would_go_with_it(self, flavour: str) -> None:
        with SomebodysServer() as other:
            for status in (301, 302, 307, 308):
                with SomebodysServer(Act(status, "", {"location": other.url})) as server:
                    async with loci_of(flavour, url=server.url, token=TOKEN) as loci:
                        daemon = await daemon_of(loci)
                        error = await refused(lambda daemon=daemon: daemon.call(GET, path={"key": "a"}))
                    self.assertEqual((error.code, error.status, len(server.seen)), ("UNEXPECTED_ANSWER", status, 1))
            self.assertEqual(other.seen, [])

    @in_both
    async def test_a_credential_stands_in_no_url_and_in_no_error(self, flavour: str) -> None:
        for url in ("https://me:secret@loci.example", "https://loci.example?key=secret", "loci.example", "ftp://a"):
            with self.assertRaises(LociError) as caught:
                base_of(url)
            self.assertNotIn("secret", str(caught.exception))
        async with loci_of(flavour, url="http://127.0.0.1:1", api_key="loci_sk_se\ncret") as loci:
            error = await refused(lambda: loci.management.call("GET /health/live"))
        self.assertIn("x-api-key", error.message)
        self.assertNotIn("loci_sk", str(error))

    @in_both
    async def test_a_server_that_is_not_there_is_told_with_the_cause(self, flavour: str) -> None:
        with SomebodysServer() as server:
            gone = server.url
        async with loci_of(flavour, url=gone, token=TOKEN, attempts_max=1) as loci:
            daemon = await daemon_of(loci)
            error = await refused(lambda: daemon.call(GET, path={"key": "a"}))
            missing = await refused(lambda: daemon.call(GET, path={}))
        self.assertEqual((error.code, error.retryable), ("NETWORK_FAILURE", True))
        self.assertRegex(error.message, r"could not be reached, or went away before it had answered \(.+\)\.$")
        self.assertEqual(missing.code, "INVALID_REQUEST")


def described(endpoint: str) -> Act:
    service = {"id": SERVICE, "tenant_id": "ten_1", "slug": "a", "name": "A", "endpoint": endpoint, "status": "active"}
    return Act(body=service)


def minted(token: str) -> Act:
    return Act(201, {"token": token, "expires_in": 3_600})


class Capabilities(unittest.TestCase):
    @in_both
    async def test_one_capability_serves_many_users_and_the_key_goes_to_management_alone(self, flavour: str) -> None:
        page = Act(body={"entries": [], "nextCursor": None})
        with SomebodysServer(page) as daemon, SomebodysServer(described(daemon.url), minted("cap.one")) as management:
            async with loci_of(flavour, url=management.url, api_key="loci_sk_x") as loci:
                service = loci.service(SERVICE)
                for name in ("ada", "bob", "ada"):
                    await take(service.user(name).kv.list().all())
            self.assertEqual(
                [one.line for one in management.seen],
                [f"GET /api/v1/services/{SERVICE}", "POST /api/v1/tenants/ten_1/tokens"],
            )
            self.assertEqual([one.headers["x-loci-capability"] for one in daemon.seen], ["cap.one"] * 3)
            self.assertEqual([one.headers["x-loci-database"] for one in daemon.seen], ["ada", "bob", "ada"])
            self.assertTrue(all("x-api-key" not in one.headers for one in daemon.seen))

    # Mutant: renew() that answers False.
    @in_both
    async def test_a_capability_that_is_refused_is_minted_again_once_for_a_call(self, flavour: str) -> None:
        revoked = refusal(401, "CAPABILITY_REVOKED")
        tokens = [minted("cap.one"), minted("cap.two"), minted("cap.three")]
        with SomebodysServer(revoked, Act(body={"id": "mem_1"}), revoked) as daemon:
            with SomebodysServer(described(daemon.url), *tokens) as management:
                async with loci_of(flavour, url=management.url, api_key="loci_sk_x") as loci:
                    ada = loci.service(SERVICE).user("ada")
                    await take(ada.remember("Ada likes tea"))
                    error = await refused(lambda: ada.remember("Ada likes tea"))
            used = [one.headers["x-loci-capability"] for one in daemon.seen]
        self.assertEqual(used, ["cap.one", "cap.two", "cap.two", "cap.three"])
        self.assertEqual(error.code, "CAPABILITY_REVOKED")

    # Mutant: connect_operator() with the capability of the users' data.
    @in_both
    async def test_who_lists_and_forgets_users_has_a_right_of_its_own_and_no_users_database(self, flavour: str) -> None:
        listed = Act(body={"databases": [{"name": "ada"}], "nextCursor": None})
        with SomebodysServer(Act(), listed, Act(body={"deleted": True, "name": "ada"})) as daemon:
            tokens = [minted("cap.one"), minted("cap.operator")]
            with SomebodysServer(described(daemon.url), *tokens) as management:
                async with loci_of(flavour, url=management.url, api_key="loci_sk_x") as loci:
                    service = loci.service(SERVICE)
                    await take(service.user("ada").kv.put("a", 1))
                    await take(service.users().all())
                    await take(service.forget_user(service.user("ada")))
                bodies = [json.loads(one.body) for one in management.seen[1:]]
            lines = [
                (one.line, one.headers["x-loci-capability"], one.headers.get("x-loci-database")) for one in daemon.seen
            ]
        self.assertEqual(
            lines,
            [
                ("PUT /v1/kv/entries/a", "cap.one", "ada"),
                ("GET /v1/databases", "cap.operator", None),
                ("DELETE /v1/databases/ada", "cap.operator", None),
            ],
        )
        self.assertEqual([(one.get("ops"), one["ttl_seconds"]) for one in bodies], [(None, 3_600), (["operator"], 300)])

    @in_both
    async def test_a_service_is_found_by_slug_or_name_and_two_of_one_name_are_not_guessed_between(
        self, flavour: str
    ) -> None:
        def listed(*slugs: str) -> Act:
            services = [{"id": f"{SERVICE[:-1]}{at}", "slug": slug, "name": "N"} for at, slug in enumerate(slugs)]
            return Act(body={"services": services})

        for which, slugs, expected in (
            ("b", "ab", "1"),
            (None, "a", "0"),
            ("N", "ab", "2 services"),
            ("c", "ab", "No"),
        ):
            with SomebodysServer(listed(*slugs), Act(body={"id": "found"})) as server:
                async with loci_of(flavour, url=server.url, api_key="k") as loci:
                    try:
                        await take(loci.service(which).describe())
                        self.assertEqual(server.seen[1].line[-1], expected)
                    except LociError as error:
                        self.assertIn(expected, error.message)

    @in_both
    async def test_a_capability_opens_no_management_and_says_so(self, flavour: str) -> None:
        async with loci_of(flavour, url="http://127.0.0.1:1", token=TOKEN) as loci:
            self.assertEqual(loci.service().id, SERVICE)
            error = await refused(lambda: loci.services.list().all())
        self.assertIn("not management", error.message)


if __name__ == "__main__":
    unittest.main()
