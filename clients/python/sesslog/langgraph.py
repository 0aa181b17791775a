"""A checkpointer of LangGraph over a Sesslog log.

A thread is a durable stream of JSON: one value per put and put_writes, as the TypeScript client writes them. A
channel's value is stored if its version is new and it is not that of the parent; of a list, only the elements that the
parent's does not have.
"""

import asyncio
import base64
import collections
import contextlib
import copy
import json
import math
import re
import threading
import typing
import urllib.parse

from .client import Client, dumps
from .stream import Stream

try:
    from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
except ImportError:  # the tests of this module do without it

    class BaseCheckpointSaver:
        def __init__(self, *, serde=None):
            if serde is None:
                raise ImportError("langgraph-checkpoint is not installed\nhint: pip install langgraph")
            self.serde = serde

        def get_next_version(self, current, channel):
            return 1 if current is None else current + 1

    class CheckpointTuple(typing.NamedTuple):
        config: dict
        checkpoint: dict
        metadata: dict
        parent_config: dict | None = None
        pending_writes: list | None = None


_MAX_THREADS = 100  # in memory
_TASKS = "__pregel_tasks"
_SPECIAL = {"__error__": -1, "__scheduled__": -2, "__interrupt__": -3, "__resume__": -4}  # channels, with their idx
_NOT_METADATA = {
    "thread_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map",
    "langgraph_step", "langgraph_node", "langgraph_triggers", "langgraph_path", "langgraph_checkpoint_ns",
}  # fmt: skip


class SesslogSaver(BaseCheckpointSaver):
    """path is where streams are, below /v1/stream/. For url and token see Client."""

    def __init__(self, url=None, token=None, path="langgraph", *, serde=None):
        super().__init__(serde=serde)
        self._client = Client(url, token)
        self._path = path
        self._threads = collections.OrderedDict()
        self._lock = threading.Lock()  # of the threads in memory

    def get_tuple(self, config):
        thread_id = config["configurable"]["thread_id"]
        with self._read(thread_id) as thread:
            space = thread.space(config["configurable"].get("checkpoint_ns", ""))
            name = config["configurable"].get("checkpoint_id") or max(space.saved, default=None)
            saved = space.saved.get(name)
            return saved and self._tuple(thread_id, space, saved)

    def list(self, config, *, filter=None, before=None, limit=None):
        """Yield tuples, of each thread and namespace the latest first. Without a thread all threads are read."""
        at = (config or {}).get("configurable", {})
        before = (before or {}).get("configurable", {}).get("checkpoint_id")
        wanted = (filter or {}).items()
        left = math.inf if limit is None else limit
        for thread_id in [at["thread_id"]] if at.get("thread_id") else self._thread_ids():
            with self._read(thread_id) as thread:
                spaces = [(ns, list(s.saved)) for ns, s in thread.spaces.items() if at.get("checkpoint_ns") in (None, ns)]
            for ns, names in spaces:
                for name in sorted(names, reverse=True):
                    if at.get("checkpoint_id") not in (None, name) or before and name >= before:
                        continue
                    with thread.lock:
                        saved = thread.space(ns).saved.get(name)
                        if not saved:
                            continue
                        metadata = self._load(saved["metadata"])
                        if not all(k in metadata and metadata[k] == v for k, v in wanted):
                            continue
                        if left <= 0:
                            return
                        left -= 1
                        found = self._tuple(thread_id, thread.space(ns), saved)
                    yield found

    def put(self, config, checkpoint, metadata, new_versions):
        thread_id, ns, parent = self._place(config)
        rest = {k: v for k, v in checkpoint.items() if k != "channel_values"}
        values = {}
        with self._read(thread_id) as thread:
            for channel in new_versions:
                if channel in checkpoint["channel_values"]:
                    value = self._dump(checkpoint["channel_values"][channel])
                    values[channel] = thread.space(ns).shorten(channel, parent, value)
        put = {"type": "checkpoint", "ns": ns, "id": checkpoint["id"]}
        if parent:
            put["parent"] = parent
        put |= {"checkpoint": rest, "metadata": self._dump(_metadata(config, metadata)), "values": values}
        self._thread(thread_id).stream.append([put])
        return _config(thread_id, ns, checkpoint["id"])

    def put_writes(self, config, writes, task_id, task_path=""):
        thread_id, ns, name = self._place(config)
        if not name:
            raise ValueError("configurable.checkpoint_id is missing")
        dumped = [[channel, self._dump(value)] for channel, value in writes]
        value = {"type": "writes", "ns": ns, "id": name, "task": task_id, "path": task_path, "writes": dumped}
        self._thread(thread_id).stream.append([value])

    def delete_thread(self, thread_id):
        """Delete the thread's stream, whose session goes to the trash."""
        self._thread(thread_id).stream.delete()
        with self._lock:
            self._threads.pop(thread_id, None)

    def delete_for_runs(self, run_ids):
        """Remove the checkpoints of runs. All threads are read."""
        runs = set(run_ids)
        for thread_id in self._thread_ids() if runs else []:
            self._remove(thread_id, lambda space: [s for s in space.saved.values() if self._load(s["metadata"]).get("run_id") in runs])

    def copy_thread(self, source_thread_id, target_thread_id):
        """Copy a thread to one that does not exist, as a fork of its stream."""
        with self._read(target_thread_id) as target:
            if target.spaces:
                raise ValueError(f"thread {target_thread_id} exists")
            target.stream.fork(self._thread(source_thread_id).stream)

    def prune(self, thread_ids, *, strategy="keep_latest"):
        """Remove all checkpoints but the latest of each namespace, and those that its delta channels need.

        Strategy "delete" deletes the threads. The log keeps what is removed until the session is erased.
        """
        if strategy not in ("keep_latest", "delete"):
            raise ValueError(f"no strategy {strategy!r}: it is keep_latest or delete")
        for thread_id in thread_ids:
            if strategy == "delete":
                self.delete_thread(thread_id)
            else:
                self._remove(thread_id, self._unneeded)

    async def aget_tuple(self, config):
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(self, config, *, filter=None, before=None, limit=None):
        found = self.list(config, filter=filter, before=before, limit=limit)
        while (one := await asyncio.to_thread(next, found, None)) is not None:
            yield one

    async def aput(self, config, checkpoint, metadata, new_versions):
        return await asyncio.to_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(self, config, writes, task_id, task_path=""):
        await asyncio.to_thread(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id):
        await asyncio.to_thread(self.delete_thread, thread_id)

    async def adelete_for_runs(self, run_ids):
        await asyncio.to_thread(self.delete_for_runs, run_ids)

    async def acopy_thread(self, source_thread_id, target_thread_id):
        await asyncio.to_thread(self.copy_thread, source_thread_id, target_thread_id)

    async def aprune(self, thread_ids, *, strategy="keep_latest"):
        await asyncio.to_thread(self.prune, thread_ids, strategy=strategy)

    def _place(self, config):
        at = config["configurable"]
        if not at.get("thread_id"):
            raise ValueError("configurable.thread_id is missing")
        return at["thread_id"], at.get("checkpoint_ns", ""), at.get("checkpoint_id")

    def _tuple(self, thread_id, space, saved):
        checkpoint = copy.deepcopy(saved["checkpoint"])
        checkpoint["channel_values"] = {c: self._load(space.value(c, n)) for c, n in saved["from"].items()}
        parent = saved.get("parent")
        if checkpoint["v"] < 4 and parent:  # the tasks that were sent to it are in the writes of its parent
            sent = [self._load(w["value"]) for w in space.writes_of(parent) if w["channel"] == _TASKS]
            if sent:
                versions = checkpoint["channel_versions"]
                versions[_TASKS] = max(versions.values(), default=None) or self.get_next_version(None, None)
                checkpoint["channel_values"][_TASKS] = sent
        return CheckpointTuple(
            config=_config(thread_id, saved["ns"], saved["id"]),
            checkpoint=checkpoint,
            metadata=self._load(saved["metadata"]),
            parent_config=_config(thread_id, saved["ns"], parent) if parent else None,
            pending_writes=[(w["task"], w["channel"], self._load(w["value"])) for w in space.writes_of(saved["id"])],
        )

    def _unneeded(self, space):
        """Return all checkpoints but the latest, and its ancestors up to those that have a value of each delta channel."""
        unneeded = dict(space.saved)
        saved = unneeded.pop(max(unneeded, default=None), None)
        deltas = set(self._load(saved["metadata"]).get("counters_since_delta_snapshot") or ()) if saved else set()
        while saved and (deltas := deltas - saved["from"].keys()):
            saved = unneeded.pop(saved.get("parent"), None)
        return unneeded.values()

    def _remove(self, thread_id, chosen):
        """Append which checkpoints are removed: of each namespace those that chosen returns."""
        with self._read(thread_id) as thread:
            ids = {ns: [saved["id"] for saved in chosen(space)] for ns, space in thread.spaces.items()}
        ids = {ns: names for ns, names in ids.items() if names}
        if ids:
            thread.stream.append([{"type": "removed", "ids": ids}])

    def _url(self, thread_id):
        return [*self._path.split("/"), thread_id]

    def _thread(self, thread_id):
        with self._lock:
            thread = self._threads.get(thread_id) or _Thread(Stream(self._client, self._url(thread_id)))
            self._threads[thread_id] = thread
            self._threads.move_to_end(thread_id)
            if len(self._threads) > _MAX_THREADS:
                self._threads.popitem(last=False)
            return thread

    @contextlib.contextmanager
    def _read(self, thread_id):
        thread = self._thread(thread_id)
        with thread.lock:
            thread.stream.read(thread.add, thread.spaces.clear)
            yield thread

    def _thread_ids(self):
        # The id of a stream's session begins with its path, in which characters are escaped; a long one ends in a hash.
        def escape(c):
            return c if re.match("[A-Za-z0-9-]", c) else "__" if c == "/" else f"_{ord(c):02x}"

        path = self._path + "/"
        prefix = ("ds-" + "".join(escape(chr(b)) for b in path.encode()))[:50]
        query = {"dialect": "bytestream", "limit": "10000", "prefix": prefix}
        found = []
        while True:
            data, _ = self._client.call("GET", "/v1/sessions?" + urllib.parse.urlencode(query))
            page = json.loads(data)
            found += [r["name"][len(path) :] for r in page["sessions"] if r.get("name", "").startswith(path)]
            if not page.get("next"):
                return found
            query["after"] = page["next"]

    def _dump(self, value):
        """Return a value as JSON, or as serde has it. Of a list that is no JSON, each element; not if serde encrypts."""
        if self.serde.dumps_typed([])[0] in ("json", "msgpack"):
            if _is_json(value):
                return {"json": value}
            if type(value) is list:
                return {"items": [self._dump(v) for v in value]}
        kind, data = self.serde.dumps_typed(value)
        if kind == "json":
            return {"json": json.loads(data)}
        return {"type": kind, "base64": base64.b64encode(data).decode()}

    def _load(self, value):
        if "json" in value:
            text = dumps(value["json"])
            return self.serde.loads_typed(("json", text.encode())) if '"lc"' in text else json.loads(text)
        if "items" in value:
            return [self._load(v) for v in value["items"]]
        return self.serde.loads_typed((value["type"], base64.b64decode(value["base64"])))


class _Thread:
    """What was read of a thread's stream, by whoever has the lock."""

    def __init__(self, stream):
        self.stream = stream
        self.lock = threading.Lock()
        self.spaces = {}

    def space(self, ns):
        return self.spaces.get(ns) or _Space()

    def add(self, value):
        if value["type"] == "removed":
            for ns, names in value["ids"].items():
                self.space(ns).remove(names)
            return
        space = self.spaces.setdefault(value["ns"], _Space())
        if value["type"] == "checkpoint":
            space.put(value)
        else:
            space.write(value)


class _Space:
    """The checkpoints of one namespace."""

    def __init__(self):
        self.saved = {}  # with the number of the put that has its value, by channel
        self._puts = []  # values by channel, of each put
        self._writes = {}
        self._latest = {}  # put by channel and version

    def put(self, value):
        numbers, values = {}, value["values"]
        parent = self.saved.get(value.get("parent"))
        for channel, version in value["checkpoint"]["channel_versions"].items():
            key = (channel, dumps(version))
            if channel in values:
                at = values[channel].get("same", len(self._puts))
            elif parent and parent["checkpoint"]["channel_versions"].get(channel) == version and channel in parent["from"]:
                at = parent["from"][channel]
            elif key in self._latest:
                at = self._latest[key]
            else:
                continue
            numbers[channel] = self._latest[key] = at
        self._puts.append(values)
        self.saved[value["id"]] = {**value, "from": numbers}

    def write(self, value):
        """Keep a regular write as it was first stored, a special one as it was last."""
        writes = self._writes.setdefault(value["id"], {})
        known = set(writes)
        for i, (channel, stored) in enumerate(value["writes"]):
            idx = _SPECIAL.get(channel, i)
            key = (value["task"], idx)
            if idx < 0 or key not in known:
                writes[key] = {"task": value["task"], "idx": idx, "path": value["path"], "channel": channel, "value": stored}

    def remove(self, names):
        for name in names:
            self.saved.pop(name, None)
            self._writes.pop(name, None)

    def writes_of(self, name):
        return sorted(self._writes.get(name, {}).values(), key=lambda w: (w["path"], w["task"], w["idx"]))

    def value(self, channel, n):
        """Return the value of a channel in the put of that number."""
        rests, keep = [], math.inf
        while "like" in (value := self._puts[n][channel]):
            rests.append(value["rest"][: max(0, keep - value["keep"])] if keep < math.inf else value["rest"])
            keep = min(keep, value["keep"])
            n = value["like"]
        if not rests:
            return value
        kind, first = _list_of(value)
        return {kind: [*first[:keep], *(v for rest in reversed(rests) for v in rest)]}

    def shorten(self, channel, parent, value):
        """Leave out what a value has in common with that of the parent."""
        n = self.saved.get(parent, {"from": {}})["from"].get(channel)
        if n is None:
            return value
        before = self.value(channel, n)
        if dumps(before) == dumps(value):
            return {"same": n}
        kind, old = _list_of(before)
        if not kind or _list_of(value)[0] != kind:
            return value
        new, keep = value[kind], 0
        while keep < min(len(old), len(new)) and dumps(old[keep]) == dumps(new[keep]):
            keep += 1
        return {"like": n, "keep": keep, "rest": new[keep:]} if keep else value


def _list_of(value):
    """Return how the elements of a list are stored, and them; None if it is no list."""
    for kind in ("json", "items"):
        if type(value.get(kind)) is list:
            return kind, value[kind]
    return None, None


def _is_json(value):
    """Report whether JSON keeps a value exactly, in JavaScript too. Objects that loads_typed may revive are not kept."""
    kind = type(value)
    if kind is dict:
        return "lc" not in value and all(type(k) is str and _is_json(v) for k, v in value.items())
    if kind is list:
        return all(map(_is_json, value))
    if kind is int:
        return abs(value) < 1 << 53
    return value is None or kind in (str, bool) or kind is float and math.isfinite(value)


def _config(thread_id, ns, name):
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": ns, "checkpoint_id": name}}


def _metadata(config, metadata):
    """Return metadata with that of the run, and with what its caller configured."""
    found = dict(metadata)
    for more in (config.get("metadata"), config.get("configurable")):
        for key, value in (more or {}).items():
            if key not in _NOT_METADATA and not key.startswith("__") and isinstance(value, (str, int, float)):
                found.setdefault(key, value)
    return found
