package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/testkit"
)

// blobNode has n blobs, named 0 to n-1, of which some are not sound.
func blobNode(t *testing.T, n int, wrong map[int]api.BlobState, mendable ...int) (f *fakeNode, ds []core.Digest, looked func() int) {
	f = newFake(t)
	states, mends := map[string]api.BlobState{}, map[string]bool{}
	for i := range n {
		d := core.DigestOf(fmt.Append(nil, i))
		ds = append(ds, d)
		states[d.String()] = api.BlobSound
		if s, ok := wrong[i]; ok {
			states[d.String()] = s
		}
		mends[d.String()] = slices.Contains(mendable, i)
	}
	sorted := slices.Clone(ds)
	slices.SortFunc(sorted, func(a, b core.Digest) int { return strings.Compare(a.String(), b.String()) })
	f.Mux.HandleFunc("GET /v1/blobs", func(w http.ResponseWriter, r *http.Request) {
		list := api.BlobList{}
		for _, d := range sorted {
			if d.String() <= r.URL.Query().Get("after") {
				continue
			}
			if len(list.Blobs) == 10 {
				list.Next = list.Blobs[9].Digest.String()
				break
			}
			list.Blobs = append(list.Blobs, api.BlobInfo{Digest: d, Size: 1000})
		}
		_ = json.NewEncoder(w).Encode(list)
	})
	var mu sync.Mutex
	looks := 0
	look := func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		looks++
		d, _ := core.ParseDigest(r.PathValue("digest"))
		rep := api.BlobReport{Digest: d, State: states[d.String()]}
		if rep.State != api.BlobSound {
			rep.Detail, rep.Next = "some bytes are wrong", "do this"
			if r.Method == http.MethodPost && mends[d.String()] {
				rep.State, rep.Repaired, rep.Next = api.BlobSound, true, ""
			}
		}
		_ = json.NewEncoder(w).Encode(rep)
	}
	f.Mux.HandleFunc("GET /v1/blobs/{digest}/verify", look)
	f.Mux.HandleFunc("POST /v1/blobs/{digest}/repair", look)
	return f, ds, func() int { mu.Lock(); defer mu.Unlock(); return looks }
}

func TestBlobsLsPagesAndSumsUp(t *testing.T) {
	t.Parallel()
	f, _, _ := blobNode(t, 25, nil)
	got := f.run("blobs", "ls")
	wantResult(t, got, 0, "sha256:", "25 blobs, 24.4 KiB")
	if n := strings.Count(got.out, "\n"); n != 25 {
		t.Errorf("%d lines", n)
	}
	got = f.run("blobs", "ls", "--limit", "13")
	lines := strings.Split(strings.TrimSpace(got.out), "\n")
	last, _, _ := strings.Cut(lines[len(lines)-1], " ")
	wantResult(t, got, 0, "", "there are more: --after "+last)
	rest := f.run("blobs", "ls", "--after", last, "-o", "json")
	var blobs []api.BlobInfo
	if err := json.Unmarshal([]byte(rest.out), &blobs); err != nil || len(blobs) != 12 {
		t.Errorf("the rest are %d, %v", len(blobs), err)
	}
	wantResult(t, f.run("blobs", "ls", "--after", "x"), cli.ExitInvalid, "", "sha256:x")
}

func TestBlobsVerifyReportsDamage(t *testing.T) {
	t.Parallel()
	f, ds, looked := blobNode(t, 25, map[int]api.BlobState{3: api.BlobDamaged, 7: api.BlobMissing}, 3)
	got := f.run("blobs", "verify")
	wantResult(t, got, cli.ExitDamaged, "25 blobs of 25 verified, 24.4 KiB: 2 not sound", "2 blobs are damaged or missing\nhint: write again what the node has a copy of, with: --repair")
	for i, state := range map[int]string{3: "damaged", 7: "missing"} {
		if !strings.Contains(got.out, ds[i].String()+"  "+state+": some bytes are wrong\n  hint: do this\n") {
			t.Errorf("%s does not name blob %d", got.out, i)
		}
	}
	if looked() != 25 {
		t.Errorf("%d looks", looked())
	}
	wantResult(t, f.run("blobs", "verify", "--repair"), cli.ExitDamaged, "1 repaired: 1 not sound", "ask the other nodes")
	wantResult(t, f.run("blobs", "verify", ds[0].String(), "-o", "json"), 0, `"verified":1,"bytes":0`, "")
	wantResult(t, f.run("blobs", "verify", ds[3].String(), "--repair"), 0, "repaired, it was: some bytes are wrong", "")
}

// A sampleTally is what blobs verify prints for programs.
type sampleTally struct {
	Blobs, Verified int
	Bytes           int64
	Seed            uint64
}

func TestBlobsVerifyTakesTheSameSampleForTheSameSeed(t *testing.T) {
	t.Parallel()
	f, _, looked := blobNode(t, 200, nil)
	sample := func(args ...string) (n int, tally sampleTally) {
		before := looked()
		got := f.run(append([]string{"blobs", "verify", "-o", "json", "--sample"}, args...)...)
		if err := json.Unmarshal([]byte(got.out), &tally); err != nil {
			t.Fatal(err, got)
		}
		return looked() - before, tally
	}
	n, first := sample("20%")
	if n < 15 || n > 70 || first.Verified != n || first.Blobs != 200 || first.Bytes != int64(1000*n) {
		t.Errorf("%d of 200: %+v", n, first)
	}
	if _, again := sample("0.2", "--seed", fmt.Sprint(first.Seed)); again != first {
		t.Errorf("the same seed: %+v and %+v", first, again)
	}
	if _, other := sample("20%", "--seed", fmt.Sprint(first.Seed+1)); other == first {
		t.Errorf("another seed: %+v", other)
	}
	if n, _ := sample("100%"); n != 200 {
		t.Errorf("all are %d", n)
	}
	for _, bad := range []string{"0", "0%", "101%", "-1", "x", "NaN", "Inf"} {
		wantResult(t, f.run("blobs", "verify", "--sample="+bad), cli.ExitUsage, "", "write it like 5%")
	}
	wantResult(t, f.run("blobs", "verify", "--seed", "1"), cli.ExitUsage, "", "--seed requires --sample")
}

func TestBlobsVerifyHintContinues(t *testing.T) {
	t.Parallel()
	ds := []core.Digest{core.DigestOf([]byte("a")), core.DigestOf([]byte("b"))}
	slices.SortFunc(ds, func(a, b core.Digest) int { return strings.Compare(a.String(), b.String()) })
	g := newFake(t)
	g.Mux.HandleFunc("GET /v1/blobs", func(w http.ResponseWriter, r *http.Request) {
		list := api.BlobList{Blobs: []api.BlobInfo{{Digest: ds[0]}}, Next: ds[0].String()}
		if r.URL.Query().Get("after") != "" {
			list = api.BlobList{Blobs: []api.BlobInfo{{Digest: ds[1]}}}
		}
		_ = json.NewEncoder(w).Encode(list)
	})
	g.Mux.HandleFunc("GET /v1/blobs/{digest}/verify", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("digest") == ds[1].String() {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"code":"unavailable","detail":"the store is away","status":503}`)
			return
		}
		_ = json.NewEncoder(w).Encode(api.BlobReport{Digest: ds[0], State: api.BlobSound})
	})
	wantResult(t, g.run("blobs", "verify", "--sample", "99.9999%", "--seed", "5", "--timeout", "3s"), cli.ExitUnavailable, "",
		"the store is away\nhint: continue with: --after "+ds[0].String()+" --sample 99.9999% --seed 5")
}

func TestBlobsStatAndPut(t *testing.T) {
	t.Parallel()
	f, ds, _ := blobNode(t, 3, nil)
	f.Answers("GET /v1/blobs/{digest}/info", api.BlobStat{
		BlobInfo: api.BlobInfo{Digest: ds[0], Size: 2048}, Cached: true, Sessions: []core.SessionID{"session-one"},
	})
	wantResult(t, f.run("blobs", "stat", ds[0].String()), 0, "size      2 KiB\n", "")
	wantResult(t, f.run("blobs", "stat", ds[0].String()), 0, "named by  session-one\n", "")
	f.Answers("GET /v1/status", api.Status{BlobPuts: api.BlobPuts{Written: 3, WrittenBytes: 3000, Existing: 2, ExistingBytes: 2000}})
	wantResult(t, f.run("blobs", "stat"), 0, "blobs    3 blobs, 2.9 KiB\n", "")
	wantResult(t, f.run("blobs", "stat", "-o", "json"), 0, `{"blobs":3,"bytes":3000,"puts":{"written":3,"writtenBytes":3000,"there":2,"thereBytes":2000}}`, "")

	path := filepath.Join(t.TempDir(), "copy")
	testkit.WriteFile(t, path, []byte("good"))
	var put string
	f.Mux.HandleFunc("PUT /v1/blobs/{digest}", func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		put = r.PathValue("digest") + " " + string(b)
		w.WriteHeader(http.StatusNoContent)
	})
	d := core.DigestOf([]byte("good")).String()
	wantResult(t, f.run("blobs", "put", path), 0, d+"  4 bytes", "")
	if put != d+" good" {
		t.Errorf("put %s", put)
	}
}
