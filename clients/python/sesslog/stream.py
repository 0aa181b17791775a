"""Durable streams of JSON values."""

import json
import urllib.parse
import uuid

from .client import Problem, dumps

_JSON = {"Content-Type": "application/json"}


class Stream:
    """A stream of a client. Calls of read must not run at the same time."""

    def __init__(self, client, path):
        self._client = client
        self.path = "/".join(urllib.parse.quote(p, safe="") for p in path)
        self._url = "/v1/stream/" + self.path
        self._offset = "-1"  # up to which the stream was read
        self._name = None  # of the stream that was read

    def append(self, values):
        """Append values, all or none. A producer of its own makes a repeated request known."""
        body = dumps(values).encode()
        producer = {**_JSON, "Producer-Id": str(uuid.uuid4()), "Producer-Epoch": "0", "Producer-Seq": "0"}
        if not self._found("POST", self._url, body, producer):
            self._client.call("PUT", self._url, None, _JSON)
            self._client.call("POST", self._url, body, producer)

    def read(self, add, reset):
        """Pass the values to add that no earlier call has passed. If there is no stream, or another one, call reset."""
        while True:
            found = self._found("GET", f"{self._url}?offset={self._offset}")
            data, headers = found or (None, {})
            name = headers.get("Sess-Stream")
            if self._offset != "-1" and name != self._name or not found:
                self._offset = "-1"
                reset()
                if found:
                    continue
                return
            for value in json.loads(data):
                add(value)
            self._offset, self._name = headers["Stream-Next-Offset"], name
            if headers["Stream-Up-To-Date"] == "true":
                return

    def fork(self, source):
        """Begin as the source. If there is no source, there will be no stream."""
        self._found("PUT", self._url, None, {**_JSON, "Stream-Forked-From": source.path})

    def delete(self):
        self._found("DELETE", self._url)

    def _found(self, *request):
        """Return the answer, or None if there is no stream, or only forks of it."""
        try:
            return self._client.call(*request)
        except Problem as problem:
            if problem.status not in (404, 410):
                raise
            return None
