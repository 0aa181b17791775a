package interop_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// PI-33, PI-35
//
// The test measures how long it takes to open a session of 50,000 entries and to build
// its context, as medians of five openings:
//
//   - by pi: SessionManager.open of the file and buildSessionContext, in a warm process;
//   - by us from the file: reading it, File and Context of the dialect, in a warm
//     process;
//   - by us from the log, in a warm process without the session in memory: reading the
//     last record, the snapshot and the records after it, and Context;
//   - by a node over HTTP, the same with the transfer to a client: by a running node
//     without the session in memory, and by one that was just started.
//
// It logs the times without limits for them. All contexts must be equal.
func TestOpenLargeSession(t *testing.T) {
	if !testing.Verbose() {
		t.Skip("prints figures only: -v is not set")
	}
	j := newJudge(t, fetched(t, "pi-1.5.2"))
	for _, shape := range []struct {
		name      string
		summaries int // entries between compactions
	}{
		{"summed up now and then", 1000},
		{"never summed up", 1_000_000},
	} {
		t.Run(shape.name, func(t *testing.T) {
			file := bigSession(50_000, shape.summaries)
			path := filepath.Join(t.TempDir(), "big.jsonl")
			testkit.WriteFile(t, path, file)
			context := j.context(t, path, "")
			want := digest(context)
			theirs := j.open(t, path)
			table := fmt.Sprintf("%.1f MB, a context of %.1f MB\n%-34s%v", float64(len(file))/1e6, float64(len(context))/1e6, "pi 1.5.2, a warm process", theirs.of(file))
			for _, ours := range []struct {
				name string
				opening
			}{
				{"ours, from the file, warm", openAlone(t, openerEnv, path, want)},
				{"ours, from the log, warm", openAlone(t, logOpenerEnv, path, want)},
				{"ours, over HTTP, a warm node", openNode(t, file, want, false)},
				{"ours, over HTTP, a fresh node", openNode(t, file, want, true)},
			} {
				table += fmt.Sprintf("\n%-34s%v, %.1f times as quick", ours.name, ours.of(file), theirs.ratio(ours.opening))
			}
			t.Log(table)
		})
	}
}

// An opening is the cost of opening a session and building its context.
type opening struct {
	Took time.Duration
	Peak int64 // bytes of memory above the process's former use; 0 if unknown
}

func (o opening) ratio(other opening) float64 { return float64(o.Took) / float64(other.Took) }

func (o opening) of(file []byte) string {
	s := fmt.Sprintf("%7v", o.Took.Round(time.Millisecond))
	if o.Peak > 0 {
		s += fmt.Sprintf(", at most %.0f MB of memory, %.1f times the file", float64(o.Peak)/1e6, float64(o.Peak)/float64(len(file)))
	}
	return s
}

// timesOf returns the median of a few openings, with the highest memory use of any.
func timesOf(open func() (opening, error)) (opening, error) {
	var all []opening
	var peak int64
	for range 5 {
		o, err := open()
		if err != nil {
			return o, err
		}
		all = append(all, o)
		peak = max(peak, o.Peak)
	}
	slices.SortFunc(all, func(a, b opening) int { return cmp.Compare(a.Took, b.Took) })
	return opening{all[len(all)/2].Took, peak}, nil
}

// open makes the agent open the file.
func (j *judge) open(t *testing.T, path string) opening {
	t.Helper()
	o, err := timesOf(func() (opening, error) {
		var r struct{ Millis float64 }
		err := j.answer(&r, map[string]any{"op": "time", "path": path})
		return opening{Took: time.Duration(r.Millis * float64(time.Millisecond))}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// openerEnv names the file that this test binary opens instead of running tests, and
// logOpenerEnv the one that it opens from a log: a separate process shows the memory
// use.
const (
	openerEnv    = "SESSLOG_INTEROP_OPEN"
	logOpenerEnv = "SESSLOG_INTEROP_OPEN_LOG"
)

// opened is the process's output.
type opened struct {
	opening
	Context string // digest of the context
}

// openInstead does what the environment asks for instead of running tests, and reports
// whether it did.
func openInstead() (bool, error) {
	var out opened
	var err error
	switch {
	case os.Getenv(openerEnv) != "":
		out, err = openings(func() ([]byte, error) { return contextOf(os.Getenv(openerEnv)) })
	case os.Getenv(logOpenerEnv) != "":
		out, err = logOpener(os.Getenv(logOpenerEnv))
	default:
		return false, nil
	}
	if err != nil {
		return true, err
	}
	return true, json.NewEncoder(os.Stdout).Encode(out)
}

// digestOf returns the digest of the result of open, without keeping the result.
func digestOf(open func() ([]byte, error)) (string, error) {
	context, err := open()
	if err != nil {
		return "", err
	}
	return digest(context), nil
}

// openings calls open once to warm up, and then for each measurement, always after a
// garbage collection, as the agent's process does. The memory is the peak beyond the
// use before the first measurement.
func openings(open func() ([]byte, error)) (opened, error) {
	var out opened
	var err error
	if out.Context, err = digestOf(open); err != nil {
		return out, err
	}
	debug.FreeOSMemory()
	before := memory("self", "VmRSS")
	peak := int64(-1)
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o600) // resets VmHWM
	out.opening, err = timesOf(func() (opening, error) {
		if peak >= 0 {
			runtime.GC()
		}
		began := time.Now()
		_, err := open()
		took := time.Since(began)
		peak = max(peak, memory("self", "VmHWM")-before)
		return opening{took, peak}, err
	})
	return out, err
}

func contextOf(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f, d, err := dialect.Read("pi", data)
	if err != nil {
		return nil, err
	}
	return d.Context(f.Entries, core.Leaf{})
}

// openAlone makes a separate process open the file as env says.
func openAlone(t *testing.T, env, path, want string) opening {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), env+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("open %s: %v", path, err)
	}
	var o opened
	if err := json.Unmarshal(out, &o); err != nil {
		t.Fatal(err)
	}
	if o.Context != want {
		t.Fatal("our context differs from pi's")
	}
	return o.opening
}

// openNode requests the context of a session that the node does not have in memory: if
// fresh, each time right after a start; otherwise each time after a request for
// another session, for which the cache evicted this one. The times are the client's
// and include the transfer.
func openNode(t *testing.T, file []byte, want string, fresh bool) opening {
	t.Helper()
	node := harness.StartNode(t, "SESS_SNAPSHOTS_CACHE=1MiB")
	done, err := node.Client().Import(t.Context(), bytes.NewReader(file), int64(len(file)), client.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	id := string(done.Session)
	if _, err := node.Client().Checkpoint(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	other, err := node.Client().Create(t.Context(), api.Create{Dialect: "pi"})
	if err != nil {
		t.Fatal(err)
	}
	node.Terminate(t)
	node.Start(t)
	if !fresh {
		if _, err := node.Client().Context(t.Context(), id, client.View{}); err != nil {
			t.Fatal(err)
		}
	}
	o, err := timesOf(func() (opening, error) {
		if fresh {
			node.Terminate(t)
			node.Start(t)
		} else if _, err := node.Client().Context(t.Context(), string(other.ID), client.View{}); err != nil {
			return opening{}, err
		}
		pid := strconv.Itoa(node.Pid())
		before := memory(pid, "VmRSS")
		began := time.Now()
		b, err := node.Client().Context(t.Context(), id, client.View{})
		o := opening{Took: time.Since(began)}
		if err == nil && digest(b) != want {
			err = errors.New("the node's context is not pi's")
		}
		if fresh {
			o.Peak = memory(pid, "VmHWM") - before
		}
		return o, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// memory returns a field of /proc/PID/status in bytes, 0 if there is none.
func memory(pid, field string) int64 {
	b, err := os.ReadFile(filepath.Join("/proc", pid, "status"))
	if err != nil {
		return 0
	}
	m := regexp.MustCompile(field + `:\s*(\d+) kB`).FindSubmatch(b)
	if m == nil {
		return 0
	}
	n, _ := strconv.ParseInt(string(m[1]), 10, 64)
	return n << 10
}
