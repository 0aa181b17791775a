package web

import (
	"strings"
	"testing"

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
		"```go\nvar x = \"<\"\n```":  `<pre class="code" tabindex="0">`,
		"```nonsense\n<script>\n```": `<pre class="code" tabindex="0">&lt;script&gt;` + "\n</pre>",
	} {
		if got := string(markdown(in)); !strings.HasPrefix(got, want) {
			t.Errorf("markdown(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestHighlight(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ language, code, want string }{
		{"go", "if f(1) // <b>", `<span class="k">if</span> <span class="nf">f</span>(<span class="m">1</span>) <span class="c">// &lt;b&gt;</span>`},
		{"python", `x = """a # b"""`, `x = <span class="s">&#34;&#34;&#34;a # b&#34;&#34;&#34;</span>`},
		{"JSON", `{"a": null}`, `{<span class="s">&#34;a&#34;</span>: <span class="k">null</span>}`},
		{"diff", "-a\n+<i>", `<span class="gd">-a</span>` + "\n" + `<span class="gi">+&lt;i&gt;</span>`},
		{"sql", "SELECT 'it' -- all", `<span class="k">SELECT</span> <span class="s">&#39;it&#39;</span> <span class="c">-- all</span>`},
		{"html", `<p id="x">a</p>`, `<span class="k">&lt;p</span> id=<span class="s">&#34;x&#34;</span><span class="k">&gt;</span>a<span class="k">&lt;/p</span><span class="k">&gt;</span>`},
		{"python", `x = f'a' + b'c'`, `x = <span class="s">f&#39;a&#39;</span> + <span class="s">b&#39;c&#39;</span>`},
		{"yaml", "don't: 1", `don&#39;t: <span class="m">1</span>`},
		{"", `"<`, "&#34;&lt;"},
	} {
		if got := string(highlight(c.language, c.code)); got != c.want {
			t.Errorf("%s: %s, want %s", c.code, got, c.want)
		}
	}
}

// A token that is not closed ends with the line or the code. If it did not match, the rest
// of the code would be read again for each token after it.
func TestUnclosedTokensAreHighlighted(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ language, code, class, token string }{
		{"go", "/*a b\nc", "c", "/*a b\nc"},
		{"go", "\"a \\\"b\nc", "s", "&#34;a \\&#34;b"},
		{"go", "'a b\nc", "s", "&#39;a b"},
		{"go", "`a b\nc", "s", "`a b\nc"},
		{"python", `"""a b` + "\n\"c\"", "s", "&#34;&#34;&#34;a b\n&#34;c&#34;"},
		{"html", "<!--a <b>\nc", "c", "&lt;!--a &lt;b&gt;\nc"},
		{"html", "\"a <b>\nc", "s", "&#34;a &lt;b&gt;"},
	} {
		want := `<span class="` + c.class + `">` + c.token + `</span>`
		if got := string(highlight(c.language, c.code)); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, want %s", c.code, got, want)
		}
	}
}

func TestBranchLevels(t *testing.T) {
	t.Parallel()
	var nodes []display.TreeNode
	for _, depth := range []int{0, 1, 2, 3, 2, 3, 4, 5, 4, 0} {
		nodes = append(nodes, display.TreeNode{Depth: depth})
	}
	testkit.Equal(t, "levels", []int{0, 0, 1, 1, 1, 1, 2, 2, 2, 0}, branchLevels(nodes))
}
