// The published contracts of a SessionStore, and what this store promises beyond them. $SESS_URL is a node, $SDK the
// module of the Claude Agent SDK.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, test } from "node:test";
import { SesslogSessionStore, type SessionStoreEntry } from "./claude.ts";

const { foldSessionSummary: fold } = process.env.SDK ? await import(process.env.SDK) : {};

const fresh = () => new SesslogSessionStore({ prefix: `c${randomUUID()}-`, fold });
const key = { projectKey: "proj", sessionId: "sess" };
const one = { ...key, subpath: "subagents/agent-1" };
const two = { ...key, subpath: "subagents/agent-2" };
const entry = (members: object): SessionStoreEntry => ({ type: "x", ...members });
const ids = (sessions: { sessionId: string }[]) => sessions.map((s) => s.sessionId).sort();

describe("contracts", () => {
  test("load returns what was appended, in its order", async () => {
    const store = fresh();
    const entries = [entry({ uuid: "b", n: 1 }), entry({ uuid: "a", n: 2, deep: { list: [1, null, "ä\n"] } })];
    await store.append(key, entries);
    assert.deepEqual(await store.load(key), entries);
  });
  test("load of an unknown key is null", async () => {
    const store = fresh();
    assert.equal(await store.load(key), null);
    await store.append(key, [entry({ uuid: "a" })]);
    assert.equal(await store.load({ ...key, subpath: "nope" }), null);
  });
  test("appends keep the order of the calls", async () => {
    const store = fresh();
    const batches = [["z"], ["a", "m"], ["b"]].map((batch) => batch.map((uuid) => entry({ uuid })));
    await Promise.all(batches.map((batch) => store.append(key, batch)));
    assert.deepEqual(await store.load(key), batches.flat());
  });
  test("an empty append stores nothing", async () => {
    const store = fresh();
    await store.append(key, []);
    assert.equal(await store.load(key), null);
    await store.append(key, [entry({ uuid: "a" })]);
    await store.append(key, []);
    assert.deepEqual(await store.load(key), [entry({ uuid: "a" })]);
  });
  test("sub-agents are separate from the main transcript", async () => {
    const store = fresh();
    await store.append(key, [entry({ uuid: "m" })]);
    await store.append(one, [entry({ uuid: "s" })]);
    assert.deepEqual(await store.load(key), [entry({ uuid: "m" })]);
    assert.deepEqual(await store.load(one), [entry({ uuid: "s" })]);
  });
  test("projects are isolated", async () => {
    const store = fresh();
    for (const projectKey of ["A", "B"]) await store.append({ projectKey, sessionId: "s1" }, [entry({ from: projectKey })]);
    for (const projectKey of ["A", "B"]) {
      assert.deepEqual(await store.load({ projectKey, sessionId: "s1" }), [entry({ from: projectKey })]);
      assert.equal((await store.listSessions(projectKey)).length, 1);
    }
  });
  test("listSessions lists the sessions of a project", async () => {
    const store = fresh();
    for (const [projectKey, sessionId] of [["proj", "a"], ["proj", "b"], ["other", "c"]]) await store.append({ projectKey, sessionId }, [entry({})]);
    const sessions = await store.listSessions("proj");
    assert.deepEqual(ids(sessions), ["a", "b"]);
    assert.ok(sessions.every((s) => Number.isInteger(s.mtime) && s.mtime > 1e12));
    assert.deepEqual(await store.listSessions("never"), []);
  });
  test("listSessions leaves sub-agents out", async () => {
    const store = fresh();
    await store.append(key, [entry({})]);
    await store.append(one, [entry({})]);
    assert.deepEqual(ids(await store.listSessions("proj")), ["sess"]);
  });
  test("a deleted session is not loaded", async () => {
    const store = fresh();
    await store.delete({ ...key, sessionId: "never" });
    await store.append(key, [entry({})]);
    await store.delete(key);
    assert.equal(await store.load(key), null);
  });
  test("delete takes the sub-agents and no other session", async () => {
    const store = fresh();
    const others = [{ ...key, sessionId: "sess2" }, { ...key, projectKey: "other" }];
    for (const k of [key, one, two, ...others]) await store.append(k, [entry({})]);
    await store.delete(key);
    for (const k of [key, one, two]) assert.equal(await store.load(k), null);
    for (const k of others) assert.equal((await store.load(k))?.length, 1);
    assert.deepEqual(await store.listSubkeys(key), []);
    assert.deepEqual(ids(await store.listSessions("proj")), ["sess2"]);
  });
  test("delete of a sub-agent leaves the rest", async () => {
    const store = fresh();
    for (const k of [key, one, two]) await store.append(k, [entry({ uuid: "u" })]);
    await store.delete(one);
    assert.equal(await store.load(one), null);
    assert.equal((await store.load(two))?.length, 1);
    assert.equal((await store.load(key))?.length, 1);
    assert.deepEqual(await store.listSubkeys(key), ["subagents/agent-2"]);
  });
  test("listSubkeys lists the sub-agents of a session", async () => {
    const store = fresh();
    for (const k of [key, one, two, { ...key, sessionId: "other", subpath: "subagents/agent-x" }]) await store.append(k, [entry({})]);
    assert.deepEqual((await store.listSubkeys(key)).sort(), ["subagents/agent-1", "subagents/agent-2"]);
  });
  test("listSubkeys leaves the main transcript out", async () => {
    const store = fresh();
    await store.append(key, [entry({})]);
    assert.deepEqual(await store.listSubkeys(key), []);
    assert.deepEqual(await store.listSubkeys({ ...key, sessionId: "never" }), []);
  });
});

describe("promises", () => {
  const session = () => ({ projectKey: "-home-me-site", sessionId: randomUUID() });
  const line = (uuid: string, parentUuid: string | null, content: string) =>
    ({ type: "user", uuid, parentUuid, timestamp: "2026-01-02T03:04:05.678Z", cwd: "/home/me/site", message: { role: "user", content } });

  test("an entry with a known uuid is stored once", async () => {
    const store = new SesslogSessionStore();
    const k = session();
    const first = line(randomUUID(), null, "hi");
    const sub = { ...k, subpath: "subagents/agent-1" };
    for (let i = 0; i < 2; i++) {
      for (const s of [store, new SesslogSessionStore()]) {
        await s.append(k, [first, line(randomUUID(), first.uuid, `turn ${i}`)]);
        await s.append(sub, [first]);
      }
    }
    assert.equal((await store.load(k))?.length, 5);
    assert.deepEqual(await store.load(sub), [first]);
  });
  test("entries without a uuid are stored each time", async () => {
    const k = session();
    for (let i = 0; i < 3; i++) await new SesslogSessionStore().append(k, [{ type: "mode", mode: "normal" }, { type: "mode", mode: "normal" }]);
    assert.equal((await new SesslogSessionStore().load(k))?.length, 6);
  });
  test("an entry whose parent the store never got is stored", async () => {
    const store = new SesslogSessionStore();
    const k = session();
    const entries = [line(randomUUID(), randomUUID(), "after a gap")];
    entries.push(line(randomUUID(), entries[0].uuid, "and on"), line(randomUUID(), randomUUID(), "another gap"));
    await store.append(k, entries);
    assert.deepEqual(await store.load(k), entries);
  });
  test("another project does not see a session by its id", async () => {
    const store = new SesslogSessionStore();
    const k = session();
    const foreign = { ...k, projectKey: "-home-you" };
    await store.append(k, [line(randomUUID(), null, "mine")]);
    assert.equal(await store.load(foreign), null);
    await store.append(foreign, [line(randomUUID(), null, "yours")]);
    assert.equal((await store.load(k))?.length, 1);
    assert.equal((await store.load(foreign))?.length, 1);
    assert.ok(ids(await store.listSessions(foreign.projectKey)).includes(k.sessionId));
  });
  test("a session of another agent is not taken for one", async () => {
    const k = session();
    const made = await fetch(`${process.env.SESS_URL}/v1/sessions`, { method: "POST", body: JSON.stringify({ id: k.sessionId, cwd: "/home/me/site" }) });
    assert.equal(made.status, 201);
    const store = new SesslogSessionStore();
    assert.equal(await store.load(k), null);
    await store.append(k, [entry({})]);
    assert.deepEqual(await store.load(k), [entry({})]);
  });
  test("a transcript of a sub-agent that was deleted can be appended again", async () => {
    const store = fresh();
    for (let i = 0; i < 3; i++) {
      await store.append(one, [entry({ uuid: "u" })]);
      assert.deepEqual(await store.load(one), [entry({ uuid: "u" })]);
      await store.delete(one);
      assert.equal(await store.load(one), null);
    }
  });
  test("large entries of sub-agents are kept", async () => {
    const store = fresh();
    const entries = [entry({ uuid: "big", text: "aä😀".repeat(100_000) }), entry({ uuid: "small" })];
    await store.append(one, entries);
    assert.deepEqual(await store.load(one), entries);
  });
  test("a path outside of the session is refused", async () => {
    await assert.rejects(fresh().append({ ...key, subpath: "../../x" }, [entry({})]), { code: "invalid" });
  });
  test("summaries follow the entries", { skip: !fold }, async () => {
    const store = fresh();
    const k = { ...key, sessionId: "summary" };
    const stamp = (n: number) => `2024-01-01T00:00:0${n}.000Z`;
    await store.append(k, [entry({ timestamp: stamp(0), customTitle: "first" }), entry({ timestamp: stamp(1) })]);
    assert.equal((await store.listSessionSummaries!("proj"))[0].data.customTitle, "first");
    await store.append(k, [entry({ timestamp: stamp(2), customTitle: "second" })]);
    await store.append({ ...k, projectKey: "other" }, [entry({})]);
    const [summary, ...more] = await store.listSessionSummaries!("proj");
    assert.deepEqual(more, []);
    assert.equal(summary.data.customTitle, "second");
    assert.equal(summary.mtime, (await store.listSessions("proj"))[0].mtime);
    assert.equal(fold(summary, k, [entry({ timestamp: stamp(3) })], { mtime: summary.mtime }).sessionId, "summary");
    assert.deepEqual(await store.listSessionSummaries!("never"), []);
    await store.delete(k);
    assert.deepEqual(await store.listSessionSummaries!("proj"), []);
  });
});
