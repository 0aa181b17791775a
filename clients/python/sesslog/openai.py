"""The Session of the OpenAI Agents SDK over a Sesslog log.

A session is a durable stream of JSON: each item is a value as it is. A value of ours takes the last item back, or all.
"""

import asyncio
import copy
import json
import urllib.parse
import uuid

from .client import Client, Problem, dumps

_POPPED = "sesslog.pop"
_CLEARED = "sesslog.clear"


class SesslogSession:
    """path is where streams are, below /v1/stream/. For url and token see Client."""

    session_settings = None  # the SDK may set it

    def __init__(self, session_id, url=None, token=None, path="openai"):
        self.session_id = session_id
        self._client = Client(url, token)
        parts = [*path.split("/"), session_id]
        self._stream = "/v1/stream/" + "/".join(urllib.parse.quote(p, safe="") for p in parts)
        self._offset = "-1"  # up to which the stream was read
        self._items = []
        self._popped = {}  # by the calls that wait for them
        self._reading = asyncio.Lock()

    async def get_items(self, limit=None):
        """Return the last items, in order; without a limit all."""
        await self._read()
        if limit is None:
            limit = getattr(self.session_settings, "limit", None)
        if limit is None:
            return copy.deepcopy(self._items)
        return copy.deepcopy(self._items[-limit:]) if limit > 0 else []

    async def add_items(self, items):
        """Store items durably, all or none."""
        for item in items:
            if item.get("type") in (_POPPED, _CLEARED):
                raise ValueError(f"items of type {item['type']} are reserved")
        if items:
            await self._append(items)

    async def pop_item(self):
        """Remove and return the last item. Of concurrent calls, each gets another item."""
        name = str(uuid.uuid4())
        await self._read()
        if not self._items:
            return None
        self._popped[name] = None
        try:
            await self._append([{"type": _POPPED, "id": name}])
            await self._read()
            return self._popped[name]
        finally:
            del self._popped[name]

    async def clear_session(self):
        """Take all items back. The log keeps them as long as the session, like popped ones: erase it to remove them."""
        await self._read()
        if self._items:
            await self._append([{"type": _CLEARED, "id": str(uuid.uuid4())}])

    async def _append(self, values):
        """Append values. A producer of its own makes a repeated request known."""
        body = dumps(values).encode()
        headers = {"Content-Type": "application/json"}
        producer = {**headers, "Producer-Id": str(uuid.uuid4()), "Producer-Epoch": "0", "Producer-Seq": "0"}
        try:
            await self._client.send("POST", self._stream, body, producer)
        except Problem as problem:
            if problem.status != 404:
                raise
            await self._client.send("PUT", self._stream, None, headers)
            await self._client.send("POST", self._stream, body, producer)

    async def _read(self):
        """Read what is new."""
        async with self._reading:
            while True:
                try:
                    data, headers = await self._client.send("GET", f"{self._stream}?offset={self._offset}")
                except Problem as problem:
                    if problem.status != 404:
                        raise
                    self._offset, self._items = "-1", []
                    return
                for value in json.loads(data):
                    self._add(value)
                self._offset = headers["Stream-Next-Offset"]
                if headers["Stream-Up-To-Date"] == "true":
                    return

    def _add(self, value):
        if value.get("type") == _CLEARED:
            self._items = []
        elif value.get("type") == _POPPED:
            item = self._items.pop() if self._items else None
            if value["id"] in self._popped:
                self._popped[value["id"]] = item
        else:
            self._items.append(value)
