"""The published contracts of a SessionStore, and what this store promises beyond them. $SESS_URL is a node."""

import asyncio
import unittest
import uuid

from sesslog.claude import SesslogSessionStore, _folder
from sesslog.client import Problem

KEY = {"project_key": "proj", "session_id": "sess"}
ONE = {**KEY, "subpath": "subagents/agent-1"}
TWO = {**KEY, "subpath": "subagents/agent-2"}


def entry(**members):
    return {"type": "x", **members}


def fold(summary, key, entries):
    """As opaque to the store as the SDK's."""
    data = dict(summary["data"]) if summary else {}
    for e in entries:
        data.update({k: e[k] for k in ("customTitle",) if k in e})
    return {"session_id": key["session_id"], "mtime": 0, "data": data}


def fresh():
    return SesslogSessionStore(prefix=f"p{uuid.uuid4()}-", fold=fold)


def ids(sessions):
    return sorted(s["session_id"] for s in sessions)


class Contracts(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.store = fresh()

    async def appended(self, *keys, **members):
        for key in keys:
            await self.store.append(key, [entry(**members)])

    async def test_01_load_returns_what_was_appended(self):
        entries = [entry(uuid="b", n=1), entry(uuid="a", n=2, deep={"list": [1, None, 0.5, "ä\n"]})]
        await self.store.append(KEY, entries)
        self.assertEqual(await self.store.load(KEY), entries)

    async def test_02_unknown_key_is_none(self):
        self.assertIsNone(await self.store.load(KEY))
        await self.appended(KEY, uuid="x")
        self.assertIsNone(await self.store.load({**KEY, "subpath": "nope"}))

    async def test_03_appends_keep_the_order_of_the_calls(self):
        batches = [[entry(uuid=u) for u in batch] for batch in ("z", "am", "b")]
        await asyncio.gather(*(self.store.append(KEY, b) for b in batches))
        self.assertEqual(await self.store.load(KEY), sum(batches, []))

    async def test_04_empty_append_stores_nothing(self):
        await self.store.append(KEY, [])
        self.assertIsNone(await self.store.load(KEY))
        await self.appended(KEY, uuid="a")
        await self.store.append(KEY, [])
        self.assertEqual(await self.store.load(KEY), [entry(uuid="a")])

    async def test_05_sub_agents_are_separate(self):
        await self.appended(KEY, uuid="m")
        await self.appended(ONE, uuid="s")
        self.assertEqual(await self.store.load(KEY), [entry(uuid="m")])
        self.assertEqual(await self.store.load(ONE), [entry(uuid="s")])

    async def test_06_projects_are_isolated(self):
        for p in "AB":
            await self.appended({"project_key": p, "session_id": "s1"}, project=p)
        for p in "AB":
            self.assertEqual(await self.store.load({"project_key": p, "session_id": "s1"}), [entry(project=p)])
            self.assertEqual(len(await self.store.list_sessions(p)), 1)

    async def test_07_lists_sessions_of_a_project(self):
        for p, s in (("proj", "a"), ("proj", "b"), ("other", "c")):
            await self.appended({"project_key": p, "session_id": s})
        sessions = await self.store.list_sessions("proj")
        self.assertEqual(ids(sessions), ["a", "b"])
        self.assertTrue(all(isinstance(s["mtime"], int) and s["mtime"] > 1e12 for s in sessions))
        self.assertEqual(await self.store.list_sessions("never"), [])

    async def test_08_list_leaves_sub_agents_out(self):
        await self.appended(KEY, ONE)
        self.assertEqual(ids(await self.store.list_sessions("proj")), ["sess"])

    async def test_09_deleted_session_is_not_loaded(self):
        await self.store.delete({**KEY, "session_id": "never"})
        await self.appended(KEY)
        await self.store.delete(KEY)
        self.assertIsNone(await self.store.load(KEY))

    async def test_10_delete_takes_sub_agents_and_no_other_session(self):
        others = ({**KEY, "session_id": "sess2"}, {**KEY, "project_key": "other"})
        await self.appended(KEY, ONE, TWO, *others)
        await self.store.delete(KEY)
        for key in (KEY, ONE, TWO):
            self.assertIsNone(await self.store.load(key))
        for key in others:
            self.assertEqual(len(await self.store.load(key)), 1)
        self.assertEqual(await self.store.list_subkeys(KEY), [])
        self.assertEqual(ids(await self.store.list_sessions("proj")), ["sess2"])

    async def test_11_delete_of_a_sub_agent_leaves_the_rest(self):
        await self.appended(KEY, ONE, TWO, uuid="u")
        await self.store.delete(ONE)
        self.assertIsNone(await self.store.load(ONE))
        self.assertEqual(len(await self.store.load(TWO)), 1)
        self.assertEqual(len(await self.store.load(KEY)), 1)
        self.assertEqual(await self.store.list_subkeys(KEY), ["subagents/agent-2"])

    async def test_12_lists_sub_agents(self):
        await self.appended(KEY, ONE, TWO, {**ONE, "session_id": "other-sess"})
        self.assertEqual(sorted(await self.store.list_subkeys(KEY)), ["subagents/agent-1", "subagents/agent-2"])

    async def test_13_sub_agents_leave_the_main_transcript_out(self):
        await self.appended(KEY)
        self.assertEqual(await self.store.list_subkeys(KEY), [])
        self.assertEqual(await self.store.list_subkeys({**KEY, "session_id": "never"}), [])

    async def test_14_summaries_follow_the_entries(self):
        for title in ("first", "second"):
            await self.appended(KEY, customTitle=title)
            summaries = await self.store.list_session_summaries("proj")
            self.assertEqual([s["data"] for s in summaries], [{"customTitle": title}])
        await self.appended({**KEY, "project_key": "other"})
        [summary] = await self.store.list_session_summaries("proj")
        self.assertEqual(summary["mtime"], (await self.store.list_sessions("proj"))[0]["mtime"])
        self.assertEqual(fold(summary, KEY, [entry()])["data"], {"customTitle": "second"})
        self.assertEqual(await self.store.list_session_summaries("never"), [])
        await self.store.delete(KEY)
        self.assertEqual(await self.store.list_session_summaries("proj"), [])


class Promises(unittest.IsolatedAsyncioTestCase):
    def line(self, name, parent, content):
        return {
            "type": "user", "uuid": name, "parentUuid": parent, "timestamp": "2026-01-02T03:04:05.678Z",
            "cwd": "/home/me/site", "message": {"role": "user", "content": content},
        }

    def session(self):
        return {"project_key": "-home-me-site", "session_id": str(uuid.uuid4())}

    async def test_known_uuid_is_stored_once(self):
        key, first = self.session(), self.line(str(uuid.uuid4()), None, "größer 😀")
        for store in (SesslogSessionStore(), SesslogSessionStore()):
            for _ in range(2):
                await store.append(key, [first])
                await store.append({**key, "subpath": "subagents/agent-1"}, [first])
        self.assertEqual(await store.load(key), [first])
        self.assertEqual(await store.load({**key, "subpath": "subagents/agent-1"}), [first])

    async def test_entries_without_uuid_are_stored_each_time(self):
        key = self.session()
        for _ in range(3):
            await SesslogSessionStore().append(key, [{"type": "mode", "mode": "normal"}] * 2)
        self.assertEqual(len(await SesslogSessionStore().load(key)), 6)

    async def test_entry_with_unknown_parent_is_stored(self):
        key, store = self.session(), SesslogSessionStore()
        entries = [self.line("a" + str(uuid.uuid4()), "gone", "after a gap")]
        entries.append(self.line("b" + str(uuid.uuid4()), entries[0]["uuid"], "and on"))
        await store.append(key, entries)
        self.assertEqual(await store.load(key), entries)

    async def test_other_project_does_not_see_a_session_by_its_id(self):
        key, store = self.session(), SesslogSessionStore()
        foreign = {**key, "project_key": "-home-you"}
        await store.append(key, [self.line(str(uuid.uuid4()), None, "mine")])
        self.assertIsNone(await store.load(foreign))
        await store.append(foreign, [entry(), entry()])
        self.assertEqual(len(await store.load(key)), 1)
        self.assertEqual(len(await store.load(foreign)), 2)

    async def test_deleted_sub_agent_can_be_appended_again(self):
        store = fresh()
        for _ in range(3):
            await store.append(ONE, [entry(uuid="u")])
            self.assertEqual(await store.load(ONE), [entry(uuid="u")])
            await store.delete(ONE)
            self.assertIsNone(await store.load(ONE))

    async def test_large_entries_of_sub_agents_are_kept(self):
        store, entries = fresh(), [entry(uuid="big", text="aä😀" * 100_000), entry(uuid="small", text="\ud800")]
        await store.append(ONE, entries)
        self.assertEqual(await store.load(ONE), entries)

    async def test_path_outside_is_refused(self):
        store = fresh()
        with self.assertRaises(Problem) as refused:
            await store.append({**KEY, "subpath": "../../x"}, [entry()])
        self.assertEqual(refused.exception.code, "invalid")
        self.assertEqual(await store.list_sessions("proj"), [])

    def test_answer_of_a_proxy_is_a_problem(self):
        for text in ("null", "[1]", "3", "<html>"):
            self.assertEqual((str(Problem(502, text)), Problem(502, text).code), (text, ""))

    def test_folder(self):
        self.assertEqual(_folder("/home/é😀/x y"), "-home-----x-y")
        self.assertEqual(_folder("/" + "a" * 300), "-" + "a" * 199 + "-" + "vtkmfl")


if __name__ == "__main__":
    unittest.main()
