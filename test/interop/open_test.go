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
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// PI-33, PI-35
//
// How long a session of 50 000 entries takes to open and to have its context
// built: by pi, by us from the file, and by a node that has not seen it since it
// started, from its snapshot. The times are printed and nothing is demanded of
// them; what is demanded is that all three build the same context.
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
			want := digest(j.context(t, path, ""))
			theirs := j.open(t, path)
			fromFile := openFile(t, path, want)
			fromLog := openLog(t, file, want)
			t.Logf("%.1f MB\npi 1.5.2           %v\nours, from a file  %v, %.1f times as quick\nours, from the log %v, %.1f times as quick",
				float64(len(file))/1e6, theirs.of(file), fromFile.of(file), theirs.ratio(fromFile), fromLog.of(file), theirs.ratio(fromLog))
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
	for range 3 {
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

// openerEnv names the file that this test binary is to open instead of testing:
// a process of its own shows what memory that takes.
const openerEnv = "SESSLOG_INTEROP_OPEN"

// opened is what the process says.
type opened struct {
	opening
	Context string // its digest
}

// opener is what the process does: as often as the agent's process, and one
// opening after the other as there.
func opener(path string) error {
	var out opened
	var peak int64
	before := memory("self", "VmRSS")
	median, err := timesOf(func() (opening, error) {
		began := time.Now()
		context, err := contextOf(path)
		if err != nil {
			return opening{}, err
		}
		o := opening{Took: time.Since(began)}
		out.Context = digest(context)
		if peak == 0 {
			peak = memory("self", "VmHWM") - before
		}
		return o, nil
	})
	if err != nil {
		return err
	}
	out.opening = opening{median.Took, peak}
	return json.NewEncoder(os.Stdout).Encode(out)
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

func openFile(t *testing.T, path, want string) opening {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), openerEnv+"="+path)
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

// openLog has a node answer with the context of a session, each time right
// after it was started.
func openLog(t *testing.T, file []byte, want string) opening {
	t.Helper()
	node := harness.StartNode(t)
	done, err := node.Client().Import(t.Context(), bytes.NewReader(file), int64(len(file)), api.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	id := string(done.Session)
	if _, err := node.Client().Checkpoint(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	o, err := timesOf(func() (opening, error) {
		node.Terminate(t)
		node.Start(t)
		pid := strconv.Itoa(node.Pid())
		before := memory(pid, "VmRSS")
		began := time.Now()
		b, err := node.Client().Context(t.Context(), id, api.View{})
		took := time.Since(began)
		if err == nil && digest(b) != want {
			err = errors.New("the node's context is not pi's")
		}
		return opening{took, memory(pid, "VmHWM") - before}, err
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
