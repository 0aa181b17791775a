// The Session of the OpenAI Agents SDK over a Sesslog log.
//
// A session is a durable stream of JSON: each item is a value as it is. A value of ours takes the last item back, or all.

import { randomUUID } from "node:crypto";
import { Client, type ClientOptions, Problem } from "./client.ts";

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
  readonly #client: Client;
  readonly #id: string;
  readonly #stream: string;
  #offset = "-1"; // up to which the stream was read
  #items: Item[] = [];
  readonly #popped = new Map<string, Item | undefined>(); // by the calls that wait for them
  #reading = Promise.resolve();

  constructor(options: SessionOptions = {}) {
    this.#client = new Client(options);
    this.#id = options.sessionId ?? randomUUID();
    const path = [...(options.path ?? "openai").split("/"), this.#id];
    this.#stream = "/v1/stream/" + path.map(encodeURIComponent).join("/");
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
    if (items.length > 0) await this.#append(items);
  }

  /** Removes and returns the last item. Of concurrent calls, each gets another item. */
  async popItem(): Promise<Item | undefined> {
    const id = randomUUID();
    await this.#read();
    if (this.#items.length === 0) return undefined;
    this.#popped.set(id, undefined);
    try {
      await this.#append([{ type: popped, id }]);
      await this.#read();
      return this.#popped.get(id);
    } finally {
      this.#popped.delete(id);
    }
  }

  /** Takes all items back. The log keeps them as long as the session, like popped ones: erase it to remove them. */
  async clearSession(): Promise<void> {
    await this.#read();
    if (this.#items.length > 0) await this.#append([{ type: cleared, id: randomUUID() }]);
  }

  /** Appends values. A producer of its own makes a repeated request known. */
  async #append(values: object[]): Promise<void> {
    const json = { "Content-Type": "application/json" };
    const producer = { ...json, "Producer-Id": randomUUID(), "Producer-Epoch": "0", "Producer-Seq": "0" };
    const send = () => this.#client.send("POST", this.#stream, JSON.stringify(values), producer);
    try {
      await send();
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 404) throw error;
      await this.#client.send("PUT", this.#stream, undefined, json);
      await send();
    }
  }

  /** Reads what is new. */
  #read(): Promise<void> {
    const done = this.#reading.catch(() => {}).then(() => this.#catchUp());
    this.#reading = done;
    return done;
  }

  async #catchUp(): Promise<void> {
    for (;;) {
      let answer: Response;
      try {
        answer = await this.#client.send("GET", `${this.#stream}?offset=${this.#offset}`);
      } catch (error) {
        if (!(error instanceof Problem) || error.status !== 404) throw error;
        this.#offset = "-1";
        this.#items = [];
        return;
      }
      for (const value of await answer.json()) this.#add(value);
      this.#offset = answer.headers.get("Stream-Next-Offset")!;
      if (answer.headers.get("Stream-Up-To-Date") === "true") return;
    }
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
