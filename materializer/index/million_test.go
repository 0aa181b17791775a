package index_test

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/materializer/index"
	"github.com/sesslog/sesslog/session/catalog"
)

var (
	rows    = flag.Int("rows", 0, "measure a directory of so many rows")
	keep    = flag.String("keep", "", "keep that directory in this file, and go on with it where it is there")
	cold    = flag.Bool("cold", false, "leave it to the machine how much of a kept file is in its memory; else the file is read once")
	queries = flag.Int("queries", 400, "measure so many listings and searches of each kind")
)

// TestFigures prints the cost of a directory of -rows sessions: to write and to
// query. It asserts nothing about time.
func TestFigures(t *testing.T) {
	if *rows == 0 {
		t.Skip("a measurement: go test ./materializer/index -run TestFigures -rows 1000000 -timeout 1h -v")
	}
	path := *keep
	if path == "" {
		path = filepath.Join(t.TempDir(), "index.db")
	}
	x := open(t, path)
	defer x.Close()
	w := newWorld(newRand(t))
	if had := x.Len(); had < *rows {
		build(t, x, w, path, had)
	}
	if !*cold {
		readThrough(t, path)
	}
	samples := make([]*materializer.View, 200)
	for i := range samples {
		samples[i] = w.session(i)
	}
	begin := time.Now()
	again := open(t, path)
	t.Logf("a start takes %v", time.Since(begin).Round(time.Millisecond))
	_ = again.Close()

	kinds := filters(w, samples)
	var every asked
	for _, k := range kinds {
		var took asked
		hits := 0
		for range *queries / len(kinds) * 4 {
			f := k.make()
			f.Limit = 100
			begin, read := time.Now(), pagesRead()
			page, err := x.List(t.Context(), f)
			took.add(time.Since(begin), pagesRead()-read)
			if err != nil {
				t.Fatal(err)
			}
			hits += len(page.Rows)
		}
		report(t, "list "+k.name, took, hits)
		every.times, every.pages = append(every.times, took.times...), append(every.pages, took.pages...)
	}
	report(t, "all listings", every, 0)
	every = asked{}
	searches := searchKinds(w, samples)
	for _, k := range searches {
		var took asked
		hits := 0
		for range *queries / len(searches) * 4 {
			q := k.make()
			q.Limit = 50
			begin, read := time.Now(), pagesRead()
			page, err := x.Search(t.Context(), q)
			took.add(time.Since(begin), pagesRead()-read)
			if err != nil {
				t.Fatal(err)
			}
			hits += len(page.Hits)
		}
		report(t, "search "+k.name, took, hits)
		every.times, every.pages = append(every.times, took.times...), append(every.pages, took.pages...)
	}
	report(t, "all searches", every, 0)
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	t.Logf("memory: %d MiB of Go's heap in use, %d MiB resident", m.HeapInuse>>20, resident())
}

// readThrough reads a file once, to measure a running node and not the disk.
func readThrough(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.Copy(io.Discard, f); err != nil {
		t.Fatal(err)
	}
}

func build(t *testing.T, x *index.Index, w *world, path string, had int) {
	begin, size := time.Now(), int64(0)
	_, before := transferred()
	for i := had; i < *rows; i++ {
		v := w.session(i)
		size += v.Row.Size
		x.Put(*v)
	}
	x.Sync(t.Context())
	took := time.Since(begin)
	_, after := transferred()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d rows with %d MiB of lines are taken in within %v: %.0f a second; the file has %d MiB, %d MiB were written",
		*rows-had, size>>20, took.Round(time.Second), float64(*rows-had)/took.Seconds(), info.Size()>>20, (after-before)>>20)
	begin, before = time.Now(), after
	const changes = 20_000
	views := make([]*materializer.View, 1000)
	for i := range views {
		views[i] = w.session(*rows + i)
	}
	for i := range changes {
		v := views[i%len(views)]
		v.Row.Seq++
		v.Entries = append(v.Entries, message(len(v.Entries), "user", w.text(12), w.time()))
		w.settle(v)
		x.Put(*v)
	}
	x.Sync(t.Context())
	took = time.Since(begin)
	_, after = transferred()
	t.Logf("then %d changes of %d sessions, each an entry more: %.0f a second, %d KiB written for each", changes, len(views), changes/took.Seconds(), (after-before)/changes>>10)
}

type listKind struct {
	name string
	make func() catalog.Filter
}

// filters returns the measured filters: typical queries, with values as frequent as
// in sessions.
func filters(w *world, some []*materializer.View) []listKind {
	pick := func() *materializer.View { return some[w.rng.IntN(len(some))] }
	hour := func(n time.Duration) catalog.Range[time.Time] {
		from := w.time()
		to := from.Add(n * time.Hour)
		return catalog.Range[time.Time]{From: &from, To: &to}
	}
	return []listKind{
		{"the newest", func() catalog.Filter { return catalog.Filter{} }},
		{"by cwd", func() catalog.Filter { return catalog.Filter{CWD: pick().Row.CWD} }},
		{"below a cwd", func() catalog.Filter {
			cwd := pick().Row.CWD
			return catalog.Filter{CWD: cwd[:strings.LastIndexByte(cwd, '/')], Below: true}
		}},
		{"by dialect and cost", func() catalog.Filter {
			return catalog.Filter{Dialect: pick().Row.Dialect, Sort: catalog.SortCost}
		}},
		{"by tag", func() catalog.Filter {
			return catalog.Filter{Tags: []string{fmt.Sprintf("tag-%d", w.rng.IntN(300))}}
		}},
		{"by tag and cwd", func() catalog.Filter {
			return catalog.Filter{Tags: []string{fmt.Sprintf("tag-%d", w.rng.IntN(300))}, CWD: pick().Row.CWD}
		}},
		{"by label", func() catalog.Filter { return catalog.Filter{Label: fmt.Sprintf("label %d", w.rng.IntN(40))} }},
		{"by holder", func() catalog.Filter {
			return catalog.Filter{Holder: fmt.Sprintf("host-%d", w.rng.IntN(200))}
		}},
		{"by two words of text", func() catalog.Filter {
			ws := strings.Fields(pick().Row.First)
			return catalog.Filter{Text: strings.Join(ws[:2], " ")}
		}},
		{"by a word of text", func() catalog.Filter { return catalog.Filter{Text: word(w.words.Uint64())} }},
		{"by name", func() catalog.Filter {
			return catalog.Filter{Name: word(w.words.Uint64()), Sort: catalog.SortName}
		}},
		{"modified in a day", func() catalog.Filter { return catalog.Filter{Modified: hour(24)} }},
		{"created in an hour, by size", func() catalog.Filter { return catalog.Filter{Created: hour(1), Sort: catalog.SortSize} }},
		{"closed, by size", func() catalog.Filter {
			return catalog.Filter{State: catalog.StateClosed, Sort: catalog.SortSize}
		}},
		{"interrupted", func() catalog.Filter {
			return catalog.Filter{State: catalog.StateInterrupted, Silence: &catalog.Silence{Since: time.Now()}}
		}},
		{"dear ones, by entries", func() catalog.Filter {
			from := 39.9
			return catalog.Filter{Cost: catalog.Range[float64]{From: &from}, Sort: catalog.SortEntries}
		}},
		{"by the beginning of an id", func() catalog.Filter { return catalog.Filter{Prefix: string(pick().Row.ID[:3])} }},
		{"a page deep inside", func() catalog.Filter {
			return catalog.Filter{After: fmt.Sprintf("modified~n~%d~0", w.time().UnixMilli())}
		}},
	}
}

type searchKind struct {
	name string
	make func() catalog.SearchQuery
}

func searchKinds(w *world, some []*materializer.View) []searchKind {
	pick := func() *materializer.View { return some[w.rng.IntN(len(some))] }
	q := func(s string) catalog.SearchQuery { return catalog.SearchQuery{Text: s} }
	any := func() string { return word(w.words.Uint64()) }
	rare := func() string { return word(2000 + w.rng.Uint64N(vocabulary-2000)) }
	return []searchKind{
		{"a word", func() catalog.SearchQuery { return q(any()) }},
		{"a frequent word", func() catalog.SearchQuery { return q(word(w.rng.Uint64N(5))) }},
		{"a rare word", func() catalog.SearchQuery { return q(rare()) }},
		{"two words", func() catalog.SearchQuery { return q(any() + " " + any()) }},
		{"three words", func() catalog.SearchQuery { return q(any() + " " + any() + " " + any()) }},
		{"a phrase", func() catalog.SearchQuery {
			ws := strings.Fields(pick().Row.First)
			return q(`"` + strings.Join(ws[:2], " ") + `"`)
		}},
		{"a beginning", func() catalog.SearchQuery { return q(rare()[:4] + "*") }},
		{"a word below a cwd", func() catalog.SearchQuery {
			s := q(any())
			s.Sessions = catalog.Filter{CWD: pick().Row.CWD, Below: true}
			return s
		}},
		{"a word of a tag", func() catalog.SearchQuery {
			s := q(any())
			s.Sessions.Tags = []string{fmt.Sprintf("tag-%d", w.rng.IntN(300))}
			return s
		}},
		{"a word of a month", func() catalog.SearchQuery {
			s := q(any())
			from := w.time()
			to := from.Add(30 * 24 * time.Hour)
			s.Time = catalog.Range[time.Time]{From: &from, To: &to}
			return s
		}},
	}
}

// asked is how long queries of a kind took, and how many pages they read beyond
// SQLite's cache.
type asked struct {
	times []time.Duration
	pages []int
}

func (a *asked) add(took time.Duration, pages int) {
	a.times, a.pages = append(a.times, took), append(a.pages, pages)
}

// report prints how long queries took. The number of pages does not depend on the
// load of the machine.
func report(t *testing.T, what string, took asked, rows int) {
	t.Helper()
	slices.Sort(took.times)
	slices.Sort(took.pages)
	n := len(took.times)
	place := func(share float64) int { return min(n-1, int(share*float64(n))) }
	at := func(share float64) time.Duration { return took.times[place(share)].Round(100 * time.Microsecond) }
	t.Logf("%-30s p50 %7v  p95 %7v  p99 %7v  longest %8v  pages p50 %5d  p95 %5d  rows %5.1f",
		what, at(.5), at(.95), at(.99), at(1), took.pages[place(.5)], took.pages[place(.95)], float64(rows)/float64(n))
}

// pagesRead returns how many pages of 4 KiB the process has read from files, 0 if
// unknown.
func pagesRead() int {
	read, _ := transferred()
	return read / 4096
}

// transferred returns how many bytes the process has read from files, and written.
func transferred() (read, written int) {
	b, err := os.ReadFile("/proc/self/io")
	if err != nil {
		return 0, 0
	}
	_, _ = fmt.Sscanf(string(b), "rchar: %d\nwchar: %d", &read, &written)
	return read, written
}

// resident returns the process's resident memory in MiB, 0 if unknown.
func resident() int {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	var size, pages int
	_, _ = fmt.Sscan(string(b), &size, &pages)
	return pages * os.Getpagesize() >> 20
}
