package e2e_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/openrath"
	"github.com/sesslog/sesslog/session"
	"github.com/sesslog/sesslog/session/loop"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// loopReplies is what the model of a run says, in order.
var loopReplies = []loop.Reply{
	loopCalls("read 1", "read 2", "send 3", "write 4"),
	{Text: "one moment", Finish: "pause", Usage: &loop.Usage{Prompt: 9, Completion: 3, Total: 12}},
	loopCalls("send 5", "send 6"),
	loopCalls("write 7"),
	{Text: "done", Finish: loop.FinishStop, Usage: &loop.Usage{Prompt: 20, Completion: 1, Total: 21}},
}

func loopCalls(calls ...string) loop.Reply {
	r := loop.Reply{Finish: loop.FinishTools}
	for _, c := range calls {
		name, n, _ := strings.Cut(c, " ")
		r.Calls = append(r.Calls, loop.Call{ID: "c" + n, Name: name, Arguments: `{"n":` + n + `}`})
	}
	return r
}

// A loopRun is the model and the tools of a session, for the processes that run it
// one after the other. It kills them.
type loopRun struct {
	mu   sync.Mutex
	done map[string]int // how often each call of a tool took effect

	host  *os.Process
	left  int // requests until the host is killed; 0 for never
	after bool
}

func (w *loopRun) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left--
	dies := w.left == 0
	if dies && !w.after {
		_ = w.host.Kill() // it is a child that was not waited for
		return
	}
	b := w.answer(r)
	if dies {
		host := w.host
		time.AfterFunc(rand.N(rand.N(20*time.Millisecond)+1), func() { _ = host.Kill() })
	}
	_, _ = rw.Write(b) // the host may be dead
}

func (w *loopRun) answer(r *http.Request) []byte {
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name != "model" {
		var args struct{ N int }
		_ = json.NewDecoder(r.Body).Decode(&args) // of a dead host there is none
		w.done[fmt.Sprint(name, " ", args.N)]++
		return fmt.Appendf(nil, `{"result":%d}`, args.N)
	}
	var q loop.Request
	_ = json.NewDecoder(r.Body).Decode(&q) // of a dead host there is none
	n := 0
	for _, m := range q.Messages {
		if m.Role == loop.Assistant {
			n++
		}
	}
	b, _ := json.Marshal(loopReplies[min(n, len(loopReplies)-1)])
	return b
}

// live runs the session in a process, through a node, and reports whether it got to
// the end of the run.
func (w *loopRun) live(t *testing.T, node *harness.Node, id, url string, left int, after bool) bool {
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), loopHost+"="+node.URL, loopWorld+"="+url, loopSession+"="+id)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	w.mu.Lock()
	err := cmd.Start()
	w.host, w.left, w.after = cmd.Process, left, after
	w.mu.Unlock()
	if err != nil {
		t.Error(err)
		return true
	}
	err = cmd.Wait()
	if err != nil && (left == 0 || cmd.ProcessState.Exited()) {
		t.Errorf("session %s: the host ended with %v: %s", id, err, stderr.String())
		return true
	}
	return err == nil
}

// A loop whose hosts are killed at random moments, and that others continue through
// other nodes, ends with the rows of an undisturbed one. Only a call that must not
// run twice may have an error row instead; none did.
func TestLoopSurvivesTheKillOfItsHosts(t *testing.T) {
	t.Parallel()
	runs := 6
	if *long {
		runs = 500
	}
	nodes := harness.StartCluster(t, 3, harness.StartBucket(t))
	began := time.Now()
	want, _, _ := loopWithKills(t, nodes, 0)
	t.Logf("an undisturbed run takes %v", time.Since(began).Round(time.Millisecond))
	if len(want) != 14 {
		t.Fatalf("an undisturbed run has the rows\n%s", strings.Join(want, "\n"))
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	slots := make(chan struct{}, 3)
	killed, interrupted := 0, 0
	for i := range runs {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			have, done, kills := loopWithKills(t, nodes[i%3:], 1+i%3)
			mu.Lock()
			defer mu.Unlock()
			killed += kills
			interrupted += checkLoop(t, want, have, done)
		})
	}
	all.Wait()
	if killed == 0 {
		t.Error("no host was killed")
	}
	t.Logf("%d runs, %d hosts killed, %d calls interrupted", runs, killed, interrupted)
}

// loopWithKills runs a session, killing up to n hosts, and returns its rows, the
// effects of its tools and the number of kills.
func loopWithKills(t *testing.T, nodes []*harness.Node, n int) (rows []string, done map[string]int, kills int) {
	w := &loopRun{done: map[string]int{}}
	server := httptest.NewServer(w)
	defer server.Close()
	var id string
	err := untilReached(func() error {
		id = loop.NewID()
		s, err := session.Create(t.Context(), nodes[0].Client().Log(), "/", session.Options{Dialect: "openrath", ID: id})
		if err == nil {
			_, err = s.AppendLine(t.Context(), openrath.UserText("go").Line(0))
		}
		if err == nil {
			err = s.Close(t.Context())
		}
		return err
	})
	if err != nil {
		t.Error(err)
		return nil, nil, 0
	}
	ended := false
	for i := 0; i < n && !ended; i++ {
		ended = w.live(t, nodes[i%len(nodes)], id, server.URL, 1+rand.IntN(8), rand.IntN(3) > 0)
		if !ended {
			kills++
		}
	}
	if !ended {
		w.live(t, nodes[n%len(nodes)], id, server.URL, 0, false)
	}
	return loopRows(t, nodes[n%len(nodes)], id), w.done, kills
}

// loopRows returns the rows of a session as its agent wrote them.
func loopRows(t *testing.T, node *harness.Node, id string) (rows []string) {
	var s *session.Session
	err := untilReached(func() (err error) {
		s, err = session.Open(t.Context(), node.Client().Log(), core.SessionID(id), session.Options{Access: session.ReadOnly})
		return err
	})
	if err != nil {
		t.Error(err)
		return nil
	}
	for _, e := range s.Entries() {
		var row struct {
			Payload json.RawMessage `json:"payload"`
			Usage   json.RawMessage `json:"cumulative_usage"`
		}
		if err := json.Unmarshal(e.Line, &row); err != nil {
			t.Error(err)
		}
		rows = append(rows, e.Type+" "+string(row.Payload)+string(row.Usage))
	}
	return rows
}

// checkLoop compares the rows of a run with those of an undisturbed one, and returns
// the number of calls that were interrupted.
func checkLoop(t *testing.T, want, have []string, done map[string]int) (interrupted int) {
	have = slices.Clone(have)
	for i, row := range have {
		if i < len(want) && strings.Contains(row, `"name": "send", "content": "{\"ok\": false, \"error_kind\": \"interrupted\"`) {
			have[i] = want[i]
			interrupted++
		}
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	sent := 0
	for call, n := range done {
		if strings.HasPrefix(call, "send") {
			sent++
			if n > 1 {
				t.Errorf("%s ran %d times", call, n)
			}
		}
	}
	if sent < 3-interrupted || done["write 4"] == 0 || done["write 7"] == 0 {
		t.Errorf("%d calls interrupted, but these ran: %v", interrupted, done)
	}
	return interrupted
}
