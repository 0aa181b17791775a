// What a Session of the OpenAI Agents SDK promises. $SESS_URL is a node, $AGENTS the module of the SDK.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { type AddressInfo, createServer } from "node:net";
import { describe, test } from "node:test";
import { SesslogSession } from "./openai.ts";

const fresh = () => new SesslogSession({ path: `team/${randomUUID()}`, sessionId: "conversation 1" });
const same = (s: { path: string }) => new SesslogSession({ ...s, sessionId: "s" });
const place = () => ({ path: `team/${randomUUID()}` });
const say = (content: string) => ({ role: "user", content });

describe("session", () => {
  test("a new session has no items", async () => {
    const s = fresh();
    assert.equal(await s.getSessionId(), "conversation 1");
    assert.deepEqual(await s.getItems(), []);
    assert.equal(await s.popItem(), undefined);
    await s.clearSession();
    await s.addItems([]);
    assert.deepEqual(await s.getItems(), []);
  });
  test("the error names a node that does not answer", async () => {
    const server = createServer((socket) => socket.destroy());
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await assert.rejects(new SesslogSession({ url }).getItems(), (e: Error) => e.message.startsWith(`no answer from the node at ${url}: `) && e.message.includes("\nhint: "));
    server.close();
  });
  test("items are kept as they are and in order, for every client", async () => {
    const p = place();
    const items = [say("hi"), { type: "function_call", callId: "c", name: "f", arguments: '{"a":1}', extra: [null, 0.5, "ä😀"] }];
    await same(p).addItems(items);
    await same(p).addItems([say("more")]);
    assert.deepEqual(await same(p).getItems(), [...items, say("more")]);
  });
  test("a limit gives the last items in order", async () => {
    const s = fresh();
    await s.addItems(["a", "b", "c"].map(say));
    assert.deepEqual(await s.getItems(2), ["b", "c"].map(say));
    assert.deepEqual(await s.getItems(9), ["a", "b", "c"].map(say));
    assert.deepEqual(await s.getItems(0), []);
  });
  test("pop removes the last item for every client", async () => {
    const p = place();
    const [a, b] = [same(p), same(p)];
    await a.addItems([say("a"), say("b")]);
    assert.equal((await b.getItems()).length, 2);
    assert.deepEqual(await a.popItem(), say("b"));
    assert.deepEqual(await b.getItems(), [say("a")]);
    await b.addItems([say("c")]);
    assert.deepEqual(await a.getItems(), ["a", "c"].map(say));
  });
  test("concurrent pops get different items", async () => {
    const p = place();
    await same(p).addItems(["a", "b", "c", "d", "e"].map(say));
    const popped = await Promise.all([1, 2, 3, 4].map(() => same(p).popItem()));
    assert.deepEqual(popped.map((i) => i.content).sort(), ["b", "c", "d", "e"]);
    assert.deepEqual(await same(p).getItems(), [say("a")]);
  });
  test("a cleared session is empty and can be continued", async () => {
    const p = place();
    const [a, b] = [same(p), same(p)];
    await a.addItems([say("a")]);
    await b.getItems();
    await a.clearSession();
    assert.deepEqual(await b.getItems(), []);
    await b.addItems([say("b")]);
    assert.deepEqual(await a.getItems(), [say("b")]);
  });
  test("the caller may change the items that it got", async () => {
    const s = fresh();
    await s.addItems([say("a")]);
    (await s.getItems())[0].content = "changed";
    assert.deepEqual(await s.getItems(), [say("a")]);
  });
  test("an item cannot take others back", async () => {
    const s = fresh();
    await assert.rejects(s.addItems([{ type: "sesslog.clear" }]), TypeError);
  });
  test("the SDK's runner continues a conversation", { skip: !process.env.AGENTS }, async () => {
    const { Agent, Runner, Usage, setTracingDisabled } = await import(process.env.AGENTS!);
    setTracingDisabled(true);
    const asked: any[] = [];
    const model = {
      async getResponse(request: any) {
        asked.push(request.input);
        const content = [{ type: "output_text", text: `answer ${asked.length}` }];
        return { usage: new Usage(), output: [{ type: "message", role: "assistant", status: "completed", content }] };
      },
    };
    const p = place();
    const agent = new Agent({ name: "a", model });
    for (const question of ["one", "two"]) await new Runner().run(agent, question, { session: same(p) });
    const said = JSON.stringify(asked[1]);
    for (const text of ["one", "answer 1", "two"]) assert.ok(said.includes(text), `${text} is not in ${said}`);
    assert.equal((await same(p).getItems()).length, 4);
  });
});
