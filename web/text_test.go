package web

import (
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/core/display"
	"github.com/sesslog/sesslog/internal/testkit"
)

func TestANSI(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain <b>":                                "plain &lt;b&gt;",
		"\x1b[31mred\x1b[0m not":                   `<span class="fg-1">red</span> not`,
		"\x1b[1;32mbold\x1b[22m green\x1b[m.":      `<span class="bold fg-2">bold</span><span class="fg-2"> green</span>.`,
		"\x1b[38;5;9mx\x1b[39my":                   `<span class="fg-9">x</span>y`,
		"\x1b[38;2;1;2;3mx\x1b[91my":               `x<span class="fg-9">y</span>`,
		"\x1b[2Ka\x1b[10;20Hb":                     "ab",
		"\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b": "ab",
		"10%\r50%\r100%\ndone\r\n":                 "100%\ndone\n",
		"\x1b[31":                                  "",
		"a\x00\u202eb":                             "a␀\ufffdb",
		"a\u200b\U000e0041b":                       "a\ufffd\ufffdb",
		"a\ufe00\ufe0d\U000e0100\U000e01efb":       "a\ufffd\ufffd\ufffd\ufffdb",
		"\u2764\ufe0f 1\ufe0f\u20e3 x\ufe0e\ufe0f": "\u2764\ufe0f 1\ufe0f\u20e3 x\ufe0e\ufffd",
	} {
		if got := string(ansi(in)); got != want {
			t.Errorf("ansi(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"**a** `b`":                  "<p><strong>a</strong> <code>b</code></p>\n",
		"<b>x</b>":                   "<p>&lt;b&gt;x&lt;/b&gt;</p>\n",
		"[a](https://x.example)":     `<p><a href="https://x.example" rel="noopener noreferrer nofollow" target="_blank">a</a></p>` + "\n",
		"a&#8238;b &#xe0041;`&#1;`":  "<p>a\ufffdb \ufffd<code>&amp;#1;</code></p>\n",
		"[a](javascript:alert(1))":   `<p><span class="nolink">a</span></p>` + "\n",
		"![a](https://x.example/y)":  `<p><a href="https://x.example/y" rel="noopener noreferrer nofollow" target="_blank">a</a></p>` + "\n",
		"```go\nvar x = \"<\"\n```":  `<pre class="code chroma" tabindex="0">`,
		"```nonsense\n<script>\n```": `<pre class="code chroma" tabindex="0">&lt;script&gt;` + "\n</pre>",
	} {
		if got := string(newRenderer(time.Minute, time.Now).markdown(in)); !strings.HasPrefix(got, want) {
			t.Errorf("markdown(%q) = %q, want %q", in, got, want)
		}
	}
}

// Each call of this clock takes a second: highlighting ends in the middle of a text with
// many tokens, and for all later ones.
func TestHighlightingEnds(t *testing.T) {
	t.Parallel()
	var clock time.Time
	calls := 0
	r := newRenderer(30*time.Second, func() time.Time {
		calls++
		clock = clock.Add(time.Second)
		return clock
	})
	const short = "```go\nvar x = 1\n```\n"
	if html := r.markdown(short); !strings.Contains(string(html), "<span") {
		t.Errorf("code is not highlighted: %s", html)
	}
	long := "```go\n" + strings.Repeat("f(x)\n", 1000) + "```\n"
	for _, text := range []string{long, short, strings.Repeat(short, 100)} {
		if html := r.markdown(text); strings.Contains(string(html), "<span") {
			t.Errorf("code is highlighted after the time for it: %.200s", html)
		}
	}
	if calls > 40 {
		t.Errorf("highlighting took %d tokens", calls)
	}
}

// BenchmarkHostileCode renders the longest text of an entry, of code blocks that take a
// lexer exponential time.
func BenchmarkHostileCode(b *testing.B) {
	hostile := strings.Repeat("```go\n\""+strings.Repeat(`\`, 60)+"\n```\n", maxText/72)
	for b.Loop() {
		newRenderer(highlightTime, time.Now).markdown(hostile)
	}
}

func TestBranches(t *testing.T) {
	t.Parallel()
	var nodes []display.TreeNode
	for _, depth := range []int{0, 1, 2, 3, 2, 3, 4, 5, 4, 0} {
		nodes = append(nodes, display.TreeNode{Depth: depth})
	}
	levels, firsts := branches(nodes)
	testkit.Equal(t, "levels", []int{0, 0, 1, 1, 1, 1, 2, 2, 2, 0}, levels)
	testkit.Equal(t, "firsts", []bool{2: true, 4: true, 6: true, 8: true, 9: false}, firsts)
}
