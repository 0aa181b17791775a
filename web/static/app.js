// The script of the page: it loads entries when they come into view, follows new ones, and
// handles keys. All pages work without it, in parts.

const $ = (selector, of = document) => of.querySelector(selector);
const all = (selector, of = document) => [...of.querySelectorAll(selector)];

// fragment returns the nodes of HTML that the node rendered.
function fragment(html) {
  const t = document.createElement("template");
  t.innerHTML = html;
  return t.content;
}

// localize shows the times of nodes in the reader's zone, and returns the nodes.
function localize(of) {
  for (const time of all("time:not([data-ago])", of)) {
    const at = new Date(time.dateTime);
    if (isNaN(at)) continue;
    const today = at.toDateString() === new Date().toDateString();
    time.textContent = at.toLocaleString(undefined, today ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" });
    time.title = at.toLocaleString();
  }
  return of;
}

// took returns the time between two entries, if it is a second or more.
function took(from, to) {
  const s = (new Date($("time", to)?.dateTime) - new Date($("time", from)?.dateTime)) / 1000;
  if (!(s >= 1)) return "";
  return s < 60 ? ` ${s.toFixed(1)} s` : ` ${Math.floor(s / 60)}m${Math.floor(s % 60)}s`;
}

// adopt copies results to their calls in other parts, and hides the originals. These stay,
// because either part can be unloaded and loaded again.
function adopt() {
  const calls = new Map(); // the last one so far: ids can be used again
  for (const result of all("details[data-call], article > [data-result]", transcript)) {
    if (result.dataset.call !== undefined) {
      calls.set(result.dataset.call, result);
      continue;
    }
    const id = result.dataset.result, article = result.closest("article"), call = id && calls.get(id);
    const entry = result.dataset.entry ||= result.id;
    if (!call && result.hidden) { // the part of its call was emptied
      result.hidden = article.hidden = false;
      result.id = entry;
    }
    if (!call || all(".result", call).some((r) => r.dataset.entry === entry)) continue;
    const copy = result.cloneNode(true);
    copy.hidden = false;
    copy.id = entry;
    $(".results", call).append(copy);
    const failed = result.classList.contains("failed");
    call.classList.toggle("failed", failed);
    $(".outcome", call).textContent = (failed ? "failed" : "ok") + took(call.closest("article"), article);
    call.open ||= failed;
    result.hidden = true;
    result.removeAttribute("id");
    if ($(":scope > :not(header, [hidden])", article)) continue;
    article.hidden = true;
    article.removeAttribute("id");
  }
}

// --- a transcript: parts of it are loaded when they come into view ---

const transcript = $("#transcript");
const size = 100; // entries of a part
const keep = 6; // parts before and after those in view that stay loaded
const highest = 1.5e7; // pixels
let entryHeight = 0;
const near = new Set(); // the parts in view, or almost

// hold calls change, and keeps what is in view where it is.
function hold(change) {
  const inView = (e) => {
    const box = e.getBoundingClientRect();
    return box.height > 0 && box.bottom > 0 && box.top < innerHeight;
  };
  const kept = all(".entry", transcript).find(inView) || all(".chunk", transcript).find(inView);
  const top = kept?.getBoundingClientRect().top;
  change();
  if (kept?.isConnected) scrollBy(0, kept.getBoundingClientRect().top - top);
}

async function load(chunk) {
  if (chunk.dataset.state) return;
  chunk.dataset.state = "loading";
  const q = new URLSearchParams(transcript.dataset.query);
  q.set("from", chunk.dataset.from);
  q.set("to", chunk.dataset.to);
  q.set("dialect", transcript.dataset.dialect);
  try {
    const answer = await fetch(transcript.dataset.base + "entries?" + q);
    if (!answer.ok || answer.redirected) throw new Error(answer.statusText); // redirected to the sign-in
    const html = localize(fragment(await answer.text()));
    const inner = all(".chunk", html);
    hold(() => {
      if (inner.length) { // a large part is divided
        near.delete(chunk);
        seen.unobserve(chunk);
        chunk.replaceWith(html);
        for (const one of inner) watch(one);
        return;
      }
      chunk.style.minHeight = "";
      chunk.replaceChildren(html);
      chunk.classList.add("loaded");
      chunk.dataset.state = "loaded";
      delete chunk.dataset.tries;
      forget();
      adopt();
    });
  } catch {
    const tries = Number(chunk.dataset.tries || 0);
    chunk.dataset.tries = tries + 1;
    setTimeout(() => {
      delete chunk.dataset.state;
      again(chunk);
    }, Math.min(30000, 500 * 2 ** tries));
  }
}

// watch loads a part when it comes into view. Until then its height is an estimate, limited
// so that the document is not higher than browsers can scroll.
function watch(chunk) {
  chunk.style.minHeight = (chunk.dataset.to - chunk.dataset.from) * entryHeight + "px";
  seen.observe(chunk);
}

// again loads a part if it is in view.
function again(chunk) {
  seen.unobserve(chunk);
  seen.observe(chunk);
}

// forget unloads the parts far from those in view, which bounds the memory of the page. An
// unloaded part keeps its height.
function forget() {
  const chunks = all(".chunk", transcript);
  const first = chunks.findIndex((c) => near.has(c)), last = chunks.findLastIndex((c) => near.has(c));
  if (first < 0) return;
  const far = chunks.filter((c, i) => (i < first - keep || i > last + keep) && c.dataset.state === "loaded");
  const heights = far.map((c) => c.getBoundingClientRect().height);
  far.forEach((chunk, i) => {
    chunk.style.minHeight = heights[i] + "px";
    chunk.classList.remove("loaded");
    chunk.replaceChildren();
    delete chunk.dataset.state;
    again(chunk);
  });
}

const seen = new IntersectionObserver((changes) => {
  for (const { target, isIntersecting } of changes) {
    if (!isIntersecting) near.delete(target);
    else if (target.isConnected) { near.add(target); load(target); }
  }
}, { rootMargin: "1500px 0px" });

if (transcript) {
  adopt();
  const shown = $("#shown");
  shown.dataset.state = "loaded";
  const chunks = all(".chunk", transcript), { from, to } = shown.dataset;
  entryHeight = Math.min(shown.offsetHeight / (to - from) || 0, highest / chunks.at(-1).dataset.to);
  for (const chunk of chunks) chunk === shown ? seen.observe(chunk) : watch(chunk);
  const entry = transcript.dataset.entry && document.getElementById("e-" + transcript.dataset.entry);
  if (entry) {
    mark(entry.closest("article") || entry);
    entry.scrollIntoView({ block: "center" });
  } else if (transcript.dataset.live) {
    scrollTo(0, document.documentElement.scrollHeight);
  } else {
    shown.scrollIntoView();
  }
}

// --- live: new entries of a head ---

// connect calls on[kind] with the events of an address, and state if the connection opens
// or fails. It reconnects, with growing pauses, from the id of the last event: browsers do
// not if the response is an error. A hidden page has no connection, because browsers open
// six to a host. After an event reload the connection stays closed.
function connect(address, on, state = () => {}) {
  const to = new URL(address, location.href);
  let events, timer, opened, pause = 500; // milliseconds
  const close = () => { clearTimeout(timer); events?.close(); };
  const open = () => {
    close();
    if (document.hidden) return;
    opened = Infinity;
    events = new EventSource(to);
    events.onopen = () => { opened = Date.now(); state(events); };
    events.onerror = () => {
      state(events);
      close();
      pause = Date.now() - opened > 60000 ? 1000 : Math.min(30000, pause * 2);
      timer = setTimeout(open, pause);
    };
    for (const kind in on) events.addEventListener(kind, (e) => {
      if (e.lastEventId) to.searchParams.set("at", e.lastEventId);
      if (kind === "reload") { close(); document.removeEventListener("visibilitychange", open); }
      on[kind](e);
    });
  };
  document.addEventListener("visibilitychange", open);
  open();
}

const pill = $("#follow");

// grow adds entries up to number to: to the last part, or as a new one.
function grow(html, to) {
  let last = all(".chunk", transcript).pop();
  if (!last.classList.contains("loaded") || to - last.dataset.from > size) {
    const from = last.dataset.to;
    last = document.createElement("section");
    last.className = "chunk loaded";
    Object.assign(last.dataset, { from, state: "loaded" });
    transcript.append(last);
    seen.observe(last);
  }
  last.dataset.to = to;
  last.append(html);
  forget();
  adopt();
}

function follow() {
  let fresh = 0, following = true, connected = false;
  const show = (state, text) => {
    pill.hidden = false;
    pill.className = "follow " + state;
    pill.firstChild.textContent = text;
  };
  const state = () => following ? show("", "Following") : show("paused", fresh ? `Paused · ${fresh} new` : "Paused");
  const end = () => scrollTo(0, document.documentElement.scrollHeight);
  const atEnd = () => innerHeight + scrollY >= document.documentElement.scrollHeight - 120;
  const entries = (e) => {
    const html = localize(fragment(e.data));
    const n = all(".entry:not(.silent)", html).length;
    for (const article of html.children) article.classList.add("fresh");
    grow(html, Number(new URLSearchParams(e.lastEventId).get("count")));
    $(".empty")?.remove();
    $("#news").textContent = `${n} new entries`;
    fresh += n;
    if (following) { fresh = 0; end(); }
    state();
  };
  const writer = (e) => $("#writer").replaceChildren(fragment(e.data));
  const reload = () => {
    connected = false;
    if (following) location.reload();
    else show("lost", "Changed, reload");
  };
  connect(transcript.dataset.live, { entries, writer, reload }, ({ readyState }) => {
    connected = readyState === EventSource.OPEN;
    if (connected) state();
    else show("lost", readyState === EventSource.CLOSED ? "Disconnected, reload" : "Reconnecting");
  });
  addEventListener("scroll", () => {
    following = atEnd();
    if (following) fresh = 0;
    if (connected) state();
  }, { passive: true });
  pill.firstChild.addEventListener("click", () => {
    if (!connected) return location.reload();
    following = !following;
    if (following) { fresh = 0; end(); }
    state();
  });
}
if (transcript?.dataset.live) follow();

// --- the list of sessions ---

const rows = $(".rows");

function followRows() {
  const newestFirst = ["", "modified"].includes(new URLSearchParams(location.search).get("sort") ?? "");
  const find = (key) => $(`[data-key="${CSS.escape(key)}"]`, rows);
  const row = (e) => {
    const row = localize(fragment(e.data)).firstElementChild;
    const old = find(row.dataset.key);
    if (old?.classList.contains("current")) row.classList.add("current");
    row.classList.add("fresh");
    if (old && !newestFirst) old.replaceWith(row);
    else { old?.remove(); rows.prepend(row); }
    $(".empty")?.remove();
  };
  const gone = (e) => find(e.data)?.remove();
  connect(rows.dataset.live, { row, gone });
}
if (rows?.dataset.live) followRows();

// More of a list is loaded when its end comes into view.
const more = new IntersectionObserver(async (changes) => {
  const link = changes.find((c) => c.isIntersecting)?.target;
  if (!link || link.dataset.state) return;
  link.dataset.state = "loading";
  try {
    const answer = await fetch(link.href);
    if (!answer.ok || answer.redirected) throw new Error(answer.statusText);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    for (const name of [".rows", ".hits", ".tree"]) {
      const to = $(name), from = $(name, page);
      if (!to || !from) continue;
      for (const item of [...from.children]) {
        if (item.dataset.key && $(`[data-key="${CSS.escape(item.dataset.key)}"]`, to)) continue;
        to.append(localize(document.adoptNode(item)));
      }
    }
    const next = $(".more", page);
    if (next) { link.href = next.getAttribute("href"); delete link.dataset.state; more.unobserve(link); more.observe(link); }
    else link.remove();
  } catch {
    delete link.dataset.state; // it stays a link
  }
}, { rootMargin: "800px" });
for (const link of all(".more")) more.observe(link);

// --- keys and buttons ---

function mark(item) {
  $(".current")?.classList.remove("current");
  item.classList.add("current");
}

function step(by) {
  const items = all(".row, .entry, .hits li, .tree li").filter((i) => i.checkVisibility());
  if (!items.length) return;
  let at = items.findIndex((i) => i.classList.contains("current"));
  if (at < 0) at = items.findIndex((i) => i.getBoundingClientRect().bottom > 80) - Math.sign(by);
  const item = items[Math.min(items.length - 1, Math.max(0, at + by))];
  mark(item);
  item.scrollIntoView({ block: "nearest" });
  if (item.getBoundingClientRect().top < 70) scrollBy(0, item.getBoundingClientRect().top - 70);
}

const keys = {
  j: () => step(1),
  k: () => step(-1),
  g: () => scrollTo(0, 0),
  G: () => scrollTo(0, document.documentElement.scrollHeight),
  "?": () => $("#help").showModal(),
  "/": () => {
    const field = $("[data-search]"), [, of, id] = (transcript?.dataset.base || "").split("/");
    if (field) field.select();
    else if (of !== "shared") location.href = "/search" + (id ? "?session=" + id : "");
  },
  a: () => document.body.classList.toggle("every"),
  e: () => { const calls = all("details.call"), open = calls.some((c) => !c.open); for (const c of calls) c.open = open; },
  Enter: () => {
    const item = $(".current");
    const fold = item && $("details", item);
    if (fold) fold.open = !fold.open;
    else item && $("a", item)?.click();
  },
};

addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, select, textarea, button, summary, a, dialog") && e.key === "Enter") return;
  if (e.target.closest("input, select, textarea") || $("dialog[open]")) return;
  const act = keys[e.key];
  if (act) { e.preventDefault(); act(); }
});

addEventListener("click", async (e) => {
  const button = e.target.closest("[data-copy], [data-copy-link]");
  if (!button) return;
  const was = button.textContent;
  const text = button.dataset.copy || new URL(button.dataset.copyLink, location.href).href;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = text; // to be copied by hand
    return;
  }
  setTimeout(() => { button.textContent = was; }, 1500);
});

// --- a share link: its secret is in the fragment, and leaves the address at once ---

const secret = location.hash.startsWith("#sesslog_") && location.hash.slice(1);
if (secret) {
  history.replaceState(null, "", location.pathname + location.search);
  const form = $("[data-open]");
  if (form) {
    $("input", form).value = secret;
    form.requestSubmit();
  }
}
for (const link of all("[data-link]")) link.textContent = link.href;

localize(document);
