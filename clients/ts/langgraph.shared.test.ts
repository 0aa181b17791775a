// A thread that the Python client continues, by vitest. $SESS_URL is a node, $PYTHON_CLIENT the folder clients/python.

import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { test } from "vitest";
import { SesslogSaver } from "./langgraph.ts";

test.skipIf(!process.env.PYTHON_CLIENT)("the Python client continues a thread, and this one continues that", async () => {
  const path = `lg${randomUUID()}`;
  const saver = new SesslogSaver({ path });
  const put = (config: object, step: number, values: Record<string, unknown>, changed: Record<string, number>) => {
    const versions = { n: 1, ...changed };
    const checkpoint = { ...emptyCheckpoint(), id: `1f00000${step}-0000-6000-8000-000000000000`, channel_values: values, channel_versions: versions };
    return saver.put(config, checkpoint, { source: "loop", step, parents: {} }, changed);
  };
  const list = [1, { b: "ü", a: null }];
  const first = await put({ configurable: { thread_id: "both", checkpoint_ns: "" } }, 1, { list, n: 0.5 }, { list: 1, n: 1 });
  const second = await put(first, 2, { list: [...list, "ts"], n: 0.5 }, { list: 2 });
  await saver.putWrites(second, [["list", ["pending", { x: 1 }]]], "task");

  const env = { ...process.env, SHARED: path, PYTHONDONTWRITEBYTECODE: "1" };
  execFileSync("python3", ["-m", "unittest", "test_langgraph.Shared"], { cwd: process.env.PYTHON_CLIENT, env, stdio: "pipe" });

  for (const reader of [saver, new SesslogSaver({ path })]) {
    const all = [];
    for await (const tuple of reader.list({ configurable: { thread_id: "both" } })) all.push(tuple);
    assert.equal(all.length, 2); // the Python client has removed the first
    const [got] = all;
    const bytes = got.checkpoint.channel_values.bytes as [Uint8Array, unknown];
    assert.deepEqual([...bytes[0]], [1]);
    assert.deepEqual(got.checkpoint.channel_values, { list: [...list, "ts", "py"], n: 0.5, bytes: [bytes[0], { k: 1 }] });
    assert.deepEqual(got.metadata, { source: "loop", step: 3, parents: {} });
    assert.deepEqual(got.pendingWrites, [["task2", "__error__", "failed"], ["task2", "list", ["x"]]]);
    assert.deepEqual(got.parentConfig, second);
  }
  const { config } = (await saver.getTuple({ configurable: { thread_id: "both" } }))!;
  await put(config, 4, { list: [...list, "ts", "py", "ts"], n: 0.5 }, { list: 4 });
  const latest = await new SesslogSaver({ path }).getTuple({ configurable: { thread_id: "both" } });
  assert.deepEqual(latest?.checkpoint.channel_values, { list: [...list, "ts", "py", "ts"], n: 0.5 });
}, 120_000);
