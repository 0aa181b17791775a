"""Requests to the HTTP API of a log's nodes."""

import asyncio
import http.client
import json
import os
import time
import urllib.error
import urllib.request


class Problem(Exception):
    """An error that a node answered. Programs use its code; line is the line at fault, from 1 on."""

    def __init__(self, status, text):
        try:
            detail = json.loads(text)
        except ValueError:
            detail = None
        if not isinstance(detail, dict):  # not by a node: a proxy's text
            detail = {"detail": text}
        said = map(str, filter(None, (detail.get("detail"), detail.get("next"))))
        super().__init__("\nhint: ".join(said) or f"HTTP {status}")
        self.status = status
        self.code = detail.get("code", "")
        self.line = detail.get("line")


class Client:
    """A client of the nodes of one log.

    url is one node, or several separated by commas; default $SESS_URL, else the local node. token: default $SESS_TOKEN.
    """

    def __init__(self, url=None, token=None):
        url = url or os.environ.get("SESS_URL") or "http://127.0.0.1:7433"
        self._urls = [u.strip().rstrip("/") for u in url.split(",")]
        self._token = token or os.environ.get("SESS_TOKEN")

    async def send(self, method, path, body=None, headers=None):
        """Return (bytes, headers) of the answer.

        If a node does not answer, or says that it cannot now, the request is sent again, to the next node: the caller
        must send only what may arrive twice.
        """
        return await asyncio.to_thread(self.call, method, path, body, headers)

    async def json(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        return json.loads((await self.send(method, path, data))[0])

    def call(self, method, path, body=None, headers=None):
        """As send, for callers that are not asynchronous."""
        headers = dict(headers or {})
        if self._token:
            headers["Authorization"] = "Bearer " + self._token
        headers.setdefault("Content-Type", "application/json")
        for tries in range(1, 6):
            urls = self._urls
            request = urllib.request.Request(urls[0] + path, body, headers, method=method)
            try:
                with urllib.request.urlopen(request, timeout=20) as answer:
                    return answer.read(), answer.headers
            except urllib.error.HTTPError as error:
                failure = Problem(error.code, error.read().decode(errors="replace"))
                if error.code not in (429, 503):
                    raise failure from None
            except (OSError, http.client.HTTPException) as error:
                failure = error
            if tries == 5 and isinstance(failure, Problem):
                raise failure
            if tries == 5:
                why = getattr(failure, "reason", failure)
                text = f"no answer from the node at {urls[0]}: {why}\nhint: start it with sessnode, or set SESS_URL"
                raise ConnectionError(text) from failure
            self._urls = urls[1:] + urls[:1]
            time.sleep(0.1 * 2**tries)


def dumps(value):
    """Return JSON as JSON.stringify of JavaScript writes it."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair
        text = json.dumps(value, separators=(",", ":"))
    return text
