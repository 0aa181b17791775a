// The Session of the OpenAI Agents SDK over a Sesslog log.
//
// A session is a durable stream of JSON: each item is a value as it is. A value of ours takes the last item back, or all.

import { randomUUID } from "node:crypto";
import { Client, type ClientOptions } from "./client.ts";
import { Stream } from "./stream.ts";

export interface SessionOptions extends ClientOptions {
  /** Default: a new id. */
  sessionId?: string;
  /** Where streams are, below /v1/stream/. Default: openai. */
  path?: string;
}

const popped = "sesslog.pop";
const cleared = "sesslog.clear";

/** Item is the AgentInputItem of the SDK. */
export class SesslogSession<Item extends object = any> {
  readonly #id: string;
  readonly #stream: Stream;
  #items: Item[] = [];
  readonly #popped = new Map<string, Item | undefined>(); // by the calls that wait for them

  constructor(options: SessionOptions = {}) {
    this.#id = options.sessionId ?? randomUUID();
    this.#stream = new Stream(new Client(options), [...(options.path ?? "openai").split("/"), this.#id]);
  }

  async getSessionId(): Promise<string> {
    return this.#id;
  }

  /** The last items, in order; without a limit all. */
  async getItems(limit?: number): Promise<Item[]> {
    await this.#read();
    return structuredClone(limit === undefined ? this.#items : limit > 0 ? this.#items.slice(-limit) : []);
  }

  /** Stores items durably, all or none. */
  async addItems(items: Item[]): Promise<void> {
    for (const item of items) {
      if (isOwn((item as { type?: unknown }).type)) throw new TypeError(`items of type ${(item as any).type} are reserved`);
    }
    if (items.length > 0) await this.#stream.append(items);
  }

  /** Removes and returns the last item. Of concurrent calls, each gets another item. */
  async popItem(): Promise<Item | undefined> {
    const id = randomUUID();
    await this.#read();
    if (this.#items.length === 0) return undefined;
    this.#popped.set(id, undefined);
    try {
      await this.#stream.append([{ type: popped, id }]);
      await this.#read();
      return this.#popped.get(id);
    } finally {
      this.#popped.delete(id);
    }
  }

  /** Takes all items back. The log keeps them as long as the session, like popped ones: erase it to remove them. */
  async clearSession(): Promise<void> {
    await this.#read();
    if (this.#items.length > 0) await this.#stream.append([{ type: cleared, id: randomUUID() }]);
  }

  #read(): Promise<void> {
    return this.#stream.read((value) => this.#add(value), () => (this.#items = []));
  }

  #add(value: any): void {
    if (value.type === cleared) this.#items = [];
    else if (value.type === popped) {
      const item = this.#items.pop();
      if (this.#popped.has(value.id)) this.#popped.set(value.id, item);
    } else this.#items.push(value);
  }
}

function isOwn(type: unknown): boolean {
  return type === popped || type === cleared;
}
