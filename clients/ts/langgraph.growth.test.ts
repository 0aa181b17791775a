// How a thread grows, by vitest. $SESS_URL is a node.

import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { test } from "vitest";
import { SesslogSaver } from "./langgraph.ts";

const steps = Number(process.env.STEPS ?? 100);
const timeout = 240_000; // ms, on a machine that does other things as well

test("a thread whose state is what was said takes at most three times its bytes", async () => {
  const path = `lg${randomUUID()}`;
  const saver = new SesslogSaver({ path });
  const configurable = { thread_id: "t", checkpoint_ns: "" };
  let config: object = { configurable };
  let said = 0;
  const messages: object[] = [];
  for (let i = 1; i <= steps; i++) {
    const content = randomBytes(768).toString("base64");
    said += content.length;
    messages.push({ type: i % 2 ? "human" : "ai", content, id: randomUUID() });
    const versions = { messages: i, "branch:to:agent": i };
    const checkpoint = {
      ...emptyCheckpoint(),
      id: uuid6(i),
      channel_values: { messages: [...messages] },
      channel_versions: versions,
      versions_seen: { __input__: {}, agent: versions },
    };
    config = await saver.put(config, checkpoint, { source: "loop", step: i, parents: {} }, versions);
    await saver.putWrites(config, [["messages", messages.at(-1)]], randomUUID());
  }
  const other = await new SesslogSaver({ path }).getTuple({ configurable });
  assert.deepEqual(other?.checkpoint.channel_values.messages, messages);
  const rows = await fetch(`${process.env.SESS_URL}/v1/sessions?prefix=ds-${path}`).then((r) => r.json());
  const stream = await fetch(`${process.env.SESS_URL}/v1/stream/${path}/t`, { method: "HEAD" });
  const length = Number(stream.headers.get("Stream-Next-Offset")?.split("_")[1]);
  assert.equal(rows.sessions.length, 1);
  assert.ok(length > said && length <= 3 * said, `${said} bytes were said, ${length} are stored`);
}, timeout);

test("a fork of a thread keeps its own values", async () => {
  const saver = new SesslogSaver({ path: `lg${randomUUID()}` });
  const put = (parent: string | undefined, list: unknown[], version: number) =>
    saver.put(
      { configurable: { thread_id: "t", checkpoint_ns: "", checkpoint_id: parent } },
      { ...emptyCheckpoint(), id: uuid6(version), channel_values: { list }, channel_versions: { list: version } },
      { source: "loop", step: version, parents: {} },
      { list: version },
    );
  const root = await put(undefined, [1, [2], 3], 1);
  const id = root.configurable!.checkpoint_id;
  const left = await put(id, [1, [2], 3, "left"], 2);
  const right = await put(id, [1, [2], "right"], 2);
  const more = await put(right.configurable!.checkpoint_id, [1, [2]], 3);
  const back = await put(more.configurable!.checkpoint_id, [1, [2], 3], 4);
  const lists = await Promise.all([root, left, right, more, back].map(async (c) => (await saver.getTuple(c))?.checkpoint.channel_values.list));
  assert.deepEqual(lists, [[1, [2], 3], [1, [2], 3, "left"], [1, [2], "right"], [1, [2]], [1, [2], 3]]);
  await saver.deleteThread("t");
  assert.equal(await saver.getTuple({ configurable: { thread_id: "t" } }), undefined);
  await put(undefined, ["again"], 1);
  assert.deepEqual((await saver.getTuple({ configurable: { thread_id: "t" } }))?.checkpoint.channel_values.list, ["again"]);
});

test("list without a thread lists the threads of the path", async () => {
  const path = `lg é/${randomUUID()}/${"long".repeat(20)}`;
  const saver = new SesslogSaver({ path });
  for (const thread_id of ["a/b", "ü"]) {
    const checkpoint = { ...emptyCheckpoint(), id: uuid6(1) };
    await saver.put({ configurable: { thread_id } }, checkpoint, { source: "input", step: -1, parents: {} }, {});
  }
  const found = [];
  for await (const tuple of new SesslogSaver({ path }).list({})) found.push(tuple.config.configurable?.thread_id);
  assert.deepEqual(found.sort(), ["a/b", "ü"]);
});
