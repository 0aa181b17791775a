"""The SessionStore of the Claude Agent SDK over a Sesslog log.

A transcript is a session of dialect claude, as sessctl stores it: lines with a uuid are entries as they are, all others,
and those of sub-agents, are in envelopes. So sessctl resumes it on any host.
"""

import asyncio
import collections
import datetime
import hashlib
import json
import re
import urllib.parse

from .client import Client, Problem, dumps

_MAIN = "main.jsonl"
_REMOVALS = "files/.removed.jsonl"  # names transcripts of sub-agents that were deleted alone
_PIECE = 256 << 10  # bytes that an envelope holds
_MAX_SESSIONS = 1000  # of which is remembered what the log has


class SesslogSessionStore:
    """prefix begins the id of every session, for a token that is limited to a prefix.

    fold is fold_session_summary; default the SDK's. For url and token see Client.
    """

    def __init__(self, url=None, token=None, prefix="", fold=None):
        self._client = Client(url, token)
        self._prefix = prefix
        self._fold = fold
        self._locks = collections.defaultdict(asyncio.Lock)
        self._sessions = {}  # those appended to
        self._summaries = {}

    async def append(self, key, entries):
        """Store entries durably, in the order of the calls. An entry whose uuid is known is not stored again."""
        if not entries:
            return
        name = (key["project_key"], key["session_id"])
        async with self._locks[name]:
            session = self._sessions.pop(name, None)  # if it fails, what the log has is read again
            if session is None:
                found = await self._find(key)
                session = await self._read(found) if found else _Session()
            session.files.clear()  # only what was read is kept there
            lines = [line for e in entries for line in session.lines(_file(key), e)]
            if session.id:
                await self._append(session.id, lines)
            else:
                session.id = await self._create(key, entries, lines)
            self._sessions[name] = session
            if len(self._sessions) > _MAX_SESSIONS:
                del self._sessions[next(iter(self._sessions))]

    async def load(self, key):
        found = await self._find(key)
        return (await self._read(found)).files.get(_file(key)) if found else None

    async def list_sessions(self, project_key):
        return [{"session_id": r["session_id"], "mtime": r["mtime"]} for r in await self._rows(project_key)]

    async def list_session_summaries(self, project_key):
        """Summaries are made of the entries and kept in memory until the session changes."""
        fold = self._fold
        if fold is None:
            from claude_agent_sdk import fold_session_summary as fold
        out = []
        for row in await self._rows(project_key):
            seq, summary = self._summaries.get(row["id"], (None, None))
            if seq != row["seq"]:
                key = {"project_key": project_key, "session_id": row["session_id"]}
                summary = fold(None, key, (await self._read(row["id"])).files.get(_MAIN, []))
                self._summaries[row["id"]] = (row["seq"], summary)
            out.append({**summary, "mtime": row["mtime"]})
        return out

    async def delete(self, key):
        """Move the session to the trash. A sub-agent's transcript is hidden; the log keeps it as long as the session."""
        name = (key["project_key"], key["session_id"])
        async with self._locks[name]:
            found = await self._find(key)
            if not found:
                return
            self._sessions.pop(name, None)
            if key.get("subpath") is None:
                await self._client.json("POST", f"/v1/sessions/{found}/delete", {})
                return
            session = await self._read(found)
            path = _file(key)
            if path in session.files:
                await self._append(found, session.envelopes(_REMOVALS, {}, dumps({"path": path})))

    async def list_subkeys(self, key):
        found = await self._find(key)
        if not found:
            return []
        paths = (await self._read(found)).files
        return [p[len("files/") : -len(".jsonl")] for p in paths if p.startswith("files/") and p.endswith(".jsonl")]

    async def _append(self, session, lines):
        await self._post(f"/v1/sessions/{session}/entries", [], lines)

    async def _post(self, path, header, lines):
        """Send lines, which are stored in one record. A line is (text, entry), without entry if it is an envelope."""
        while lines:
            body = "".join(text + "\n" for text, _ in header + lines).encode()
            try:
                await self._client.send("POST", path, body, {"Content-Type": "application/x-ndjson"})
                return
            except Problem as problem:
                if not problem.line:
                    raise
                at = problem.line - 1 - len(header)
                text, entry = lines[at]
                if problem.code == "conflict":  # its uuid is known
                    del lines[at]
                elif problem.code == "invalid" and entry:  # its parent is not
                    lines[at] = (_envelope(entry["uuid"], _MAIN, entry, text), None)
                else:
                    raise

    def _names(self, key):
        """The ids that the session may have: its own if no other project has it, or one that has the project in it."""
        session = key["session_id"]
        own = [session] if not self._prefix and _is_uuid(session) else []
        return own + [self._scope(key["project_key"]) + session]

    def _scope(self, project_key):
        return self._prefix + hashlib.sha256(project_key.encode()).hexdigest()[:16] + "-"

    async def _find(self, key):
        for name in self._names(key):
            try:
                info = await self._client.json("GET", "/v1/sessions/" + urllib.parse.quote(name, safe=""))
            except Problem as problem:
                if problem.code in ("not-found", "deleted"):
                    continue
                raise
            if info["log"]["dialect"] != "claude" or info["log"].get("deleted"):
                continue
            if self._session_id(key["project_key"], name, info.get("cwd", "")):
                return name
        return None

    async def _create(self, key, entries, lines):
        project = key["project_key"]
        dirs = (e.get("cwd") for e in entries)
        cwd = next((d for d in dirs if isinstance(d, str) and _folder(d) == project), project)
        for name in self._names(key):
            now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            header = {"type": "sesslog.session", "dialect": "claude", "id": name, "timestamp": now, "cwd": cwd}
            try:
                await self._post("/v1/sessions?dialect=claude", [(dumps(header), None)], lines)
                return name
            except Problem as problem:
                if problem.code not in ("exists", "deleted"):
                    raise
            if await self._find(key) == name:  # else it is of another project, or in the trash
                await self._append(name, lines)
                return name
        raise RuntimeError(f"session {key['session_id']} of project {project} was deleted\nhint: sessctl undelete")

    async def _read(self, session):
        return _Session(session, (await self._client.send("GET", f"/v1/sessions/{session}/entries"))[0])

    def _session_id(self, project_key, name, cwd):
        """Return the SDK's id of a session in the log, or None if it is of another project."""
        scope = self._scope(project_key)
        if name.startswith(scope):
            return name[len(scope) :]
        own = cwd == project_key or (re.match(r"[/\\]|[A-Za-z]:", cwd) and _folder(cwd) == project_key)
        return name if not self._prefix and _is_uuid(name) and own else None

    async def _rows(self, project_key):
        found = []
        query = {"dialect": "claude", "limit": "10000"}
        if self._prefix:
            query["prefix"] = self._scope(project_key)
        while True:
            page = await self._client.json("GET", "/v1/sessions?" + urllib.parse.urlencode(query))
            for row in page["sessions"]:
                session = self._session_id(project_key, row["id"], row.get("cwd", ""))
                if session and row["entries"]:
                    time = datetime.datetime.fromisoformat((row.get("changed") or row["modified"]).replace("Z", "+00:00"))
                    found.append({**row, "session_id": session, "mtime": int(time.timestamp() * 1000)})
            if not page.get("next"):
                return found
            query["after"] = page["next"]


class _Session:
    """What the log has of a session, read from its lines."""

    def __init__(self, name="", data=b""):
        self.id = name
        self.files = {}  # entries by path
        self._removed = collections.Counter()  # how often, by path
        self._taken = set()  # ids of envelopes
        parts = ""
        for line in data.split(b"\n"):
            if not line:
                continue
            e = json.loads(line)
            if not e["type"].startswith("sesslog."):
                self._add(_MAIN, e)
                continue
            self._taken.add(e["id"])
            if e["type"] != "sesslog.line":
                continue
            parts = (parts if e.get("piece") else "") + e.get("text", "")
            if e.get("piece", 0) + 1 < e.get("pieces", 1):
                continue
            try:
                self._add(e["path"], json.loads(parts))
            except ValueError:
                pass  # a torn line of the agent's file

    def _add(self, path, entry):
        if path == _REMOVALS:
            self.files.pop(entry["path"], None)
            self._removed[entry["path"]] += 1
        else:
            self.files.setdefault(path, []).append(entry)

    def lines(self, path, entry):
        """Return the lines for an entry of a file."""
        text = dumps(entry)
        whole = entry.get("uuid") and "parentUuid" in entry and entry.get("timestamp")
        if path == _MAIN and whole and not entry["type"].startswith("sesslog."):
            return [(text, entry)]
        return self.envelopes(path, entry, text)

    def envelopes(self, path, entry, text):
        """Return the envelopes of a line, with the ids that sessctl gives them.

        They are made from path, text, and how often the text was there before. An entry with a uuid is there once.
        """
        data = text.encode()
        count = 1 + self._removed[path]
        while not entry.get("uuid") and _envelope_id(path, data, count) in self._taken:
            count += 1
        name = _envelope_id(path, data, count)
        self._taken.add(name)
        *first, last = _cut(data)
        n = len(first)
        lines = [(_envelope(f"{name}.{i}", path, None, part, i, n + 1), None) for i, part in enumerate(first)]
        return lines + [(_envelope(name, path, entry, last, n, n + 1), None)]


def _envelope(name, path, entry, text, piece=0, pieces=1):
    line = {"type": "sesslog.line", "id": name, "path": path}
    if path == _MAIN and entry:
        line |= {"kind": entry["type"], "timestamp": entry.get("timestamp")}
    elif entry is not None:
        line["kind"] = "sesslog.jsonl"
    if pieces > 1:
        line |= {"piece": piece, "pieces": pieces}
    line["text"] = text
    return dumps({k: v for k, v in line.items() if v or k in ("piece", "text")})


def _envelope_id(path, data, count):
    h = hashlib.sha256()
    for part in (b"sesslog.line", path.encode(), data):
        h.update(len(part).to_bytes(8, "big") + part)
    h.update(count.to_bytes(8, "big"))
    return "sesslog-" + h.hexdigest()[:24]


def _cut(data):
    """Cut text into pieces of at most _PIECE bytes, not within a character."""
    parts = []
    while len(data) > _PIECE:
        n = _PIECE
        while data[n] & 0xC0 == 0x80:
            n -= 1
        parts.append(data[:n].decode())
        data = data[n:]
    return parts + [data.decode()]


def _file(key):
    return _MAIN if key.get("subpath") is None else f"files/{key['subpath']}.jsonl"


def _is_uuid(s):
    return re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", s) is not None


def _folder(cwd):
    """Return the folder of a working directory, as the agent names it."""
    data = cwd.encode("utf-16-be", "surrogatepass")
    units = [int.from_bytes(data[i : i + 2], "big") for i in range(0, len(data), 2)]
    name = re.sub(r"[^A-Za-z0-9]", "-", "".join(map(chr, units)))
    if len(name) <= 200:
        return name
    hash = 0
    for unit in units:
        hash = (hash * 31 + unit) & 0xFFFFFFFF
    n = abs(hash - (hash >> 31 << 32))
    digits = ""
    while n or not digits:
        n, d = divmod(n, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[d] + digits
    return name[:200] + "-" + digits
