package web

import (
	"bytes"
	"html/template"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/chroma/v2"
	chromahtml "github.com/alecthomas/chroma/v2/formatters/html"
	"github.com/alecthomas/chroma/v2/lexers"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"
)

// An htmlRenderer renders texts and code as HTML, for one request. It highlights code for a
// limited time and leaves the rest plain: on some texts, chroma's regular expressions need
// exponential time.
type htmlRenderer struct {
	goldmark.Markdown
	now  func() time.Time
	left time.Duration
}

// highlightTime is how long a page highlights code, exportTime how long an export does.
const (
	highlightTime = time.Second
	exportTime    = time.Minute
)

// newRenderer returns a renderer of Markdown in which raw HTML is shown as text, and which
// fetches no image.
func newRenderer(highlight time.Duration, now func() time.Time) *htmlRenderer {
	r := &htmlRenderer{now: now, left: highlight}
	r.Markdown = goldmark.New(
		goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList),
		goldmark.WithParser(parser.NewParser(
			parser.WithBlockParsers(slices.DeleteFunc(parser.DefaultBlockParsers(), is(parser.NewHTMLBlockParser()))...),
			parser.WithInlineParsers(slices.DeleteFunc(parser.DefaultInlineParsers(), is(parser.NewRawHTMLParser()))...),
			parser.WithParagraphTransformers(parser.DefaultParagraphTransformers()...),
		)),
		goldmark.WithRendererOptions(html.WithHardWraps(), renderer.WithNodeRenderers(util.Prioritized(safe{r}, 100))),
	)
	return r
}

// is reports whether a parser is of the type of p.
func is(p any) func(util.PrioritizedValue) bool {
	return func(v util.PrioritizedValue) bool { return v.Value == p }
}

// markdown returns a text that a person or a model wrote as HTML.
func (r *htmlRenderer) markdown(s string) template.HTML {
	var out bytes.Buffer
	s = visible(s)
	if tangled(s) || r.Convert([]byte(s), &out) != nil {
		return template.HTML("<pre>" + template.HTMLEscapeString(s) + "</pre>") // #nosec G203 -- escaped
	}
	// Again: Markdown has names for characters, such as &#8238;.
	return template.HTML(visible(out.String())) // #nosec G203 -- goldmark escapes text, and safe checks links
}

const (
	maxMarks   = 600 // of emphasis and links in a paragraph
	maxNesting = 40  // of quotes and lists
)

var nested = regexp.MustCompile(`(?m)^(?:[ \t]*(?:>|[-+*]|\d{1,9}[.)])){` + strconv.Itoa(maxNesting) + `}`)

// tangled reports whether a text would take long to read: the time is quadratic in the
// marks of a paragraph, and in the depth of its nesting.
func tangled(s string) bool {
	for paragraph := range strings.SplitSeq(s, "\n\n") {
		marks := 0
		for _, mark := range []string{"[", "*", "_", "\n|"} {
			marks += strings.Count(paragraph, mark)
		}
		if marks > maxMarks {
			return true
		}
	}
	return nested.MatchString(s)
}

// safe renders the nodes for which goldmark trusts the author more than this page does.
type safe struct{ *htmlRenderer }

// RegisterFuncs implements renderer.NodeRenderer.
func (s safe) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindLink, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		link(w, string(n.(*ast.Link).Destination), entering)
		return ast.WalkContinue, nil
	})
	r.Register(ast.KindImage, func(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		link(w, string(n.(*ast.Image).Destination), entering)
		return ast.WalkContinue, nil
	})
	r.Register(ast.KindAutoLink, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			auto := n.(*ast.AutoLink)
			link(w, string(auto.URL(source)), true)
			_, _ = w.WriteString(template.HTMLEscapeString(string(auto.Label(source))))
			link(w, string(auto.URL(source)), false)
		}
		return ast.WalkContinue, nil
	})
	r.Register(ast.KindFencedCodeBlock, func(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			block := n.(*ast.FencedCodeBlock)
			_, _ = w.WriteString(string(s.codeBlock(string(block.Language(source)), string(block.Lines().Value(source)))))
		}
		return ast.WalkSkipChildren, nil
	})
}

// link begins or ends a link. An address that is not of the web is not one.
func link(w util.BufWriter, to string, begin bool) {
	u, err := url.Parse(to)
	ok := err == nil && slices.Contains([]string{"http", "https", "mailto"}, strings.ToLower(u.Scheme))
	switch {
	case begin && ok:
		_, _ = w.WriteString(`<a href="` + template.HTMLEscapeString(u.String()) + `" rel="noopener noreferrer nofollow" target="_blank">`)
	case begin:
		_, _ = w.WriteString(`<span class="nolink">`)
	case ok:
		_, _ = w.WriteString("</a>")
	default:
		_, _ = w.WriteString("</span>")
	}
}

// maxCode bounds the code that is highlighted, in bytes.
const maxCode = 20 << 10

// style has no colors: style.css gives them to chroma's classes. The package of chroma's
// styles would parse all of them at each start of a program.
var style = sync.OnceValue(func() *chroma.Style { return chroma.MustNewStyle("none", chroma.StyleEntries{}) })

var formatter = chromahtml.New(chromahtml.WithClasses(true), chromahtml.PreventSurroundingPre(true))

// codeBlock returns code of a language as HTML; without highlighting if it is large or
// of a language that is not known, and after the time for it.
func (r *htmlRenderer) codeBlock(language, code string) template.HTML {
	return template.HTML(`<pre class="code chroma" tabindex="0">` + string(r.highlight(language, code)) + `</pre>`) // #nosec G203 -- escaped by highlight
}

func (r *htmlRenderer) highlight(language, code string) (out template.HTML) {
	plain := template.HTML(template.HTMLEscapeString(code)) // #nosec G203 -- escaped
	lexer, ok := lexers.Get(language).(*chroma.RegexLexer)  // others do not stop between tokens
	if !ok || language == "" || len(code) > maxCode || r.left <= 0 {
		return plain
	}
	began := r.now()
	defer func() { // a lexer is a large program that reads hostile text
		r.left -= r.now().Sub(began)
		if recover() != nil {
			out = plain
		}
	}()
	tokens, err := chroma.Coalesce(stoppable{lexer, func() bool { return r.now().Sub(began) > r.left }}).Tokenise(nil, code)
	if err != nil {
		return plain
	}
	var b strings.Builder
	if formatter.Format(&b, style(), tokens) != nil {
		return plain
	}
	return template.HTML(b.String()) // #nosec G203 -- chroma escapes text
}

// A stoppable lexer panics if it must stop before the next token.
type stoppable struct {
	chroma.Lexer
	stop func() bool
}

// Tokenise implements chroma.Lexer.
func (s stoppable) Tokenise(o *chroma.TokeniseOptions, text string) (chroma.Iterator, error) {
	next, err := s.Lexer.Tokenise(o, text)
	return func() chroma.Token {
		if s.stop() {
			panic("the time for highlighting is over")
		}
		return next()
	}, err
}
