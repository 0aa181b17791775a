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
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// PI-33, PI-35
//
// How long a session of 50 000 entries takes to open and to have its context
// built, in the medians of five openings:
//
//   - by pi: SessionManager.open of the file and buildSessionContext, in a
//     process that has done so before;
//   - by us from the file: reading it, File and Context of the dialect, in a
//     process that has done so before;
//   - by us from the log, in a process that has done so before but keeps no
//     session: asking for its last record, its snapshot, what is behind that,
//     and Context;
//   - by a node over HTTP, the same and the transfer to a client: a node that
//     runs already and has not the session in memory, and one that was just
//     started.
//
// The times are printed and nothing is demanded of them; what is demanded is
// that all build the same context.
func TestOpeningABigSession(t *testing.T) {
	if !testing.Verbose() {
		t.Skip("nobody would see the numbers: -v is not set")
	}
	j := newJudge(t, fetched(t, "pi-1.5.2"))
	for _, shape := range []struct {
		name      string
		summaries int // a compaction after so many entries
	}{
		{"summed up now and then", 1000},
		{"never summed up", 1_000_000},
	} {
		t.Run(shape.name, func(t *testing.T) {
			file := bigSession(50_000, shape.summaries)
			path := filepath.Join(t.TempDir(), "big.jsonl")
			if err := os.WriteFile(path, file, 0o600); err != nil {
				t.Fatal(err)
			}
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

// An opening is what opening a session and building its context took.
type opening struct {
	Took time.Duration
	Peak int64 // bytes of memory above what the process had before; 0 where it is not known
}

func (o opening) ratio(other opening) float64 { return float64(o.Took) / float64(other.Took) }

func (o opening) of(file []byte) string {
	s := fmt.Sprintf("%7v", o.Took.Round(time.Millisecond))
	if o.Peak > 0 {
		s += fmt.Sprintf(", at most %.0f MB of memory, %.1f times the file", float64(o.Peak)/1e6, float64(o.Peak)/float64(len(file)))
	}
	return s
}

// timesOf is the median of a few openings, with the most memory of any.
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

// open has the agent open the file.
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

// openerEnv names the file that this test binary is to open instead of testing,
// and logOpenerEnv the one that it is to open from a log: a process of its own
// shows what memory that takes.
const (
	openerEnv    = "SESSLOG_INTEROP_OPEN"
	logOpenerEnv = "SESSLOG_INTEROP_OPEN_LOG"
)

// opened is what the process says.
type opened struct {
	opening
	Context string // its digest
}

// openInstead does what the environment asks for instead of testing, and reports
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

// digestOf is the digest of what open returns, of which nothing is kept.
func digestOf(open func() ([]byte, error)) (string, error) {
	context, err := open()
	if err != nil {
		return "", err
	}
	return digest(context), nil
}

// openings calls open once to warm up, and then as often as is measured, each
// time behind a garbage collection, as the agent's process has it. The memory is
// the most that the process takes beyond what it had before the first of them.
func openings(open func() ([]byte, error)) (opened, error) {
	var out opened
	var err error
	if out.Context, err = digestOf(open); err != nil {
		return out, err
	}
	debug.FreeOSMemory()
	before := memory("self", "VmRSS")
	peak := int64(-1)
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o600) // VmHWM begins anew
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

// openAlone has a process of its own open the file, as env says.
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
		t.Fatal("our context is not pi's")
	}
	return o.opening
}

// openNode has a node answer with the context of a session that it does not hold
// in memory: each time right after it was started where fresh is true, otherwise
// each time after it was asked for another session, for which its cache gave
// this one up. The times are those of a client and include the transfer.
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

// memory is a process's own account of its memory in bytes, 0 where there is
// none.
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
