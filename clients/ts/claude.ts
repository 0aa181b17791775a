// The SessionStore of the Claude Agent SDK over a Sesslog log.
//
// A transcript is a session of dialect claude, as sessctl stores it: lines with a uuid are entries as they are, all
// others, and those of sub-agents, are in envelopes. So sessctl resumes it on any host.

import { createHash } from "node:crypto";
import { Client, type ClientOptions, Problem } from "./client.ts";

export interface SessionKey {
  projectKey: string;
  sessionId: string;
  subpath?: string;
}

export type SessionStoreEntry = { type: string; uuid?: string; timestamp?: string; [k: string]: unknown };

export interface SessionSummaryEntry {
  sessionId: string;
  mtime: number;
  data: Record<string, unknown>;
}

type Fold = (
  prev: SessionSummaryEntry | undefined,
  key: SessionKey,
  entries: SessionStoreEntry[],
  options?: { mtime?: number },
) => SessionSummaryEntry;

export interface StoreOptions extends ClientOptions {
  /** Begins the id of every session, for a token that is limited to a prefix. */
  prefix?: string;
  /** foldSessionSummary of the SDK. Without it, the store has no listSessionSummaries. */
  fold?: Fold;
}

type Row = { id: string; cwd: string; entries: number; seq: number; modified: string; changed?: string };

const mainFile = "main.jsonl";
const removals = "files/.removed.jsonl"; // names transcripts of sub-agents that were deleted alone
const pieceSize = 256 << 10; // bytes that an envelope holds
const maxSessions = 1000; // of which is remembered what the log has

export class SesslogSessionStore {
  readonly listSessionSummaries?: (projectKey: string) => Promise<SessionSummaryEntry[]>;
  readonly #client: Client;
  readonly #prefix: string;
  readonly #queues = new Map<string, Promise<unknown>>(); // the last append by session
  readonly #sessions = new Map<string, Session>(); // those appended to
  readonly #summaries = new Map<string, { seq: number; summary: SessionSummaryEntry }>();

  constructor(options: StoreOptions = {}) {
    this.#client = new Client(options);
    this.#prefix = options.prefix ?? "";
    const fold = options.fold;
    if (fold) this.listSessionSummaries = (projectKey) => this.#summarize(projectKey, fold);
  }

  /** Stores entries durably, in the order of the calls. An entry whose uuid is known is not stored again. */
  append(key: SessionKey, entries: SessionStoreEntry[]): Promise<void> {
    if (entries.length === 0) return Promise.resolve();
    return this.#inOrder(key, () => this.#append(key, entries));
  }

  async load(key: SessionKey): Promise<SessionStoreEntry[] | null> {
    const id = await this.#find(key);
    return (id && (await this.#read(id)).files.get(fileOf(key))) || null;
  }

  async listSessions(projectKey: string): Promise<{ sessionId: string; mtime: number }[]> {
    return (await this.#rows(projectKey)).map(({ sessionId, mtime }) => ({ sessionId, mtime }));
  }

  /** Moves the session to the trash. A sub-agent's transcript is hidden; the log keeps it as long as the session. */
  delete(key: SessionKey): Promise<void> {
    return this.#inOrder(key, () => this.#delete(key));
  }

  async listSubkeys(key: { projectKey: string; sessionId: string }): Promise<string[]> {
    const id = await this.#find(key);
    if (!id) return [];
    const paths = [...(await this.#read(id)).files.keys()];
    return paths.flatMap((p) => /^files\/(.*)\.jsonl$/s.exec(p)?.[1] ?? []);
  }

  /** Runs f after the earlier changes of the session. */
  #inOrder(key: SessionKey, f: () => Promise<void>): Promise<void> {
    const name = nameOf(key);
    const done = (this.#queues.get(name) ?? Promise.resolve()).catch(() => {}).then(f);
    this.#queues.set(name, done);
    return done.finally(() => this.#queues.get(name) === done && this.#queues.delete(name));
  }

  async #delete(key: SessionKey): Promise<void> {
    const id = await this.#find(key);
    if (!id) return;
    this.#sessions.delete(nameOf(key));
    if (key.subpath === undefined) {
      await this.#client.json("POST", `/v1/sessions/${id}/delete`, {});
      return;
    }
    const session = await this.#read(id);
    const path = fileOf(key);
    if (session.files.has(path)) await this.#send(id, session.envelopes(removals, { type: "" }, JSON.stringify({ path })));
  }

  async #append(key: SessionKey, entries: SessionStoreEntry[]): Promise<void> {
    const name = nameOf(key);
    const id = this.#sessions.has(name) ? undefined : await this.#find(key);
    const session = this.#sessions.get(name) ?? (id ? await this.#read(id) : new Session());
    session.files.clear(); // only what was read is kept there
    const lines = entries.flatMap((e) => session.lines(fileOf(key), e));
    this.#sessions.delete(name); // if it fails, what the log has is read again
    if (session.id) await this.#send(session.id, lines);
    else session.id = await this.#create(key, entries, lines);
    this.#sessions.set(name, session);
    if (this.#sessions.size > maxSessions) this.#sessions.delete(this.#sessions.keys().next().value!);
  }

  #send(id: string, lines: Line[]): Promise<void> {
    return this.#post(`/v1/sessions/${id}/entries`, [], lines);
  }

  /** Sends lines, which are stored in one record. */
  async #post(path: string, header: Line[], lines: Line[]): Promise<void> {
    while (lines.length > 0) {
      try {
        const body = [...header, ...lines].map((l) => l.text + "\n").join("");
        await this.#client.send("POST", path, body, { "Content-Type": "application/x-ndjson" });
        return;
      } catch (error) {
        if (!(error instanceof Problem) || !error.line) throw error;
        const at = error.line - 1 - header.length;
        const line = lines[at];
        if (error.code === "conflict") lines.splice(at, 1); // its uuid is known
        else if (error.code === "invalid" && line?.entry) lines[at] = { text: envelope(line.entry.uuid!, mainFile, line.entry, line.text) }; // its parent is not
        else throw error;
      }
    }
  }

  /** The ids that the session may have: its own if no other project has it, or one that has the project in it. */
  #names(key: { projectKey: string; sessionId: string }): string[] {
    const own = this.#prefix === "" && isUUID(key.sessionId) ? [key.sessionId] : [];
    return [...own, this.#scope(key.projectKey) + key.sessionId];
  }

  #scope(projectKey: string): string {
    return `${this.#prefix}${createHash("sha256").update(projectKey).digest("hex").slice(0, 16)}-`;
  }

  async #find(key: { projectKey: string; sessionId: string }): Promise<string | undefined> {
    for (const id of this.#names(key)) {
      const info = await this.#info(id);
      if (info?.log.dialect !== "claude" || info.log.deleted) continue;
      if (this.#sessionId(key.projectKey, id, info.cwd)) return id;
    }
  }

  async #create(key: SessionKey, entries: SessionStoreEntry[], lines: Line[]): Promise<string> {
    const cwd = entries.map((e) => e.cwd).find((d) => typeof d === "string" && folder(d) === key.projectKey) ?? key.projectKey;
    for (const id of this.#names(key)) {
      const header = { type: "sesslog.session", dialect: "claude", id, timestamp: new Date().toISOString(), cwd };
      try {
        await this.#post("/v1/sessions?dialect=claude", [{ text: JSON.stringify(header) }], lines);
        return id;
      } catch (error) {
        if (!(error instanceof Problem) || !["exists", "deleted"].includes(error.code)) throw error;
        if ((await this.#find(key)) !== id) continue; // it is of another project, or in the trash
        await this.#send(id, lines);
        return id;
      }
    }
    throw new Error(`session ${key.sessionId} of project ${key.projectKey} was deleted\nhint: sessctl undelete`);
  }

  async #info(id: string): Promise<{ cwd: string; log: { dialect: string; deleted?: unknown } } | undefined> {
    try {
      return await this.#client.json("GET", `/v1/sessions/${encodeURIComponent(id)}`);
    } catch (error) {
      if (error instanceof Problem && ["not-found", "deleted"].includes(error.code)) return undefined;
      throw error;
    }
  }

  async #read(id: string): Promise<Session> {
    const answer = await this.#client.send("GET", `/v1/sessions/${id}/entries`);
    return new Session(id, await answer.text());
  }

  /** The SDK's id of a session in the log, or undefined if it is of another project. */
  #sessionId(projectKey: string, id: string, cwd: string): string | undefined {
    const scope = this.#scope(projectKey);
    if (id.startsWith(scope)) return id.slice(scope.length);
    const own = cwd === projectKey || (/^([/\\]|[A-Za-z]:)/.test(cwd) && folder(cwd) === projectKey);
    return this.#prefix === "" && isUUID(id) && own ? id : undefined;
  }

  async #rows(projectKey: string): Promise<(Row & { sessionId: string; mtime: number })[]> {
    const found = [];
    const query = new URLSearchParams({ dialect: "claude", limit: "10000" });
    if (this.#prefix) query.set("prefix", this.#scope(projectKey));
    for (;;) {
      const page: { sessions: Row[]; next?: string } = await this.#client.json("GET", `/v1/sessions?${query}`);
      for (const row of page.sessions) {
        const sessionId = row.entries > 0 && this.#sessionId(projectKey, row.id, row.cwd);
        if (sessionId) found.push({ ...row, sessionId, mtime: Date.parse(row.changed ?? row.modified) });
      }
      if (!page.next) return found;
      query.set("after", page.next);
    }
  }

  /** Summaries are made of the entries and kept in memory until the session changes. The log does not store them. */
  async #summarize(projectKey: string, fold: Fold): Promise<SessionSummaryEntry[]> {
    const all = [];
    for (const row of await this.#rows(projectKey)) {
      let known = this.#summaries.get(row.id);
      if (known?.seq !== row.seq) {
        const key = { projectKey, sessionId: row.sessionId };
        const entries = (await this.#read(row.id)).files.get(mainFile) ?? [];
        known = { seq: row.seq, summary: fold(undefined, key, entries, { mtime: row.mtime }) };
        this.#summaries.set(row.id, known);
      }
      all.push({ ...known.summary, mtime: row.mtime });
    }
    return all;
  }
}

/** A line of a request; with the entry if it is one as it is. */
type Line = { text: string; entry?: SessionStoreEntry };

/** What the log has of a session, read from its lines. */
class Session {
  id: string;
  readonly files = new Map<string, SessionStoreEntry[]>();
  readonly removed = new Map<string, number>(); // how often, by path
  readonly #taken = new Set<string>(); // ids of envelopes

  constructor(id = "", text = "") {
    this.id = id;
    let parts = "";
    for (const line of text.split("\n")) {
      if (!line) continue;
      const e = JSON.parse(line);
      if (!e.type.startsWith("sesslog.")) {
        this.#add(mainFile, e);
        continue;
      }
      this.#taken.add(e.id);
      if (e.type !== "sesslog.line") continue;
      parts = (e.piece ? parts : "") + (e.text ?? "");
      if (e.pieces && e.piece + 1 < e.pieces) continue;
      try {
        this.#add(e.path, JSON.parse(parts));
      } catch {
        // a torn line of the agent's file
      }
    }
  }

  #add(path: string, entry: any): void {
    if (path === removals) {
      this.files.delete(entry.path);
      this.removed.set(entry.path, (this.removed.get(entry.path) ?? 0) + 1);
      return;
    }
    if (!this.files.has(path)) this.files.set(path, []);
    this.files.get(path)!.push(entry);
  }

  /** The lines for an entry of a file. */
  lines(path: string, entry: SessionStoreEntry): Line[] {
    const text = JSON.stringify(entry);
    const whole = entry.uuid && "parentUuid" in entry && entry.timestamp && !entry.type.startsWith("sesslog.");
    return path === mainFile && whole ? [{ text, entry }] : this.envelopes(path, entry, text);
  }

  /**
   * The envelopes of a line, with the ids that sessctl gives them: from path, text, and how often the text was there
   * before. An entry with a uuid is there once.
   */
  envelopes(path: string, entry: SessionStoreEntry, text: string): Line[] {
    const bytes = Buffer.from(text);
    let count = 1 + (this.removed.get(path) ?? 0);
    while (!entry.uuid && this.#taken.has(envelopeID(path, bytes, count))) count++;
    const id = envelopeID(path, bytes, count);
    this.#taken.add(id);
    const cuts = cut(bytes);
    return cuts.map((part, piece) => {
      if (piece === cuts.length - 1) return { text: envelope(id, path, entry, part, piece) };
      return { text: envelope(`${id}.${piece}`, path, undefined, part, piece, cuts.length) };
    });
  }
}

function envelope(id: string, path: string, entry: SessionStoreEntry | undefined, text: string, piece = 0, pieces = piece + 1): string {
  const main = path === mainFile;
  return JSON.stringify({
    type: "sesslog.line",
    id,
    path,
    kind: (main ? entry?.type : entry && "sesslog.jsonl") || undefined,
    timestamp: (main && entry?.timestamp) || undefined,
    ...(pieces > 1 && { piece, pieces }),
    text,
  });
}

function envelopeID(path: string, text: Buffer, count: number): string {
  const hash = createHash("sha256");
  const number = (n: number) => {
    const b = Buffer.alloc(8);
    b.writeBigUInt64BE(BigInt(n));
    hash.update(b);
  };
  for (const part of [Buffer.from("sesslog.line"), Buffer.from(path), text]) {
    number(part.length);
    hash.update(part);
  }
  number(count);
  return "sesslog-" + hash.digest("hex").slice(0, 24);
}

/** Text in pieces of at most pieceSize bytes, not cut within a character. */
function cut(bytes: Buffer): string[] {
  const parts = [];
  while (bytes.length > pieceSize) {
    let n = pieceSize;
    while ((bytes[n] & 0xc0) === 0x80) n--;
    parts.push(bytes.toString("utf8", 0, n));
    bytes = bytes.subarray(n);
  }
  return [...parts, bytes.toString()];
}

function nameOf(key: SessionKey): string {
  return JSON.stringify([key.projectKey, key.sessionId]);
}

function fileOf(key: SessionKey): string {
  return key.subpath === undefined ? mainFile : `files/${key.subpath}.jsonl`;
}

function isUUID(s: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(s);
}

/** The folder of a working directory, as the agent names it. */
function folder(cwd: string): string {
  const name = cwd.replace(/[^A-Za-z0-9]/g, "-");
  if (name.length <= 200) return name;
  let hash = 0;
  for (let i = 0; i < cwd.length; i++) hash = (hash * 31 + cwd.charCodeAt(i)) | 0;
  return `${name.slice(0, 200)}-${Math.abs(hash).toString(36)}`;
}
