package e2e_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// A hook is a webhook. It keeps the notices whose signature is right.
type hook struct {
	key []byte
	mu  sync.Mutex
	got []hooked
}

type hooked struct {
	Type string
	Data struct {
		Session, Head  string
		Holder, Former struct{ Host string }
	}
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	mac := hmac.New(sha256.New, h.key)
	fmt.Fprintf(mac, "%s.%s.%s", r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp"), body)
	var m hooked
	if r.Header.Get("webhook-signature") != "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)) || json.Unmarshal(body, &m) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.got = append(h.got, m)
}

func (h *hook) all() []hooked {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.got)
}

// TestNoticesReachHooks lets a session be taken over, split, and wait for its user
// (EDGE-16). The node tells a webhook, and sessctl watch runs a command.
func TestNoticesReachHooks(t *testing.T) {
	t.Parallel()
	h := &hook{key: []byte("0123456789abcdef0123456789abcdef")}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	node := harness.StartNode(t, "--notices-urls", srv.URL+"/sessions", "SESS_NOTICES_SECRET=whsec_"+base64.StdEncoding.EncodeToString(h.key))
	c := node.Client()

	desk := harness.NewHost(t, node)
	claim := func(id, host string) core.Claim {
		t.Helper()
		got, err := c.Claim(harness.Timeout(t), id, core.ClaimRequest{Agent: "pi", Host: host, TakeOver: true})
		if err != nil {
			t.Fatal(err)
		}
		return got.Claim
	}
	file := harness.NewFile(t, harness.Shape{Turns: 2})
	desk.Do(t, "import", file.Save(t, desk.Dir))
	lost := claim(file.ID, "desk")
	harness.Await(t, "the listing has the claim", func() error {
		if out := desk.Do(t, "ls", "--holder", "desk", "-o", "json"); !strings.Contains(out, file.ID) {
			return fmt.Errorf("it lists %s", out)
		}
		return nil
	})

	ran := desk.Path("ran")
	watch := desk.Command(harness.Timeout(t), t, "watch", t.TempDir(), "--on-notice", `echo "$SESS_NOTICE $SESS_NOTICE_SESSION $SESS_NOTICE_HOST" >> ran`)
	if err := watch.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = watch.Process.Signal(os.Interrupt)
		_ = watch.Wait()
	})
	probe := harness.NewFile(t, harness.Shape{Turns: 1})
	desk.Do(t, "import", probe.Save(t, desk.Dir))
	harness.Await(t, "sessctl watch runs the command", func() error {
		claim(probe.ID, "probe")
		_, err := os.Stat(ran)
		return err
	})

	holder := claim(file.ID, "couch")
	appendText(t, c, file.ID, "of desk", client.AppendOptions{Writer: lost.Writer, OnConflict: session.Branch})
	line := `{"type":"message","message":{"role":"assistant","content":[{"type":"text","text":"Done."}],"stopReason":"stop"}}`
	if _, err := c.Append(harness.Timeout(t), file.ID, []byte(line+"\n"), client.AppendOptions{Writer: holder.Writer}); err != nil {
		t.Fatal(err)
	}

	kinds := []string{"session.taken_over", "session.split", "session.waiting"}
	harness.Await(t, "the webhook has all notices", func() error {
		var got []string
		for _, m := range h.all() {
			if m.Data.Session != file.ID {
				continue
			}
			got = append(got, m.Type)
			if m.Type == kinds[0] && (m.Data.Former.Host != "desk" || m.Data.Holder.Host != "couch") {
				t.Fatalf("a take-over from %q by %q", m.Data.Former.Host, m.Data.Holder.Host)
			}
			if m.Type == kinds[1] && !strings.HasPrefix(m.Data.Head, "main-") {
				t.Fatalf("a split with the head %q", m.Data.Head)
			}
		}
		slices.Sort(got)
		want := slices.Sorted(slices.Values(kinds))
		if !slices.Equal(got, want) {
			return fmt.Errorf("it has %v", got)
		}
		return nil
	})
	harness.Await(t, "the command ran for all notices", func() error {
		out, err := os.ReadFile(ran)
		if err != nil {
			return err
		}
		for _, kind := range kinds {
			if !strings.Contains(string(out), kind+" "+file.ID+" couch\n") {
				return fmt.Errorf("no %s in %s", kind, out)
			}
		}
		return nil
	})
}
