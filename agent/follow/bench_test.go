package follow_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
)

// BenchmarkWriteToReadElsewhere measures the time from an agent's write until the
// line can be read from another node. The baseline is an append through the API of
// the first node, without a file.
func BenchmarkWriteToReadElsewhere(b *testing.B) {
	c := startCluster(b)
	first, other := c.node(b), c.node(b)
	s := newSetup(b, first, b.TempDir())
	s.run(b)
	write(b, s.path, text(header, said("a", "", "one")))
	until(b, "the session", func() bool { return len(exportedOrNone(b, other)) > 0 })

	seen := make(chan string, 16)
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	go func() {
		_ = other.Follow(ctx, sessionID, core.Cursor{}, true, func(ev api.Event) error {
			for _, e := range ev.Entries {
				if i := bytes.Index(e, []byte(`"id":"`)); i >= 0 {
					id, _, _ := bytes.Cut(e[i+6:], []byte(`"`))
					select {
					case seen <- string(id):
					case <-ctx.Done():
						return errors.New("enough")
					}
				}
			}
			return nil
		})
	}()
	wait := func(id string) {
		for got := range seen {
			if got == id {
				return
			}
		}
	}
	parent := "a"
	wait(parent)
	measure := func(kind string, do func(line string)) []time.Duration {
		var took []time.Duration
		for i := range b.N {
			id := fmt.Sprintf("%s%d", kind, i)
			line := said(id, parent, strings.Repeat("x", 400))
			began := time.Now()
			do(line)
			wait(id)
			took = append(took, time.Since(began))
			parent = id
			time.Sleep(20 * time.Millisecond) // lets the machine idle
		}
		slices.Sort(took)
		return took
	}
	b.ResetTimer()
	file := measure("f", func(line string) { add(b, s.path, line+"\n") })
	b.StopTimer()
	direct := measure("d", func(line string) {
		if _, err := first.Append(b.Context(), sessionID, []byte(line), client.AppendOptions{}); err != nil {
			b.Fatal(err)
		}
	})
	at := func(d []time.Duration, q float64) float64 {
		return float64(d[int(float64(len(d)-1)*q)]) / float64(time.Millisecond)
	}
	b.ReportMetric(at(file, 0.5), "p50-ms")
	b.ReportMetric(at(file, 0.99), "p99-ms")
	b.ReportMetric(at(direct, 0.5), "direct-p50-ms")
	b.ReportMetric(at(direct, 0.99), "direct-p99-ms")
	b.ReportMetric(at(file, 0.5)/at(direct, 0.5), "p50-ratio")
}

// BenchmarkIdle measures the processor time and the memory of a process that
// follows 10,000 files, none of which changes. The baseline follows no file.
func BenchmarkIdle(b *testing.B) {
	const files = 10_000
	node := startCluster(b).node(b)
	dir := b.TempDir()
	for i := range files {
		sub := filepath.Join(dir, fmt.Sprintf("--work-%d--", i/50))
		if err := os.MkdirAll(sub, 0o700); err != nil {
			b.Fatal(err)
		}
		id := fmt.Sprintf("0199aaaa-0000-7000-8000-%012d", i)
		write(b, filepath.Join(sub, id+".jsonl"), text(strings.Replace(header, sessionID, id, 1), said("a", "", "one"), said("b", "a", "two")))
	}
	state := b.TempDir()
	br, err := follow.New(follow.Config{Node: node, Roots: []follow.Root{{Path: dir}}, State: state})
	if err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	if err := br.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(files)/time.Since(began).Seconds(), "first-files/s")
	if err := br.Close(); err != nil {
		b.Fatal(err)
	}
	cpu, mem := idle(b, node.Base, dir, state)
	cpu0, mem0 := idle(b, node.Base, b.TempDir(), b.TempDir())
	b.ReportMetric(100*cpu, "%core")
	b.ReportMetric(mem, "MiB")
	b.ReportMetric(100*cpu0, "empty-%core")
	b.ReportMetric(mem0, "empty-MiB")
	b.ReportMetric(0, "ns/op")
}

// idle runs a follower in a process of its own for more than two rescans, and
// returns its share of a core and its memory.
func idle(b *testing.B, base, dir, state string) (cpu, mib float64) {
	child := exec.Command(os.Args[0], "-test.run=^TestFollowUntilKilled$")
	// as sessctl watch sets it
	child.Env = append(os.Environ(), "GOGC=50", "FOLLOW_NODE="+base, "FOLLOW_DIR="+dir, "FOLLOW_STATE="+state)
	if err := child.Start(); err != nil {
		b.Fatal(err)
	}
	time.Sleep(10 * time.Second) // startup
	from := ticks(b, child.Process.Pid)
	const span = 65 * time.Second
	time.Sleep(span)
	cpu = float64(ticks(b, child.Process.Pid)-from) / 100 / span.Seconds()
	mib = float64(resident(b, child.Process.Pid)) / (1 << 20)
	_ = child.Process.Signal(syscall.SIGKILL)
	_ = child.Wait()
	return cpu, mib
}

// ticks returns the processor time of a process, in hundredths of a second.
func ticks(b *testing.B, pid int) int {
	if runtime.GOOS != "linux" {
		b.Skip("it reads /proc")
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+2:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return user + system
}

func resident(b *testing.B, pid int) int {
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		b.Fatal(err)
	}
	pages, _ := strconv.Atoi(strings.Fields(string(statm))[1])
	return pages * os.Getpagesize()
}

// BenchmarkBusyFile measures the processor time per line of a large file that gets
// a hundred lines per second. The baseline is a small file.
func BenchmarkBusyFile(b *testing.B) {
	node := startCluster(b).node(b)
	dir, state := b.TempDir(), b.TempDir()
	path := filepath.Join(dir, "a.jsonl")
	write(b, path, text(header, said("a", "", "one")))
	child := exec.Command(os.Args[0], "-test.run=^TestFollowUntilKilled$")
	child.Env = append(os.Environ(), "FOLLOW_NODE="+node.Base, "FOLLOW_DIR="+dir, "FOLLOW_STATE="+state)
	if err := child.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = child.Process.Kill(); _ = child.Wait() }()
	until(b, "the session", func() bool { return len(exportedOrNone(b, node)) > 0 })
	last, n := "a", 0
	next := func(size int) string {
		n++
		id := fmt.Sprintf("l%d", n)
		l := said(id, last, strings.Repeat("x", size))
		last = id
		return l + "\n"
	}
	busy := func() float64 {
		const lines = 500
		from := ticks(b, child.Process.Pid)
		for range lines {
			add(b, path, next(400))
			time.Sleep(10 * time.Millisecond)
		}
		return float64(ticks(b, child.Process.Pid)-from) * 10 / lines
	}
	small := busy()
	for range 200 {
		add(b, path, next(100_000))
	}
	size, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	until(b, "all of it", func() bool { return int64(len(exportedOrNone(b, node))) == size.Size() })
	large := busy()
	b.ReportMetric(small, "small-ms/line")
	b.ReportMetric(large, "20MB-ms/line")
	b.ReportMetric(large/max(small, 0.01), "ratio")
	b.ReportMetric(0, "ns/op")
}
