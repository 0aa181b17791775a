"""The Session of the OpenAI Agents SDK over a Sesslog log.

A session is a durable stream of JSON: each item is a value as it is. A value of ours takes the last item back, or all.
"""

import asyncio
import copy
import threading
import uuid

from .client import Client
from .stream import Stream

_POPPED = "sesslog.pop"
_CLEARED = "sesslog.clear"


class SesslogSession:
    """path is where streams are, below /v1/stream/. For url and token see Client."""

    session_settings = None  # the SDK may set it

    def __init__(self, session_id, url=None, token=None, path="openai"):
        self.session_id = session_id
        self._stream = Stream(Client(url, token), [*path.split("/"), session_id])
        self._reading = threading.Lock()
        self._items = []
        self._popped = {}  # by the calls that wait for them

    async def get_items(self, limit=None):
        """Return the last items, in order; without a limit all."""
        if limit is None:
            limit = getattr(self.session_settings, "limit", None)
        if limit is not None and limit <= 0:
            return []
        return await self._read(lambda items: copy.deepcopy(items if limit is None else items[-limit:]))

    async def add_items(self, items):
        """Store items durably, all or none."""
        for item in items:
            if item.get("type") in (_POPPED, _CLEARED):
                raise ValueError(f"items of type {item['type']} are reserved")
        if items:
            await asyncio.to_thread(self._stream.append, items)

    async def pop_item(self):
        """Remove and return the last item. Of concurrent calls, each gets another item."""
        name = str(uuid.uuid4())
        if not await self._read(len):
            return None
        self._popped[name] = None
        try:
            await asyncio.to_thread(self._stream.append, [{"type": _POPPED, "id": name}])
            await self._read(len)
            return self._popped[name]
        finally:
            del self._popped[name]

    async def clear_session(self):
        """Take all items back. The log keeps them as long as the session, like popped ones: erase it to remove them."""
        if await self._read(len):
            await asyncio.to_thread(self._stream.append, [{"type": _CLEARED, "id": str(uuid.uuid4())}])

    async def _read(self, take):
        """Read what is new, and return what take returns for all items."""

        def read():
            with self._reading:
                self._stream.read(self._add, self._items.clear)
                return take(self._items)

        return await asyncio.to_thread(read)

    def _add(self, value):
        if value.get("type") == _CLEARED:
            self._items.clear()
        elif value.get("type") == _POPPED:
            item = self._items.pop() if self._items else None
            if value["id"] in self._popped:
                self._popped[value["id"]] = item
        else:
            self._items.append(value)
