// A checkpointer of LangGraph over a Sesslog log.
//
// A thread is a durable stream of JSON: one value per put and putWrites, as the Python client writes them. A channel's
// value is stored if its version is new and it is not that of the parent; of a list, only the elements that the parent's
// does not have.

import {
  BaseCheckpointSaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  compareWritesSortKeys,
  getCheckpointId,
  maxChannelVersion,
  type PendingWrite,
  type SerializerProtocol,
  TASKS,
  WRITES_IDX_MAP,
  writesSortKey,
} from "@langchain/langgraph-checkpoint";
import type { RunnableConfig } from "@langchain/core/runnables";
import { Client, type ClientOptions } from "./client.ts";
import { Stream } from "./stream.ts";

const maxThreads = 100; // in memory

export interface SaverOptions extends ClientOptions {
  /** Where streams are, below /v1/stream/. Default: langgraph. */
  path?: string;
  serde?: SerializerProtocol;
}

/** What serde made of a value: JSON, the base64 of bytes, or, by the Python client, what it made of a list's elements. */
type Stored = { json: unknown } | { type: string; base64: string } | { items: Stored[] };

/**
 * A value of a channel. One that an earlier put has, which is named by its number, is not stored again; of a list that
 * begins like such a value, only the rest is.
 */
type Value = Stored | { same: number } | { like: number; keep: number; rest: unknown[] };

type Put = {
  type: "checkpoint";
  ns: string;
  id: string;
  parent?: string;
  checkpoint: Omit<Checkpoint, "channel_values">;
  metadata: Stored;
  values: Record<string, Value>;
};

type Writes = { type: "writes"; ns: string; id: string; task: string; path: string; writes: [string, Stored][] };

/** Checkpoints that are removed, by namespace. */
type Removed = { type: "removed"; ids: Record<string, string[]> };

type Write = { task: string; idx: number; path: string; channel: string; value: Stored };

/** A checkpoint, and by channel the number of the put that has its value. */
type Saved = Put & { from: Map<string, number> };

export class SesslogSaver extends BaseCheckpointSaver {
  readonly #client: Client;
  readonly #path: string;
  readonly #threads = new Map<string, Thread>();

  constructor(options: SaverOptions = {}) {
    super(options.serde);
    this.#client = new Client(options);
    this.#path = options.path ?? "langgraph";
  }

  async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const threadId = config.configurable?.thread_id;
    if (threadId === undefined) return undefined;
    const thread = await this.#read(threadId);
    const ns = config.configurable?.checkpoint_ns ?? "";
    const space = thread.space(ns);
    const id = getCheckpointId(config) || [...space.saved.keys()].sort().at(-1);
    const saved = id ? space.saved.get(id) : undefined;
    return saved && this.#tuple(threadId, space, saved);
  }

  async *list(config: RunnableConfig, options: CheckpointListOptions = {}): AsyncGenerator<CheckpointTuple> {
    const { thread_id, checkpoint_ns, checkpoint_id } = config.configurable ?? {};
    const before = options.before?.configurable?.checkpoint_id;
    let left = options.limit ?? Infinity;
    for (const threadId of thread_id === undefined ? await this.#threadIds() : [thread_id]) {
      for (const [ns, space] of (await this.#read(threadId)).spaces) {
        if (checkpoint_ns !== undefined && ns !== checkpoint_ns) continue;
        for (const id of [...space.saved.keys()].sort().reverse()) {
          if ((checkpoint_id && id !== checkpoint_id) || (before && id >= before)) continue;
          const saved = space.saved.get(id)!;
          const metadata: any = await this.#load(saved.metadata);
          if (!Object.entries(options.filter ?? {}).every(([k, v]) => metadata[k] === v)) continue;
          if (left-- <= 0) return;
          yield await this.#tuple(threadId, space, saved);
        }
      }
    }
  }

  async put(config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata, newVersions: ChannelVersions): Promise<RunnableConfig> {
    const threadId = required(config, "thread_id");
    const { checkpoint_ns: ns = "", checkpoint_id: parent } = config.configurable!;
    const space = (await this.#read(threadId)).space(ns);
    const { channel_values, ...rest } = checkpoint;
    const values: Record<string, Value> = {};
    for (const channel of Object.keys(newVersions)) {
      if (!Object.hasOwn(channel_values, channel)) continue;
      values[channel] = space.shorten(channel, parent, await this.#dump(channel_values[channel]));
    }
    await this.#append(threadId, { type: "checkpoint", ns, id: checkpoint.id, parent, checkpoint: rest, metadata: await this.#dump(metadata), values });
    return { configurable: { thread_id: threadId, checkpoint_ns: ns, checkpoint_id: checkpoint.id } };
  }

  async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string, taskPath = ""): Promise<void> {
    const threadId = required(config, "thread_id");
    const id = required(config, "checkpoint_id");
    const dumped = await Promise.all(writes.map(async ([channel, value]): Promise<[string, Stored]> => [channel, await this.#dump(value)]));
    await this.#append(threadId, { type: "writes", ns: config.configurable?.checkpoint_ns ?? "", id, task: taskId, path: taskPath, writes: dumped });
  }

  /** Deletes the thread's stream, whose session goes to the trash. */
  async deleteThread(threadId: string): Promise<void> {
    await this.#thread(threadId).stream.delete();
    this.#threads.delete(threadId);
  }

  async #tuple(threadId: string, space: Space, saved: Saved): Promise<CheckpointTuple> {
    const at = (id: string) => ({ configurable: { thread_id: threadId, checkpoint_ns: saved.ns, checkpoint_id: id } });
    const channel_values: Record<string, unknown> = {};
    for (const [channel, n] of saved.from) channel_values[channel] = await this.#load(space.value(channel, n));
    const checkpoint: Checkpoint = { ...structuredClone(saved.checkpoint), channel_values };
    if (checkpoint.v < 4 && saved.parent !== undefined) await this.#addPendingSends(checkpoint, space, saved.parent);
    const pendingWrites = await Promise.all(
      space.writesOf(saved.id).map(async (w): Promise<[string, string, unknown]> => [w.task, w.channel, await this.#load(w.value)]),
    );
    const metadata = (await this.#load(saved.metadata)) as CheckpointMetadata;
    return { config: at(saved.id), checkpoint, metadata, pendingWrites, ...(saved.parent !== undefined && { parentConfig: at(saved.parent) }) };
  }

  /** Checkpoints before version 4 have the tasks that were sent to them in the writes of their parent. */
  async #addPendingSends(checkpoint: Checkpoint, space: Space, parent: string): Promise<void> {
    const sent = space.writesOf(parent).filter((w) => w.channel === TASKS);
    const versions = Object.values(checkpoint.channel_versions);
    checkpoint.channel_values[TASKS] = await Promise.all(sent.map((w) => this.#load(w.value)));
    checkpoint.channel_versions[TASKS] = versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined);
  }

  #thread(threadId: string): Thread {
    const thread = this.#threads.get(threadId) ?? new Thread(new Stream(this.#client, [...this.#path.split("/"), threadId]));
    this.#threads.delete(threadId); // so that the first is the one that was not used for longest
    this.#threads.set(threadId, thread);
    if (this.#threads.size > maxThreads) this.#threads.delete(this.#threads.keys().next().value!);
    return thread;
  }

  async #read(threadId: string): Promise<Thread> {
    const thread = this.#thread(threadId);
    await thread.stream.read((value) => thread.add(value), () => thread.spaces.clear());
    return thread;
  }

  #append(threadId: string, value: Put | Writes): Promise<void> {
    return this.#thread(threadId).stream.append([value]);
  }

  async #threadIds(): Promise<string[]> {
    // The id of a stream's session begins with its path, in which characters are escaped; a long one ends in a hash.
    const escape = (c: string) => (/[A-Za-z0-9-]/.test(c) ? c : c === "/" ? "__" : "_" + c.charCodeAt(0).toString(16).padStart(2, "0"));
    const prefix = [..."ds-" + Buffer.from(this.#path + "/").toString("latin1")].map(escape).join("").slice(0, 50);
    const query = new URLSearchParams({ dialect: "bytestream", limit: "10000", prefix });
    const found = [];
    for (;;) {
      const page: { sessions: { name: string }[]; next?: string } = await this.#client.json("GET", `/v1/sessions?${query}`);
      for (const { name } of page.sessions) if (name.startsWith(this.#path + "/")) found.push(name.slice(this.#path.length + 1));
      if (!page.next) return found;
      query.set("after", page.next);
    }
  }

  async #dump(value: unknown): Promise<Stored> {
    const [type, bytes] = await this.serde.dumpsTyped(value);
    if (type === "json") return { json: JSON.parse(new TextDecoder().decode(bytes)) };
    return { type, base64: Buffer.from(bytes).toString("base64") };
  }

  #load(value: Stored): Promise<unknown> {
    if ("json" in value) return this.serde.loadsTyped("json", JSON.stringify(value.json));
    if ("items" in value) return Promise.all(value.items.map((v) => this.#load(v)));
    return this.serde.loadsTyped(value.type, new Uint8Array(Buffer.from(value.base64, "base64")));
  }
}

/** What was read of a thread's stream. */
class Thread {
  readonly spaces = new Map<string, Space>();
  readonly stream: Stream;

  constructor(stream: Stream) {
    this.stream = stream;
  }

  space(ns: string): Space {
    return this.spaces.get(ns) ?? new Space();
  }

  add(value: Put | Writes | Removed): void {
    if (value.type === "removed") {
      for (const [ns, ids] of Object.entries(value.ids)) this.space(ns).remove(ids);
      return;
    }
    const space = this.space(value.ns);
    this.spaces.set(value.ns, space);
    if (value.type === "checkpoint") space.put(value);
    else space.write(value);
  }
}

/** The checkpoints of one namespace. */
class Space {
  readonly saved = new Map<string, Saved>();
  readonly #puts: Record<string, Value>[] = []; // values by channel, of each put
  readonly #writes = new Map<string, Map<string, Write>>();
  readonly #latest = new Map<string, number>(); // put by channel and version

  put(value: Put): void {
    const from = new Map<string, number>();
    const n = this.#puts.push(value.values) - 1;
    for (const [channel, version] of Object.entries(value.checkpoint.channel_versions)) {
      const key = JSON.stringify([channel, version]);
      const parent = value.parent === undefined ? undefined : this.saved.get(value.parent);
      const inherited = parent?.checkpoint.channel_versions[channel] === version ? parent.from.get(channel) : undefined;
      const stored = Object.hasOwn(value.values, channel) ? value.values[channel] : undefined;
      const at = stored ? ("same" in stored ? stored.same : n) : (inherited ?? this.#latest.get(key));
      if (at === undefined) continue;
      from.set(channel, at);
      this.#latest.set(key, at);
    }
    this.saved.set(value.id, { ...value, from });
  }

  /** A regular write is kept as it was first stored, a special one as it was last. */
  write(value: Writes): void {
    const writes = this.#writes.get(value.id) ?? new Map<string, Write>();
    this.#writes.set(value.id, writes);
    const known = new Set(writes.keys());
    value.writes.forEach(([channel, stored], i) => {
      const idx = WRITES_IDX_MAP[channel] ?? i;
      const key = JSON.stringify([value.task, idx]);
      if (idx < 0 || !known.has(key)) writes.set(key, { task: value.task, idx, path: value.path, channel, value: stored });
    });
  }

  remove(ids: string[]): void {
    for (const id of ids) {
      this.saved.delete(id);
      this.#writes.delete(id);
    }
  }

  writesOf(id: string): Write[] {
    const key = (w: Write) => writesSortKey(w.path, w.task, w.idx);
    return [...(this.#writes.get(id)?.values() ?? [])].sort((a, b) => compareWritesSortKeys(key(a), key(b)));
  }

  /** The value of a channel in the put of that number. */
  value(channel: string, n: number): Stored {
    const rests: unknown[][] = [];
    let keep = Infinity;
    for (;;) {
      const value = this.#puts[n][channel] as Exclude<Value, { same: number }>; // no number of such a put is kept
      if (!("like" in value)) {
        if (rests.length === 0) return value;
        const [kind, first] = listOf(value)!;
        return { [kind]: [first.slice(0, keep), ...rests.reverse()].flat(1) } as Stored;
      }
      rests.push(value.rest.slice(0, Math.max(0, keep - value.keep)));
      keep = Math.min(keep, value.keep);
      n = value.like;
    }
  }

  /** Leaves out what a value has in common with that of the parent. */
  shorten(channel: string, parent: string | undefined, value: Stored): Value {
    const like = parent === undefined ? undefined : this.saved.get(parent)?.from.get(channel);
    if (like === undefined) return value;
    const before = this.value(channel, like);
    if (equal(before, value)) return { same: like };
    const [old, list] = [listOf(before), listOf(value)];
    if (!old || old[0] !== list?.[0]) return value;
    let keep = 0;
    while (keep < old[1].length && keep < list[1].length && equal(old[1][keep], list[1][keep])) keep++;
    return keep > 0 ? { like, keep, rest: list[1].slice(keep) } : value;
  }
}

const equal = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

/** How the elements of a list are stored, and them; undefined if it is no list. */
function listOf(value: Stored): ["json" | "items", unknown[]] | undefined {
  if ("items" in value) return ["items", value.items];
  return "json" in value && Array.isArray(value.json) ? ["json", value.json] : undefined;
}

function required(config: RunnableConfig, name: string): string {
  const value = config.configurable?.[name];
  if (typeof value !== "string" || value === "") throw new Error(`configurable.${name} is missing`);
  return value;
}
