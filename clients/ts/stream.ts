// Durable streams of JSON values.

import { randomUUID } from "node:crypto";
import { type Client, Problem } from "./client.ts";

const json = { "Content-Type": "application/json" };

export class Stream {
  readonly #client: Client;
  readonly #url: string;
  #offset = "-1"; // up to which the stream was read
  #name: string | null = null; // of the stream that was read
  #reading = Promise.resolve();

  constructor(client: Client, path: string[]) {
    this.#client = client;
    this.#url = "/v1/stream/" + path.map(encodeURIComponent).join("/");
  }

  /** Appends values, all or none. A producer of its own makes a repeated request known. */
  async append(values: object[]): Promise<void> {
    const producer = { ...json, "Producer-Id": randomUUID(), "Producer-Epoch": "0", "Producer-Seq": "0" };
    const send = () => this.#client.send("POST", this.#url, JSON.stringify(values), producer);
    if (await found(send())) return;
    await this.#client.send("PUT", this.#url, undefined, json);
    await send();
  }

  /** Passes the values to add that no earlier call has passed. If there is no stream, or another one, calls reset. */
  read(add: (value: any) => void, reset: () => void): Promise<void> {
    const done = this.#reading.catch(() => {}).then(() => this.#read(add, reset));
    this.#reading = done;
    return done;
  }

  async #read(add: (value: any) => void, reset: () => void): Promise<void> {
    for (;;) {
      const answer = await found(this.#client.send("GET", `${this.#url}?offset=${this.#offset}`));
      const name = answer?.headers.get("Sess-Stream") ?? null;
      if (!answer || (this.#offset !== "-1" && name !== this.#name)) {
        this.#offset = "-1";
        reset();
        if (answer) continue;
        return;
      }
      this.#name = name;
      for (const value of await answer.json()) add(value);
      this.#offset = answer.headers.get("Stream-Next-Offset")!;
      if (answer.headers.get("Stream-Up-To-Date") === "true") return;
    }
  }

  async delete(): Promise<void> {
    await found(this.#client.send("DELETE", this.#url));
  }
}

/** The answer, or undefined if there is no stream, or only forks of it. */
async function found(answer: Promise<Response>): Promise<Response | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof Problem && (error.status === 404 || error.status === 410)) return undefined;
    throw error;
  }
}
