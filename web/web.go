package web

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/sesslog/sesslog/agent/secrets"
	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/internal/limiter"
	"github.com/sesslog/sesslog/internal/memory"
)

//go:embed static
var static embed.FS

//go:embed templates
var sources embed.FS

// templates are read when they are needed: sessctl starts often and rarely exports.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(functions).ParseFS(sources, "templates/*.html"))
})

// A page serves the web page of one node.
type page struct {
	api      http.Handler
	dialects core.Dialects
	rules    func() (*secrets.Rules, error)
	making   *limiter.Limiter // pages
	memory   *memory.Budget
}

// maxPages bounds the pages that the node renders concurrently, pageTime the time that a
// request waits to be one of them. maxForm bounds the body of a request.
const (
	maxPages = 16
	pageTime = 10 * time.Second
	maxForm  = 16 << 10
)

// New returns middleware that serves the web page. It passes all other requests to api,
// the handler of the HTTP API. If secretsFile is not empty, its rules for secrets apply in
// addition to those of package secrets. The memory of pages counts against b.
func New(secretsFile string, b *memory.Budget) func(api http.Handler) http.Handler {
	rules := sync.OnceValues(func() (*secrets.Rules, error) { return secrets.Read(secretsFile) })
	return func(api http.Handler) http.Handler {
		p := &page{api: api, dialects: dialect.All(), rules: rules, making: limiter.New("pages", maxPages, 0, pageTime), memory: b}
		return p.routes()
	}
}

func (p *page) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, h := range p.pages() {
		mux.Handle(pattern, p.limited(h))
	}
	for pattern, h := range p.streams() {
		mux.Handle(pattern, p.handler(h))
	}
	mux.Handle("/", p.api)
	guard := http.NewCrossOriginProtection()
	return guard.Handler(mux)
}

// pages returns the handlers whose responses are buffered.
func (p *page) pages() map[string]func(http.ResponseWriter, *http.Request) error {
	return map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /{$}":                         p.sessions,
		"GET /signin":                      p.signInForm,
		"POST /signin":                     p.signIn,
		"POST /signout":                    p.signOut,
		"GET /sessions/{id}":               p.transcript,
		"GET /sessions/{id}/entries":       p.chunk,
		"GET /sessions/{id}/raw":           p.raw,
		"GET /sessions/{id}/image":         p.image,
		"GET /sessions/{id}/tree":          p.tree,
		"GET /sessions/{id}/usage":         p.usage,
		"GET /sessions/{id}/diff":          p.diff,
		"GET /sessions/{id}/edits":         p.edits,
		"GET /sessions/{id}/share":         p.sharePreview,
		"POST /sessions/{id}/share":        p.share,
		"POST /sessions/{id}/share/revoke": p.unshare,
		"GET /shared/{share}":              p.shared,
		"POST /shared/{share}":             p.openShare,
		"GET /shared/{share}/entries":      p.chunk,
		"GET /shared/{share}/raw":          p.raw,
		"GET /shared/{share}/image":        p.image,
		"GET /search":                      p.search,
		"GET /health":                      p.health,
	}
}

// streams returns the handlers that write directly: events, and static files.
func (p *page) streams() map[string]func(http.ResponseWriter, *http.Request) error {
	return map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /live":                p.liveSessions,
		"GET /sessions/{id}/live":  p.live,
		"GET /shared/{share}/live": p.live,
		"GET /static/":             p.file,
	}
}

// policy allows only the scripts, styles and images of the page's origin.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// handler sets the headers of every response of the page, and renders errors.
func (p *page) handler(f func(http.ResponseWriter, *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin") // with no-referrer, forms have no Origin
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if err := f(w, r); err != nil {
			p.fail(w, r, err)
		}
	})
}

// limited is handler for buffered pages, of which maxPages run concurrently. It reads the
// whole request before it takes one of these slots, so that a slow browser delays no other.
func (p *page) limited(f func(http.ResponseWriter, *http.Request) error) http.Handler {
	return p.handler(func(w http.ResponseWriter, r *http.Request) error {
		if err := readForm(w, r); err != nil {
			return err
		}
		release, err := p.making.Acquire(r.Context(), callerName(r), false)
		if err != nil {
			return err
		}
		lease := p.memory.Lease()
		defer lease.Release()
		answer := &buffered{ResponseWriter: w}
		err = func() error {
			defer release()
			return f(answer, r.WithContext(memory.With(r.Context(), lease)))
		}()
		if err != nil {
			return err
		}
		lease.Resize(int64(answer.body.Len()))
		return answer.send()
	})
}

// readForm reads the form of a request, which has sendTimeout to arrive.
func readForm(w http.ResponseWriter, r *http.Request) error {
	rc := http.NewResponseController(w)
	if r.Body != nil && r.Body != http.NoBody {
		_ = rc.SetReadDeadline(time.Now().Add(sendTimeout)) // also for what is not a form
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	}
	if err := r.ParseForm(); err != nil {
		return fmt.Errorf("the form cannot be read: %w: %w", err, core.ErrInvalid)
	}
	if r.Method == http.MethodPost {
		_ = rc.SetReadDeadline(time.Time{})
	}
	return nil
}

// A buffered response is sent when it is complete, so that a slow browser holds no slot.
type buffered struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

// WriteHeader implements http.ResponseWriter.
func (b *buffered) WriteHeader(status int) { b.status = status }

// Write implements http.ResponseWriter.
func (b *buffered) Write(p []byte) (int, error) { return b.body.Write(p) }

// sendTimeout is how long a browser may take to accept an answer, or an event.
const sendTimeout = time.Minute

func (b *buffered) send() error {
	extend(b.ResponseWriter)
	if b.status != 0 {
		b.ResponseWriter.WriteHeader(b.status)
	}
	_, _ = b.body.WriteTo(b.ResponseWriter) // the browser may have left
	return nil
}

// extend sets the write deadline to sendTimeout from now.
func extend(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(sendTimeout))
}

// fail renders an error page, or redirects to the sign-in.
func (p *page) fail(w http.ResponseWriter, r *http.Request, err error) {
	if unauthorized(err) && r.Header.Get("Sec-Fetch-Dest") != "empty" && r.PathValue("share") == "" {
		http.Redirect(w, r, "/signin?back="+template.URLQueryEscaper(r.URL.RequestURI()), http.StatusSeeOther)
		return
	}
	status, d := http.StatusInternalServerError, api.Detail{Title: "The page could not be created", Detail: err.Error()}
	if e, ok := errors.AsType[*client.Error](err); ok {
		status, d = e.Detail.Status, e.Detail
	} else if errors.Is(err, core.ErrNotFound) {
		status, d.Title = http.StatusNotFound, "Not found"
	} else if errors.Is(err, core.ErrInvalid) {
		status, d.Title = http.StatusBadRequest, "Bad request"
	} else if errors.Is(err, core.ErrUnavailable) {
		status, d.Title = http.StatusServiceUnavailable, "The node is busy"
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	answer := &buffered{ResponseWriter: w}
	if p.show(answer, status, "error.html", d) == nil {
		_ = answer.send()
	}
}

// show renders a page to a buffered response.
func (p *page) show(w http.ResponseWriter, status int, name string, data any) error {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	return templates().ExecuteTemplate(w, name, data)
}

// file serves the script, the style sheet and the icon.
func (p *page) file(w http.ResponseWriter, r *http.Request) error {
	name := strings.TrimPrefix(r.URL.Path, "/")
	if info, err := fs.Stat(static, name); err != nil || info.IsDir() {
		return core.ErrNotFound
	}
	w.Header().Set("Cache-Control", "no-cache")
	extend(w)
	http.ServeFileFS(w, r, static, name)
	return nil
}
