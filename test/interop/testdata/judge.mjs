// A judge: reads and writes session files by an agent's own code.
//
//   node judge.mjs MODULE
//
// MODULE is the agent's main module. Every line on standard input is a request,
// every line on standard output its answer: {"ok":…} or {"error":…}.
import { createHash } from "node:crypto";
import { pathToFileURL } from "node:url";

const { SessionManager } = await import(pathToFileURL(process.argv[2]).href);

const digest = (value) => createHash("sha256").update(JSON.stringify(value)).digest("hex");

// rows are the agent's tree, parents before children.
function rows(roots) {
  const out = [];
  const stack = roots.map((node) => [node, 0]).reverse();
  while (stack.length > 0) {
    const [{ entry, label, labelTimestamp, children }, depth] = stack.pop();
    out.push({ id: entry.id, type: entry.type, depth, label, labelTimestamp });
    for (const child of [...children].reverse()) stack.push([child, depth + 1]);
  }
  return out;
}

// at is an entry of list, which is given by any number.
const at = (list, n) => list[n % list.length];

const editable = ({ type, message }) =>
  type === "custom_message" || (type === "message" && ["user", "assistant", "toolResult"].includes(message.role));

// What can be done to an open session. s.at says to which entry.
const steps = {
  message: (sm, s) => sm.appendMessage(s.message),
  thinking: (sm, s) => sm.appendThinkingLevelChange(s.level),
  model: (sm, s) => sm.appendModelChange(s.provider, s.model),
  name: (sm, s) => sm.appendSessionInfo(s.name),
  custom: (sm, s) => sm.appendCustomEntry(s.customType, s.data),
  note: (sm, s) => sm.appendCustomMessageEntry(s.customType, s.content, s.display, s.details),
  label: (sm, s) => sm.appendLabelChange(at(sm.getEntries(), s.at).id, s.label),
  branch: (sm, s) => sm.branch(at(sm.getEntries(), s.at).id),
  rewind: (sm) => sm.resetLeaf(),
  summary: (sm, s) => sm.branchWithSummary(s.root ? null : at(sm.getEntries(), s.at).id, s.summary, s.details, s.fromHook),
  compaction: (sm, s) => {
    const kept = s.path ? sm.getBranch() : sm.getEntries();
    if (kept.length > 0) sm.appendCompaction(s.summary, at(kept, s.at).id, s.tokens, s.details, s.fromHook);
  },
  keepNothing: (sm, s) => sm.appendCompaction(s.summary, null, s.tokens),
  usage: (sm, s) => sm.appendUsage(s.kind, s.provider, s.model, s.usage, s.note),
  edit: (sm, s) => {
    const targets = sm.getBranch().filter(editable);
    if (targets.length > 0) sm.appendContextEdit(at(targets, s.at).id, s.replacement);
  },
};

const ops = {
  // read says what the agent sees in a file, and a digest of the context that it
  // builds at each entry.
  async read({ path }) {
    const sm = await SessionManager.open(path);
    const entries = sm.getEntries();
    const out = {
      session: sm.getSessionId(),
      // omp works where it is when that folder is not there any more.
      cwd: sm.getRecordedCwd?.() ?? sm.getCwd(),
      leaf: sm.getLeafId() ?? null,
      name: sm.getSessionName() ?? null,
      ids: entries.map((e) => e.id),
      tree: rows(sm.getTree()),
      context: digest(sm.buildSessionContext()),
      contexts: {},
    };
    for (const { id } of entries) {
      sm.branch(id);
      out.contexts[id] = digest(sm.buildSessionContext());
    }
    return out;
  },
  async context({ path, leaf }) {
    const sm = await SessionManager.open(path);
    if (leaf) sm.branch(leaf);
    return sm.buildSessionContext();
  },
  append({ path, todo }) {
    const sm = SessionManager.open(path);
    for (const s of todo) steps[s.step](sm, s);
    return sm.getLeafId() ?? null;
  },
  // fork makes a file of the path to an entry, as the agent's /fork does.
  fork({ path, leaf }) {
    return SessionManager.open(path).createBranchedSession(leaf);
  },
  // time opens a file and builds its context, in milliseconds.
  time({ path }) {
    globalThis.gc?.();
    const began = performance.now();
    const messages = SessionManager.open(path).buildSessionContext().messages.length;
    return { millis: performance.now() - began, messages };
  },
};

// Lines end at "\n" alone, which readline does not keep to.
let rest = "";
console.log = console.error;
process.stdin.setEncoding("utf8");
process.stdin.on("data", async (chunk) => {
  const lines = (rest + chunk).split("\n");
  rest = lines.pop();
  for (const line of lines) {
    let answer;
    try {
      const request = JSON.parse(line);
      answer = { ok: await ops[request.op](request) }; // one request at a time
    } catch (error) {
      answer = { error: String(error?.stack ?? error) };
    }
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  }
});
