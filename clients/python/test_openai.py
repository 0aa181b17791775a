"""What a Session of the OpenAI Agents SDK promises. $SESS_URL is a node."""

import asyncio
import unittest
import uuid

from sesslog.openai import SesslogSession


def say(content):
    return {"role": "user", "content": content}


class Session(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.path = f"team/{uuid.uuid4()}"

    def session(self):
        return SesslogSession("conversation 1", path=self.path)

    async def test_new_session_has_no_items(self):
        s = self.session()
        self.assertEqual(s.session_id, "conversation 1")
        self.assertIsNone(await s.pop_item())
        await s.clear_session()
        await s.add_items([])
        self.assertEqual(await s.get_items(), [])

    async def test_error_names_a_node_that_does_not_answer(self):
        with self.assertRaisesRegex(ConnectionError, "^no answer from the node at http://127.0.0.1:1: .*refused\nhint: "):
            await SesslogSession("s", url="http://127.0.0.1:1").get_items()

    async def test_items_are_kept_for_every_client(self):
        items = [say("hi"), {"type": "function_call", "call_id": "c", "arguments": '{"a":1}', "extra": [None, 0.5, "ä😀"]}]
        await self.session().add_items(items)
        await self.session().add_items([say("more")])
        self.assertEqual(await self.session().get_items(), [*items, say("more")])

    async def test_limit_gives_the_last_items(self):
        s = self.session()
        await s.add_items([say(c) for c in "abc"])
        self.assertEqual(await s.get_items(2), [say("b"), say("c")])
        self.assertEqual(len(await s.get_items(9)), 3)
        self.assertEqual(await s.get_items(0), [])

    async def test_pop_removes_the_last_item_for_every_client(self):
        a, b = self.session(), self.session()
        await a.add_items([say("a"), say("b")])
        self.assertEqual(len(await b.get_items()), 2)
        self.assertEqual(await a.pop_item(), say("b"))
        self.assertEqual(await b.get_items(), [say("a")])

    async def test_concurrent_pops_get_different_items(self):
        await self.session().add_items([say(c) for c in "abcde"])
        popped = await asyncio.gather(*(self.session().pop_item() for _ in range(4)))
        self.assertEqual(sorted(i["content"] for i in popped), list("bcde"))
        self.assertEqual(await self.session().get_items(), [say("a")])

    async def test_cleared_session_can_be_continued(self):
        a, b = self.session(), self.session()
        await a.add_items([say("a")])
        await b.get_items()
        await a.clear_session()
        self.assertEqual(await b.get_items(), [])
        await b.add_items([say("b")])
        self.assertEqual(await a.get_items(), [say("b")])

    async def test_caller_may_change_the_items_that_it_got(self):
        s = self.session()
        await s.add_items([say("a")])
        (await s.get_items())[0]["content"] = "changed"
        self.assertEqual(await s.get_items(), [say("a")])

    async def test_item_cannot_take_others_back(self):
        with self.assertRaises(ValueError):
            await self.session().add_items([{"type": "sesslog.clear"}])


if __name__ == "__main__":
    unittest.main()
