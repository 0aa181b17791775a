// Requests to the HTTP API of a log's nodes.

export interface ClientOptions {
  /** Nodes of one log. Default: $SESS_URL, which may have several separated by commas, else the local node. */
  url?: string | string[];
  /** Default: $SESS_TOKEN. */
  token?: string;
}

/** A Problem is an error that a node answered. Programs use its code. */
export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  /** The line of the request that is at fault, from 1 on. */
  readonly line?: number;

  constructor(status: number, text: string) {
    let detail: { code?: string; detail?: string; next?: string; line?: number } = { detail: text };
    try {
      detail = JSON.parse(text);
    } catch {
      // not by a node: a proxy's text
    }
    if (typeof detail !== "object" || detail === null || Array.isArray(detail)) detail = { detail: text };
    super([detail.detail, detail.next].filter(Boolean).join("\nhint: ") || `HTTP ${status}`);
    this.status = status;
    this.code = detail.code ?? "";
    this.line = detail.line;
  }
}

/** The error of a node that did not answer; its cause is that of fetch. */
function unreachable(url: string, failure: unknown): Error {
  const why = (failure as Error).cause ?? failure;
  const text = (why as Error).message || (why as { code?: string }).code;
  return new Error(`no answer from the node at ${url}: ${text}\nhint: start it with sessnode, or set SESS_URL`, { cause: failure });
}

export class Client {
  readonly #urls: string[];
  readonly #token?: string;

  constructor(options: ClientOptions = {}) {
    const url = options.url ?? process.env.SESS_URL ?? "http://127.0.0.1:7433";
    this.#urls = [url].flat().flatMap((u) => u.split(",")).map((u) => u.trim().replace(/\/+$/, ""));
    this.#token = options.token ?? process.env.SESS_TOKEN;
  }

  /**
   * Sends a request. If a node does not answer, or says that it cannot now, the request is sent again, to the next
   * node: the caller must send only what may arrive twice.
   */
  async send(method: string, path: string, body?: string, headers: Record<string, string> = {}): Promise<Response> {
    if (this.#token) headers = { ...headers, Authorization: `Bearer ${this.#token}` };
    for (let tries = 1; ; tries++) {
      let failure: unknown;
      try {
        const answer = await fetch(this.#urls[0] + path, { method, body, headers, signal: AbortSignal.timeout(20_000) });
        if (answer.ok) return answer;
        failure = new Problem(answer.status, await answer.text());
        if (answer.status !== 503 && answer.status !== 429) throw failure;
      } catch (error) {
        if (error instanceof Problem && error === failure) throw error;
        failure ??= error;
      }
      if (tries === 5) throw failure instanceof Problem ? failure : unreachable(this.#urls[0], failure);
      this.#urls.push(this.#urls.shift()!);
      await new Promise((resolve) => setTimeout(resolve, 100 * 2 ** tries));
    }
  }

  async json(method: string, path: string, body?: unknown): Promise<any> {
    const answer = await this.send(method, path, body === undefined ? undefined : JSON.stringify(body));
    return answer.json();
  }
}
