package web_test

import (
	"context"
	"flag"
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/memory"
	"github.com/chromedp/chromedp"

	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/session/catalog"
)

var longSession = flag.Int("entries", 3000, "open a session of so many entries")

// walker scrolls a transcript, and notes what is in it. window.walk scrolls up or down
// until an entry is in the page, and returns what it saw since the last call.
const walker = `(() => {
	const answers = [];
	new PerformanceObserver((list) => {
		for (const e of list.getEntries()) if (e.name.includes("/entries?")) answers.push(e.responseEnd - e.requestStart);
	}).observe({ type: "resource", buffered: true });
	let seen = new Set(), most = 0, wrong = [], moved = 0;
	const entries = () => [...document.querySelectorAll(".entry")];
	const inView = (e) => { const r = e.getBoundingClientRect(); return r.bottom > 0 && r.top < innerHeight; };
	const settled = async () => {
		while (![...document.querySelectorAll(".chunk")].filter(inView).every((c) => c.classList.contains("loaded"))) await new Promise((f) => setTimeout(f, 5));
	};
	const look = () => {
		let before = -1;
		for (const e of entries()) {
			const n = Number(e.dataset.n);
			if (n <= before) wrong.push(n + " after " + before);
			before = n;
			seen.add(n);
		}
		most = Math.max(most, document.getElementsByTagName("*").length);
	};
	window.walk = async (by, until) => {
		for (;;) {
			await settled();
			look();
			const at = scrollY;
			if (entries().filter(inView).some((e) => by * (e.dataset.n - until) >= 0)) break;
			scrollBy(0, by * 5 * innerHeight);
			const kept = entries().find(inView), top = kept?.getBoundingClientRect().top;
			await settled();
			if (kept?.isConnected) moved = Math.max(moved, Math.abs(kept.getBoundingClientRect().top - top));
			if (scrollY === at) await new Promise((f) => setTimeout(f, 5));
		}
		const took = answers.splice(0).sort((a, b) => a - b);
		const out = { Seen: seen.size, Most: most, Wrong: wrong, Moved: moved, Answers: took.length, Median: took[took.length >> 1] || 0, Longest: took.pop() || 0 };
		seen = new Set(); most = 0; wrong = []; moved = 0;
		return out;
	};
	return true;
})()`

// A walk is what window.walk saw.
type walk struct {
	Seen, Most      int // entries; elements at a time
	Wrong           []string
	Moved           float64 // how far loading moved what was in view, in pixels
	Answers         int
	Median, Longest float64 // milliseconds of the answers with parts
}

// Scrolling through a long session shows each entry once and in order, does not move what
// is in view, and keeps only the parts around the view. The test logs the time to the
// first paint, and for each quarter the memory of the page and the time of the answers.
func TestLongSessionIsLoadedInParts(t *testing.T) {
	t.Parallel()
	n := start(t)
	b := open(t, n.Base)
	count := *longSession
	id := importFile(t, n, session("long-000001", count))
	for list, err := n.List(t.Context(), catalog.Filter{}); len(list.Sessions) == 0; list, err = n.List(t.Context(), catalog.Filter{}) {
		testkit.Must(t, err) // until the node's directory has read the session
	}
	b.visit(t, n.Base+"/search")
	b.visit(t, n.Base+"/sessions/"+id)
	testkit.Equal(t, "the first entry that is loaded", fmt.Sprint(count-100), eval[string](t, b, `document.querySelector(".entry").dataset.n`))
	b.await(t, `performance.getEntriesByName("first-contentful-paint")[0]`)
	t.Logf("%d entries: the first paint came after %.0f ms, the answer took %.0f ms; %s", count,
		eval[float64](t, b, `performance.getEntriesByName("first-contentful-paint")[0].startTime`),
		eval[float64](t, b, `performance.getEntriesByType("navigation")[0].responseEnd`), b.memory(t))
	eval[bool](t, b, walker)
	const quarters = 4
	for _, up := range []bool{true, false} {
		for i := range quarters {
			by, until := 1, (i+1)*(count-1)/quarters
			if up {
				by, until = -1, count-1-until
			}
			got := eval[walk](t, b, fmt.Sprintf("walk(%d, %d)", by, until))
			if got.Seen < count/quarters || len(got.Wrong) > 0 || got.Moved > 2 || got.Most > 20_000 {
				t.Errorf("to entry %d: %+v", until, got)
			}
			t.Logf("to entry %d: %d entries, %d answers of %.0f ms, at most %.0f ms; at most %d elements; %s", until, got.Seen, got.Answers, got.Median, got.Longest, got.Most, b.memory(t))
		}
	}
	b.wantQuiet(t)
}

// memory says what the tab keeps.
func (b *browser) memory(t *testing.T) string {
	t.Helper()
	var nodes memory.GetDOMCountersResult
	b.do(t, chromedp.Func(func(ctx context.Context, tab *chromedp.Target) error {
		_, err := cdp.Call(ctx, tab, heapprofiler.CollectGarbage, cdp.Empty{})
		if err != nil {
			return err
		}
		nodes, err = cdp.Call(ctx, tab, memory.GetDOMCounters, cdp.Empty{})
		return err
	}))
	return fmt.Sprintf("heap of %d KiB, %d nodes", eval[int](t, b, `performance.memory.usedJSHeapSize`)>>10, nodes.Nodes)
}

// calling and resulting are entries 99 and 100 of a session: a call and its result.
const (
	calling   = `{"type":"message","id":"e99","parentId":"e98","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"call1","name":"bash","arguments":{"command":"make"}}],"stopReason":"toolUse","timestamp":1}}`
	resulting = `{"type":"message","id":"e100","parentId":"e99","timestamp":"2026-01-01T00:00:03.500Z","message":{"role":"toolResult","toolCallId":"call1","toolName":"bash","content":[{"type":"text","text":"it was made"}],"isError":false,"timestamp":3500}}`
)

// A result that is appended after its call appears under it.
func TestResultAppearsUnderItsCall(t *testing.T) {
	t.Parallel()
	n := start(t)
	b := open(t, n.Base)
	id := importFile(t, n, session("calling-000001", 99)+calling+"\n")
	b.visit(t, n.Base+"/sessions/"+id)
	b.await(t, `document.querySelector("#follow button").textContent === "Following"`)
	n.append(t, id, resulting)
	b.await(t, `document.querySelector("details.call .result")?.textContent.trim() === "it was made"`)
	b.wantQuiet(t)
}

// A result that is in another part than its call is shown once under the call, also after
// both parts were emptied and loaded again.
func TestResultIsShownOnceUnderItsCall(t *testing.T) {
	t.Parallel()
	n := start(t)
	b := open(t, n.Base)
	file := session("divided-000001", 99)
	file += calling + "\n" + resulting + "\n"
	for i := 101; i < 1500; i++ {
		file += message(i, "user", fmt.Sprint("text ", i)) + "\n"
	}
	id := importFile(t, n, file)
	b.visit(t, n.Base+"/sessions/"+id+"?from=0")
	eval[bool](t, b, walker)
	for range 2 {
		eval[walk](t, b, `walk(1, 150)`)
		eval[walk](t, b, `walk(-1, 99)`)
		b.await(t, `document.querySelector("details.call .result")`)
		testkit.Equal(t, "results that can be seen", []string{"it was made"}, eval[[]string](t, b, `[...document.querySelectorAll(".result")].filter((r) => !r.closest("[hidden]")).map((r) => r.textContent.trim())`))
		testkit.Equal(t, "outcome", "ok 2.5 s", eval[string](t, b, `document.querySelector("details.call .outcome").textContent`))
		eval[walk](t, b, `walk(1, 1499)`)
		testkit.Equal(t, "calls in the page", 0, eval[int](t, b, `document.querySelectorAll("details.call").length`))
	}
	b.wantQuiet(t)
}
