"""The published contract of a checkpointer of LangGraph, and what this one promises beyond it. $SESS_URL is a node.

LangGraph itself is not needed: a serializer stands for its own. With SHARED=PATH, the threads that the test of the
TypeScript client left below PATH are read, and others are left for it.
"""

import asyncio
import dataclasses
import json
import os
import pickle
import unittest
import urllib.request
import uuid

from sesslog.client import Problem
from sesslog.langgraph import SesslogSaver

URL = os.environ.get("SESS_URL", "")


@dataclasses.dataclass
class Message:
    """A value that is no JSON."""

    text: str


class Serde:
    """Has the types that LangGraph's serializer has, and JSON that other clients wrote."""

    kind = "msgpack"

    def dumps_typed(self, value):
        if value is None:
            return "null", b""
        return ("bytes", value) if type(value) is bytes else (self.kind, pickle.dumps(value))

    def loads_typed(self, data):
        kind, data = data
        if kind == "json":
            return json.loads(data, object_hook=lambda o: Message(o["text"]) if o.get("lc") else o)
        return {"null": lambda _: None, "bytes": bytes}.get(kind, pickle.loads)(data)


class Secret(Serde):
    kind = "msgpack+aes"


class Sync:
    """Calls the forms of a saver that are not asynchronous."""

    def __init__(self, saver):
        self._saver = saver

    def __getattr__(self, name):
        f = getattr(self._saver, name[1:])

        async def call(*args, **kwargs):
            return f(*args, **kwargs)

        async def each(*args, **kwargs):
            for one in f(*args, **kwargs):
                yield one

        return each if name == "alist" else call


def fresh(path=None, serde=Serde):
    return SesslogSaver(path=path or f"lg{uuid.uuid4()}", serde=serde())


def at(thread="t", ns="", id=None):
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ns, **({"checkpoint_id": id} if id else {})}}


def id_of(config):
    return config["configurable"]["checkpoint_id"]


def checkpoint(n, values=None, versions=None, **members):
    """Return the checkpoint with that number in a thread; its id sorts by it."""
    values = values or {}
    versions = {c: n for c in values} if versions is None else versions
    c = {"v": 4, "id": f"1f0{n:05}-0000-6000-8000-{uuid.uuid4().hex[:12]}", "ts": "2026-01-02T03:04:05+00:00"}
    return {**c, "channel_values": values, "channel_versions": versions, "versions_seen": {}, "updated_channels": None, **members}


class Contracts(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.saver = fresh()

    async def put(self, config, n, values=None, new=None, metadata=None, **members):
        c = checkpoint(n, values, **members)
        new = c["channel_versions"] if new is None else new
        return await self.saver.aput(config, c, {"source": "loop", "step": n, "parents": {}, **(metadata or {})}, new)

    async def chain(self, thread="t", ns="", count=3, **more):
        configs = [at(thread, ns)]
        for n in range(count):
            configs.append(await self.put(configs[-1], n, {"n": n}, **more))
        return configs[1:]

    async def listed(self, *args, **kwargs):
        return [t async for t in self.saver.alist(*args, **kwargs)]

    async def ids(self, *args, **kwargs):
        return [id_of(t.config) for t in await self.listed(*args, **kwargs)]

    # put

    async def test_put_returns_the_place(self):
        c = checkpoint(1)
        self.assertEqual(await self.saver.aput(at(), c, {}, {}), at(id=c["id"]))

    async def test_put_keeps_values_of_every_type(self):
        values = {
            "text": "größer 😀 \x00", "int": 42, "large": 2**60, "float": 1.0, "none": None, "true": True, "bytes": b"\x00\xff",
            "list": [1, [2], {"a": None}], "dict": {"b": {"a": 1}}, "keys": {1: "one"}, "message": Message("hi"),
            "messages": [Message("a"), {"deep": [Message("b")]}, 3, b"c"], "set": {1}, "empty": [], "lc": {"lc": 1, "text": "no message"},
        }
        config = await self.put(at(), 1, values)
        got = (await self.saver.aget_tuple(config)).checkpoint["channel_values"]
        self.assertEqual(got, values)
        self.assertEqual({k: type(v) for k, v in got.items()}, {k: type(v) for k, v in values.items()})

    async def test_put_keeps_the_checkpoint(self):
        c = checkpoint(1, {"a": 1}, {"a": "0001.5", "b": 2}, versions_seen={"node": {"a": "0001.5"}}, updated_channels=["a"])
        config = await self.saver.aput(at(), c, {}, {"a": "0001.5"})
        self.assertEqual((await self.saver.aget_tuple(config)).checkpoint, c)

    async def test_put_keeps_metadata(self):
        metadata = {"source": "input", "step": -1, "parents": {"": "x"}, "run_id": "r", "user": {"tags": ["a"], "n": 0.5, "m": Message("m")}}
        config = await self.put(at(), 1, metadata=metadata)
        self.assertEqual((await self.saver.aget_tuple(config)).metadata, metadata)

    async def test_put_adds_what_the_caller_configured_to_metadata(self):
        config = {**at(), "metadata": {"run_id": "r", "step": 9, "langgraph_node": "n", "deep": {}}}
        config["configurable"] |= {"user": "u", "__pregel": "p"}
        got = await self.saver.aget_tuple(await self.put(config, 1))
        self.assertEqual(got.metadata, {"source": "loop", "step": 1, "parents": {}, "run_id": "r", "user": "u"})

    async def test_put_takes_values_that_did_not_change_from_earlier_ones(self):
        first = await self.put(at(), 1, {"a": "v1", "b": "v2"}, versions={"a": 1, "b": 1})
        second = await self.put(first, 2, {"a": "new", "b": "v2"}, {"a": 2}, versions={"a": 2, "b": 1})
        third = await self.put(second, 3, {"a": "new", "c": "c"}, {"c": 1}, versions={"a": 2, "c": 1})
        got = [(await self.saver.aget_tuple(c)).checkpoint["channel_values"] for c in (first, second, third)]
        self.assertEqual(got, [{"a": "v1", "b": "v2"}, {"a": "new", "b": "v2"}, {"a": "new", "c": "c"}])

    async def test_put_of_a_channel_without_value_empties_it(self):
        first = await self.put(at(), 1, {"a": 1})
        second = await self.put(first, 2, {}, {"a": 2}, versions={"a": 2})
        self.assertEqual((await self.saver.aget_tuple(second)).checkpoint["channel_values"], {})

    async def test_put_names_the_parent(self):
        first, second = await self.chain(count=2)
        self.assertIsNone((await self.saver.aget_tuple(first)).parent_config)
        self.assertEqual((await self.saver.aget_tuple(second)).parent_config, first)

    async def test_put_keeps_threads_and_namespaces_apart(self):
        configs = [at("1"), at("2"), at("1", "child:a"), at("1", "child:a|b:c")]
        for n, config in enumerate(configs):
            await self.put(config, 1, {"x": n})
        got = [(await self.saver.aget_tuple(c)) for c in configs]
        self.assertEqual([t.checkpoint["channel_values"]["x"] for t in got], [0, 1, 2, 3])
        self.assertEqual([t.config["configurable"]["checkpoint_ns"] for t in got], ["", "", "child:a", "child:a|b:c"])

    # put_writes

    async def test_writes_are_pending(self):
        [config] = await self.chain(count=1)
        await self.saver.aput_writes(config, [("a", {"x": 1}), ("b", Message("m"))], "task")
        await self.saver.aput_writes(config, [("a", None)], "task2", task_path="x:y")
        got = (await self.saver.aget_tuple(config)).pending_writes
        self.assertEqual(got, [("task", "a", {"x": 1}), ("task", "b", Message("m")), ("task2", "a", None)])
        self.assertEqual((await self.listed(at()))[0].pending_writes, got)

    async def test_writes_of_a_task_are_stored_once(self):
        [config] = await self.chain(count=1)
        for value in ("first", "again"):
            await self.saver.aput_writes(config, [("a", value), ("b", value)], "task")
        self.assertEqual((await self.saver.aget_tuple(config)).pending_writes, [("task", "a", "first"), ("task", "b", "first")])

    async def test_special_writes_replace_earlier_ones(self):
        [config] = await self.chain(count=1)
        await self.saver.aput_writes(config, [("a", 1), ("__interrupt__", "one")], "task")
        await self.saver.aput_writes(config, [("__error__", "failed"), ("__interrupt__", "two")], "task")
        got = (await self.saver.aget_tuple(config)).pending_writes
        self.assertEqual(got, [("task", "__interrupt__", "two"), ("task", "__error__", "failed"), ("task", "a", 1)])

    async def test_writes_have_the_order_of_their_paths(self):
        [config] = await self.chain(count=1)
        for task, path in (("0", "~pull, b"), ("f", "~pull, a"), ("z", "")):
            await self.saver.aput_writes(config, [("ch", task)], task, path)
        self.assertEqual([w[2] for w in (await self.saver.aget_tuple(config)).pending_writes], ["z", "f", "0"])

    async def test_writes_belong_to_one_checkpoint(self):
        first, second = await self.chain(count=2)
        child = await self.put(at(ns="child"), 1)
        await self.saver.aput_writes(first, [("a", 1)], "task")
        self.assertEqual([(await self.saver.aget_tuple(c)).pending_writes for c in (second, child)], [[], []])

    async def test_writes_before_their_checkpoint_are_kept(self):
        c = checkpoint(1)
        await self.saver.aput_writes(at(id=c["id"]), [("a", 1)], "task")
        self.assertIsNone(await self.saver.aget_tuple(at()))
        config = await self.saver.aput(at(), c, {}, {})
        self.assertEqual((await self.saver.aget_tuple(config)).pending_writes, [("task", "a", 1)])

    async def test_old_checkpoints_have_what_was_sent_to_them(self):
        first = await self.put(at(), 1, {"a": 1}, v=1)
        await self.saver.aput_writes(first, [("__pregel_tasks", "sent")], "task")
        got = (await self.saver.aget_tuple(await self.put(first, 2, {"a": 2}, v=1))).checkpoint
        self.assertEqual((got["channel_values"], got["channel_versions"]), ({"a": 2, "__pregel_tasks": ["sent"]}, {"a": 2, "__pregel_tasks": 2}))

    # get_tuple

    async def test_get_without_id_is_the_latest(self):
        configs = await self.chain()
        self.assertEqual((await self.saver.aget_tuple(at())).config, configs[-1])
        self.assertEqual((await self.saver.aget_tuple(configs[0])).metadata["step"], 0)

    async def test_get_of_an_unknown_checkpoint_is_none(self):
        self.assertIsNone(await self.saver.aget_tuple(at()))
        await self.chain()
        for config in (at(id="unknown"), at(ns="unknown"), at("unknown")):
            self.assertIsNone(await self.saver.aget_tuple(config))

    # list

    async def test_list_has_the_latest_first(self):
        names = [id_of(c) for c in await self.chain(count=4)]
        self.assertEqual(await self.ids(at()), names[::-1])
        self.assertEqual(await self.ids(at(), limit=2), names[:1:-1])
        self.assertEqual(await self.ids(at(), limit=0), [])
        self.assertEqual(await self.ids(at(), before=at(id=names[2])), names[1::-1])
        self.assertEqual(await self.ids(at(), before=at(id=names[3]), limit=1), [names[2]])
        self.assertEqual(await self.ids(at(id=names[1])), [names[1]])
        self.assertEqual(await self.ids(at("unknown")), [])

    async def test_list_filters_by_metadata(self):
        for n, metadata in enumerate(({"source": "input", "score": 42}, {"score": None}, {"source": "input", "user": {"id": [1]}})):
            await self.put(at(), n, metadata=metadata)
        for wanted, steps in (({"source": "input"}, [2, 0]), ({"step": 1}, [1]), ({"score": 42}, [0]), ({"score": None}, [1]),
                              ({"user": {"id": [1]}}, [2]), ({"source": "input", "step": 2}, [2]), ({"source": "loop", "step": 2}, []), ({}, [2, 1, 0])):
            self.assertEqual([t.metadata["step"] for t in await self.listed(at(), filter=wanted)], steps, wanted)

    async def test_list_of_a_namespace_and_of_all(self):
        for ns in ("", "child:1", "child:2"):
            await self.chain(ns=ns, count=1)
        self.assertEqual([len(await self.ids(at(ns=ns))) for ns in ("", "child:1", "other")], [1, 1, 0])
        self.assertEqual(len(await self.ids({"configurable": {"thread_id": "t"}})), 3)

    async def test_list_without_a_thread_has_all_threads(self):
        for thread in ("a/b", "ü?", "plain"):
            await self.chain(thread, count=1)
        found = [t.config["configurable"]["thread_id"] for t in await self.listed(None)]
        self.assertEqual(sorted(found), ["a/b", "plain", "ü?"])
        self.assertEqual(len(await self.listed(None, filter={"step": 0}, limit=2)), 2)

    # delete_thread, delete_for_runs, copy_thread, prune

    async def test_deleted_thread_is_gone_and_no_other(self):
        for thread in ("t", "other"):
            configs = await self.chain(thread)
            await self.chain(thread, "child")
        await self.saver.adelete_thread("t")
        await self.saver.adelete_thread("never")
        self.assertEqual(await self.ids({"configurable": {"thread_id": "t"}}), [])
        self.assertIsNone(await self.saver.aget_tuple(at()))
        self.assertEqual(await self.ids(at("other")), [id_of(c) for c in configs][::-1])

    async def test_deleted_runs_are_gone_in_all_threads(self):
        for thread, ns, run in (("1", "", "a"), ("1", "", "b"), ("1", "child", "a"), ("2", "", "a"), ("2", "", "c")):
            config = await self.put(at(thread, ns), 1, {"x": run}, metadata={"run_id": run})
            await self.saver.aput_writes(config, [("ch", 1)], "task")
        await self.saver.adelete_for_runs([])
        await self.saver.adelete_for_runs(["a", "unknown"])
        self.assertEqual(sorted(t.metadata["run_id"] for t in await self.listed(None)), ["b", "c"])
        self.assertEqual((await self.saver.aget_tuple(at("1"))).checkpoint["channel_values"], {"x": "b"})

    async def test_copied_thread_has_all_of_the_source(self):
        configs = await self.chain("source/1")
        await self.chain("source/1", "child", count=1)
        await self.saver.aput_writes(configs[-1], [("ch", "val")], "task")
        await self.saver.acopy_thread("source/1", "target")
        await self.saver.acopy_thread("never", "nothing")
        every = lambda thread: self.listed({"configurable": {"thread_id": thread}})
        plain = lambda ts: [(id_of(t.config), t.checkpoint, t.metadata, t.pending_writes) for t in ts]
        self.assertEqual(plain(await every("target")), plain(await every("source/1")))
        self.assertEqual(len(await every("target")), 4)
        self.assertEqual(await every("nothing"), [])
        with self.assertRaises(ValueError):
            await self.saver.acopy_thread("source/1", "target")
        await self.put(at("target", id=id_of(configs[-1])), 9, {"n": 9})
        self.assertEqual((len(await every("target")), len(await every("source/1"))), (5, 4))
        await self.saver.adelete_thread("source/1")
        self.assertEqual((len(await every("target")), len(await every("source/1"))), (5, 0))

    async def test_prune_keeps_the_latest_of_each_namespace(self):
        root, child, other = await self.chain(), await self.chain(ns="child:1"), await self.chain("other")
        for config in root[-2:]:
            await self.saver.aput_writes(config, [("ch", "val")], "task")
        await self.saver.aprune([])
        await self.saver.aprune(["t", "never"])
        got = await self.listed({"configurable": {"thread_id": "t"}})
        self.assertEqual([t.config for t in got], [root[-1], child[-1]])
        self.assertEqual(got[0].pending_writes, [("task", "ch", "val")])
        self.assertEqual(got[0].checkpoint["channel_values"], {"n": 2})
        self.assertEqual(await self.ids(at("other")), [id_of(c) for c in other][::-1])

    async def test_prune_deletes_threads(self):
        await self.chain()
        await self.saver.aprune(["t", "never"], strategy="delete")
        self.assertEqual(await self.ids(at()), [])
        with self.assertRaises(ValueError):
            await self.saver.aprune(["t"], strategy="keep_all")

    async def test_prune_keeps_what_delta_channels_need(self):
        config, configs = at(), []
        for n, values in enumerate(({}, {"ch": "snapshot"}, {}, {})):
            config = await self.put(config, n, values, metadata={"counters_since_delta_snapshot": {"ch": [n, n]}})
            configs.append(id_of(config))
            await self.saver.aput_writes(config, [("ch", n)], "task")
        await self.saver.aprune(["t"])
        self.assertEqual(await self.ids(at()), configs[:0:-1])


class SyncContracts(Contracts):
    def setUp(self):
        self.saver = Sync(fresh())


class Promises(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.path = f"lg{uuid.uuid4()}"

    def stored(self, thread="t"):
        with urllib.request.urlopen(f"{URL}/v1/stream/{self.path}/{thread}?offset=-1") as answer:
            return answer.read()

    def grow(self, saver, make, steps=30):
        config, messages = at(), []
        for n in range(steps):
            messages = [*messages, make(n)]
            c = checkpoint(n, {"messages": messages, "document": "d" * 10_000}, {"messages": n, "document": n})
            config = saver.put(config, c, {}, c["channel_versions"])
        self.assertEqual(fresh(self.path).get_tuple(config).checkpoint["channel_values"]["messages"], messages)

    def test_thread_grows_with_what_was_said(self):
        for make in (lambda n: {"role": "user", "content": f"{n} " + "x" * 1000}, lambda n: Message(f"{n} " + "x" * 1000)):
            self.path = f"lg{uuid.uuid4()}"
            self.grow(fresh(self.path), make)
            self.assertLess(len(self.stored()), 3 * (30 * 1000 + 10_000))

    def test_forks_keep_their_own_values(self):
        saver, lists = fresh(self.path), {}

        def put(parent, n, values):
            c = checkpoint(n, {"list": values})
            config = saver.put(parent, c, {}, {"list": n})
            lists[id_of(config)] = values
            return config

        for a in (1, Message("a")):
            root = put(at(), 1, [a, [2], 3])
            put(root, 2, [a, [2], 3, "left"])
            right = put(root, 2, [a, [2], "right"])
            back = put(put(right, 3, [a, [2]]), 4, [a, [2], 3])
            put(put(put(back, 5, [a, [2], 3]), 6, [True, [2], 3]), 7, [])
        for reader in (saver, fresh(self.path)):
            self.assertEqual({id_of(t.config): t.checkpoint["channel_values"]["list"] for t in reader.list(at())}, lists)

    def test_numbers_that_are_equal_keep_their_types(self):
        saver, config = fresh(self.path), at()
        for n, value in enumerate(([1], [True], [1.0])):
            config = saver.put(config, checkpoint(n, {"x": value}), {}, {"x": n})
            self.assertEqual(repr(fresh(self.path).get_tuple(at()).checkpoint["channel_values"]["x"]), repr(value))

    def test_serializer_that_encrypts_gets_every_value(self):
        saver = fresh(self.path, Secret)
        config = saver.put(at(), checkpoint(1, {"a": "secret", "b": ["secret"]}), {"said": "secret"}, {"a": 1, "b": 1})
        saver.put_writes(config, [("a", {"secret": "secret"})], "task")
        got = fresh(self.path, Secret).get_tuple(config)
        self.assertEqual((got.checkpoint["channel_values"], got.metadata), ({"a": "secret", "b": ["secret"]}, {"said": "secret"}))
        self.assertNotIn(b"secret", self.stored())

    def test_caller_may_change_what_it_got(self):
        saver = fresh(self.path)
        saver.put(at(), checkpoint(1, {"a": [1]}), {}, {"a": 1})
        got = saver.get_tuple(at())
        got.checkpoint["channel_values"]["a"].append(2)
        got.checkpoint["channel_versions"]["a"] = 9
        self.assertEqual(saver.get_tuple(at()).checkpoint["channel_values"], {"a": [1]})

    def test_thread_that_was_deleted_elsewhere_begins_again(self):
        here, there = fresh(self.path), fresh(self.path)
        for n, text in enumerate(("a longer value than the next one", "short")):
            here.put(at(), checkpoint(n, {"a": text}), {}, {"a": n})
            for saver in (here, there):
                self.assertEqual(saver.get_tuple(at()).checkpoint["channel_values"], {"a": text})
            here.delete_thread("t")
        self.assertIsNone(there.get_tuple(at()))

    async def test_concurrent_puts_are_all_stored(self):
        savers = [fresh(self.path), fresh(self.path)]
        puts = [savers[n % 2].aput(at(), checkpoint(n, {"n": n}), {}, {"n": n}) for n in range(20)]
        await asyncio.gather(*puts)
        self.assertEqual([t.checkpoint["channel_values"]["n"] for t in savers[0].list(at())], list(range(20))[::-1])

    def test_bad_input_stores_nothing(self):
        saver = fresh(self.path)
        c = checkpoint(1, {"a": 1})
        for config in ({"configurable": {}}, {"configurable": {"thread_id": ""}}):
            with self.assertRaises((KeyError, ValueError)):
                saver.put(config, c, {}, {"a": 1})
        with self.assertRaises(ValueError):
            saver.put_writes(at(), [("a", 1)], "task")
        with self.assertRaises(Exception):
            saver.put(at(), checkpoint(1, {"a": lambda: 0}), {}, {"a": 1})  # cannot be serialized
        with self.assertRaises(Problem):
            saver.put(at(), {**c, "ts": float("nan")}, {}, {"a": 1})
        self.assertEqual(list(fresh(self.path).list(None)), [])

    def test_without_langgraph_a_serializer_is_needed(self):
        try:
            import langgraph.checkpoint.base  # noqa: F401
        except ImportError:
            with self.assertRaisesRegex(ImportError, "hint: "):
                SesslogSaver()


@unittest.skipUnless(os.environ.get("SHARED"), "only with what the TypeScript client wrote")
class Shared(unittest.TestCase):
    """A thread of JSON values has both clients as writers."""

    def test_typescript_and_python_continue_one_thread(self):
        saver = fresh(os.environ["SHARED"])
        got = saver.get_tuple(at("both"))
        self.assertEqual(got.checkpoint["channel_values"], {"list": [1, {"b": "ü", "a": None}, "ts"], "n": 0.5})
        self.assertEqual(got.metadata, {"source": "loop", "step": 2, "parents": {}})
        self.assertEqual(got.pending_writes, [("task", "list", ["pending", {"x": 1}])])
        self.assertEqual(len(list(saver.list(at("both")))), 2)
        c = checkpoint(3, {"list": [1, {"b": "ü", "a": None}, "ts", "py"], "n": 0.5, "bytes": [b"\x01", {"k": 1}]})
        config = saver.put(got.config, c, {"source": "loop", "step": 3, "parents": {}}, {"list": 3, "bytes": 1, "n": 3})
        saver.put_writes(config, [("__error__", "failed"), ("list", ["x"])], "task2")
        first = min(id_of(t.config) for t in saver.list(at("both")))
        saver._remove("both", lambda space: [space.saved[first]])
        self.assertEqual(len(list(saver.list(at("both")))), 2)


if __name__ == "__main__":
    unittest.main()
