//go:build unix

package faults_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/test/e2e/harness"
)

// jumpSource is compiled into Go's package time. The file named by TEST_CLOCK holds
// the offset of this process's wall clock in seconds. It is mapped into memory,
// because the clock is read where a goroutine may not block. The monotonic clock stays
// right, as on a machine whose clock is set.
const jumpSource = `package time

import (
	"syscall"
	"unsafe"
)

var jumpBy = func() *int64 {
	name, _ := syscall.Getenv("TEST_CLOCK")
	fd, err := syscall.Open(name, syscall.O_RDONLY, 0)
	if err != nil {
		return new(int64)
	}
	b, err := syscall.Mmap(fd, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return new(int64)
	}
	return (*int64)(unsafe.Pointer(&b[0]))
}()
`

// jumping builds a sessnode whose clock can be set. That compiles Go's standard
// library again, which takes minutes once per machine; the go command caches it.
var jumping = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp(scratch, "clock-")
	if err != nil {
		return "", err
	}
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	source := filepath.Join(strings.TrimSpace(string(out)), "src", "time")
	b, err := os.ReadFile(filepath.Join(source, "time.go"))
	if err != nil {
		return "", err
	}
	const reads = "\tsec, nsec, mono := runtimeNow()\n"
	if bytes.Count(b, []byte(reads)) != 1 {
		return "", errors.New("this Go reads its clock in another way: the test must be told")
	}
	changed := bytes.Replace(b, []byte(reads), []byte(reads+"\tif jumpBy != nil {\n\t\tsec += *jumpBy\n\t}\n"), 1)
	overlay := map[string]map[string]string{"Replace": {}}
	for name, text := range map[string][]byte{"time.go": changed, "jump.go": []byte(jumpSource)} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return "", err
		}
		overlay["Replace"][filepath.Join(source, name)] = path
	}
	b, err = json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "overlay.json"), b, 0o600); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "sessnode")
	cmd := exec.Command("go", "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", path, "github.com/sesslog/sesslog/cmd/sessnode")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build of a sessnode whose clock can be set: %w\n%s", err, out)
	}
	return path, nil
})

// A clock is the settable clock of a process.
type clock string

// withClock makes n run with a separate clock.
func withClock(t *testing.T, n *harness.Node) clock {
	t.Helper()
	if !*long {
		t.Skip("with -long: it builds Go's own library anew")
	}
	began := time.Now()
	path, err := jumping()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("a sessnode whose clock can be set, after %v", time.Since(began).Round(time.Second))
	c := clock(filepath.Join(t.TempDir(), "clock"))
	c.set(t, 0)
	n.Program = path
	n.Env = append(n.Env, "TEST_CLOCK="+string(c))
	return c
}

// set changes the clock's offset to d.
func (c clock) set(t *testing.T, d time.Duration) {
	t.Helper()
	writeInPlace(t, string(c), binary.NativeEndian.AppendUint64(nil, uint64(int64(d/time.Second))))
}

var jumps = []time.Duration{5 * time.Hour, -5 * time.Hour, 400 * 24 * time.Hour, -400 * 24 * time.Hour, 0}

// No clock decides the order of writers, the holder of a claim or the order of records.
func TestClockJumpsChangeOnlyTimestamps(t *testing.T) {
	t.Parallel()
	node := harness.NewNode(t, "--snapshots-idle", "200ms")
	clock := withClock(t, node)
	node.Start(t)
	c := node.Client()
	w := write(t, newSession(t, c), 3, through(node))
	held := newSession(t, c)
	claim, err := c.Claim(harness.Timeout(t), held, core.ClaimRequest{Agent: "first", Host: "here"})
	if err != nil {
		t.Fatal(err)
	}
	var f figures
	for round, by := range jumps {
		clock.set(t, by)
		f.fault("clock jump")
		f.recovered(w.await(30))
		// The holder of a head keeps it, and no other writer gets it.
		say(t, c, held, fmt.Sprint("mine ", round), client.AppendOptions{Writer: claim.Writer})
		if _, err := c.Append(harness.Timeout(t), held, []byte(harness.Message("user", "not mine")), client.AppendOptions{}); !errors.Is(err, core.ErrFenced) {
			t.Errorf("%v: an append by who holds nothing: %v", by, err)
		}
		next, err := c.Claim(harness.Timeout(t), held, core.ClaimRequest{Agent: fmt.Sprint("after ", by), TakeOver: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Append(harness.Timeout(t), held, []byte(harness.Message("user", "late")), client.AppendOptions{Writer: claim.Writer}); !errors.Is(err, core.ErrFenced) {
			t.Errorf("%v: an append by who was fenced: %v", by, err)
		}
		claim = next
		if round == 1 { // also start in the past
			node.Kill()
			node.Start(t)
		}
	}
	w.leave()
	f.add(t, w, mustExport(t, c, w.id))
	intact(t, c, w.id)
	intact(t, c, held)
	if es := entriesOf(t, mustExport(t, c, held)); len(es) != len(jumps) {
		t.Errorf("%d entries in the session that was held, want %d", len(es), len(jumps))
	}
	healthy(t, node)
	f.report(t)
}

func TestClockSkewInClusterChangesOnlyTimestamps(t *testing.T) {
	t.Parallel()
	nodes := harness.NewCluster(t, 3, harness.StartBucket(t), "--log-shards", "2")
	var clocks []clock
	for _, n := range nodes {
		clocks = append(clocks, withClock(t, n))
	}
	harness.StartAll(t, nodes)
	w := write(t, newSession(t, nodes[0].Client()), 4, inTurn(nodes))
	rng := chance(t)
	var f figures
	for range times(4) {
		w.await(20)
		by := jumps[rng.IntN(len(jumps))]
		if who := rng.IntN(4); who < 3 {
			clocks[who].set(t, by)
			f.fault("clock jump of one node")
		} else {
			for _, c := range clocks {
				c.set(t, by)
			}
			f.fault("clock jump of all nodes")
		}
		f.recovered(w.await(20))
	}
	w.leave()
	want := mustExport(t, nodes[0].Client(), w.id)
	f.add(t, w, want)
	for _, c := range clocks {
		c.set(t, 0) // certificates and signatures of the object store depend on the clock
	}
	for i, n := range nodes {
		if got := mustExport(t, n.Client(), w.id); !bytes.Equal(got, want) {
			t.Errorf("node %d shows another session", i+1)
		}
		intact(t, n.Client(), w.id)
	}
	f.report(t)
}
