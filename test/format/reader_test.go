package format_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/image"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/test/e2e/harness"
	"github.com/sesslog/sesslog/test/format/reader"
)

func TestReaderReadsRecordFixtures(t *testing.T) {
	t.Parallel()
	eachVersion(t, func(t *testing.T, dir string, sessions map[string]expected) {
		for id, want := range sessions {
			src := fixtureSource(t, dir, id)
			records, err := reader.Records(testkit.ReadFile(t, dir, id+".records"), src)
			if err != nil {
				t.Fatal(err)
			}
			s, err := reader.Read("main", id, records, src)
			if err != nil {
				t.Fatal(err)
			}
			checkState(t, dir, want, s, src)
		}
	})
}

// fixtureSource has the blobs of a version's data directory, and the snapshot
// of one session under its key.
func fixtureSource(t *testing.T, dir, id string) reader.Source {
	t.Helper()
	data := t.TempDir()
	extract(t, testkit.ReadFile(t, dir, "data.tar.gz"), data)
	objects := fstest.MapFS{}
	err := fs.WalkDir(os.DirFS(filepath.Join(data, "blobs")), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b := testkit.ReadFile(t, data, "blobs", path)
		if strings.HasPrefix(path, "snapshots/main/"+id+"/") { // the fixture must do in its place
			b = testkit.ReadFile(t, dir, id+".snapshot.zst")
		}
		objects[path] = &fstest.MapFile{Data: b}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return reader.Store(objects)
}

func TestReaderReadsBackupFixtures(t *testing.T) {
	t.Parallel()
	eachVersion(t, func(t *testing.T, dir string, sessions map[string]expected) {
		b, err := reader.OpenBackup(os.DirFS(filepath.Join(dir, "backup")))
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Sessions) != len(sessions) {
			t.Errorf("%d sessions, want %d", len(b.Sessions), len(sessions))
		}
		for i := range b.Sessions {
			s, err := b.Read(&b.Sessions[i])
			if err != nil {
				t.Fatal(err)
			}
			checkState(t, dir, sessions[s.ID], s, b)
		}
	})
}

func TestReaderReadsStreamFixtures(t *testing.T) {
	t.Parallel()
	eachVersion(t, func(t *testing.T, dir string, sessions map[string]expected) {
		data := t.TempDir()
		extract(t, testkit.ReadFile(t, dir, "data.tar.gz"), data)
		node := harness.StartNode(t, "--node", "golden", "--data", data, "--nats-listen", "127.0.0.1:0")
		log := openStreams(t, node, data)
		for id, want := range sessions {
			checkState(t, dir, want, log.session(t, id), log.src)
		}
	})
}

// checkState fails the test unless s is the session that a fixture has.
func checkState(t *testing.T, dir string, want expected, s *reader.State, src reader.Source) {
	t.Helper()
	if got := fmt.Sprintf("%d-%x", s.Seq, s.Chain); got != want.Cursor {
		t.Errorf("%s: cursor %s, want %s", s.ID, got, want.Cursor)
	}
	if (s.Deleted != nil) != (want.State == "deleted") || (s.Erased != nil) != (want.State == "erased") {
		t.Errorf("%s: deleted %s, erased %s, want %s", s.ID, s.Deleted, s.Erased, want.State)
	}
	if want.State != "live" {
		return
	}
	checkHeads(t, s, want.Heads)
	checkExport(t, s, src, testkit.ReadFile(t, dir, s.ID+".jsonl"))
}

func checkHeads(t *testing.T, s *reader.State, want map[string]core.Leaf) {
	t.Helper()
	for name, leaf := range want {
		got, err1 := json.Marshal(s.Heads[name].Leaf)
		text, err2 := json.Marshal(leaf)
		if err := errors.Join(err1, err2); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%s: head %s points to %s, want %s: %v", s.ID, name, got, text, err)
		}
	}
	if len(s.Heads) != len(want) {
		t.Errorf("%s: %d heads, want %d", s.ID, len(s.Heads), len(want))
	}
}

func checkExport(t *testing.T, s *reader.State, src reader.Source, want []byte) {
	t.Helper()
	got, err := s.Export(src)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s: export differs: %d bytes, want %d\n%.600s", s.ID, len(got), len(want), got)
	}
}

// A streams is a log that is read with a NATS client and from its object store.
type streams struct {
	js     jetstream.JetStream
	src    reader.Source
	shards uint32
}

// openStreams connects to the NATS server of a node whose data directory is data.
func openStreams(t *testing.T, node *harness.Node, data string) *streams {
	t.Helper()
	nc, err := nats.Connect(node.NATSURL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	first, err := js.Stream(t.Context(), "SESS_main_00")
	if err != nil {
		t.Fatal(err)
	}
	l := &streams{js: js, src: reader.Store(os.DirFS(filepath.Join(data, "blobs")))}
	if _, err := fmt.Sscan(first.CachedInfo().Config.Metadata["sesslog.shards"], &l.shards); err != nil {
		t.Fatal(err)
	}
	return l
}

// session reads a session from its stream.
func (l *streams) session(t *testing.T, id string) *reader.State {
	t.Helper()
	s, err := reader.Read("main", id, l.records(t, id), l.src)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (l *streams) records(t *testing.T, id string) []*reader.Record {
	t.Helper()
	shard := reader.Shard(id, l.shards)
	stream, err := l.js.Stream(t.Context(), fmt.Sprintf("SESS_main_%02d", shard))
	if err != nil {
		t.Fatal(err)
	}
	var records []*reader.Record
	for next := uint64(1); ; {
		m, err := stream.GetMsg(t.Context(), next, jetstream.WithGetMsgSubject(fmt.Sprintf("sess.main.%02d.%s", shard, id)))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return records
		}
		if err != nil {
			t.Fatal(err)
		}
		r, err := reader.Decode(reader.Message{Seq: m.Sequence, Header: m.Header, Data: m.Data}, l.src)
		if err != nil {
			t.Fatal(err)
		}
		records, next = append(records, r), m.Sequence+1
	}
}

// agentFiles are small sessions of agents whose files differ from the log in
// order, or whose heads follow rules of their own.
var agentFiles = []struct{ agent, id, lines string }{
	{"omp", "019b81cf-e88e-75c8-aada-66998406f558", `{"type":"title","v":1,"title":"A title","source":"user","updatedAt":"2026-01-03T03:32:33.813Z","pad":"   "}
{"type":"session","version":3,"id":"019b81cf-e88e-75c8-aada-66998406f558","timestamp":"2026-01-03T03:04:05.368Z","cwd":"/home/dev"}
{"type":"message","id":"8790c955","parentId":null,"timestamp":"2026-01-03T03:04:05.814Z","message":{"role":"user","content":"hello"}}
`},
	{"operator", "019b7c01-06e3-7e1b-8d61-3e30d8f16adf", `{"type":"session","version":3,"id":"019b7c01-06e3-7e1b-8d61-3e30d8f16adf","timestamp":1767312000.806916,"cwd":"/home/dev"}
{"id":"35bf992d","timestamp":1767312001.67,"type":"message","message":{"contents":[{"type":"text","content":"start"}],"id":"m1","timestamp":1767312001.5,"role":"user"}}
{"id":"c4647159","parent_id":"35bf992d","timestamp":1767312002.08,"type":"message","message":{"contents":[{"type":"text","content":"more"}],"id":"m2","timestamp":1767312002.5,"role":"user"}}
{"id":"d5f4b3b2","parent_id":"c4647159","timestamp":1767312003.08,"type":"leaf","target_id":"35bf992d"}
`},
	{"openrath", "795b929e-9a9a-40fd-aa7b-5bf55eb561a4", `{"record_type": "header", "schema_version": 1, "id": "795b929e-9a9a-40fd-aa7b-5bf55eb561a4", "created_at": "2026-01-08T12:26:03.009999+00:00", "parent_session_ids": [], "lineage_operator": null, "lineage_kind": "create", "lineage_extras": [], "sandbox_backend": null, "sandbox_spec": null, "sandbox_handle_id": null}
{"record_type": "chunk", "index": 0, "kind": "system", "payload": {"content": "You are <b>&amp;</b>"}}
{"record_type": "chunk", "index": 1, "kind": "user", "payload": {"content": "hello"}}
{"record_type": "trailer", "closed_at": "2026-01-08T12:26:03.303271+00:00", "final_chunk_count": 2, "cumulative_usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}}
`},
}

// A fresh is a node with sessions that this version of the programs writes.
type fresh struct {
	*streams
	node *harness.Node
	host *harness.Host
}

func startFresh(t *testing.T) *fresh {
	t.Helper()
	// The log must not change during a comparison: no automatic checkpoints.
	node := harness.StartNode(t, "--nats-listen", "127.0.0.1:0", "--snapshots-min-tail", "1GiB", "--snapshots-idle", "1h")
	return &fresh{openStreams(t, node, node.Data), node, harness.NewHost(t, node)}
}

// check fails the test unless the reader has a session as the node has it.
func (f *fresh) check(t *testing.T, id string) *reader.State {
	t.Helper()
	c, s := f.node.Client(), f.session(t, id)
	if got, end := fmt.Sprintf("%d-%x", s.Seq, s.Chain), harness.Ends(t, c)[id]; got != end {
		t.Errorf("%s: cursor %s, want %s", id, got, end)
	}
	if s.Erased == nil {
		checkHeads(t, s, headsOf(t, c, id))
		checkExport(t, s, f.src, harness.Export(t, c, id))
	}
	return s
}

func TestReaderReadsFreshSessionsOfEachAgent(t *testing.T) {
	t.Parallel()
	f := startFresh(t)
	for _, a := range agentFiles {
		path := filepath.Join(f.host.Dir, a.id+".jsonl")
		write(t, path, []byte(a.lines))
		f.host.Do(t, "import", path)
		if s := f.check(t, a.id); s.Dialect != a.agent {
			t.Errorf("%s has dialect %s", a.id, s.Dialect)
		}
		f.host.Do(t, "checkpoint", a.id)
		f.check(t, a.id)
	}
}

func TestReaderReadsFreshSession(t *testing.T) {
	t.Parallel()
	f := startFresh(t)
	c := f.node.Client()
	file := harness.Generate(7, harness.Shape{Turns: 12, Images: 3, ImageBytes: 1200, Words: 12})
	id := file.ID
	add := func(text string, o client.AppendOptions) string {
		t.Helper()
		got, err := c.Append(harness.Timeout(t), id, []byte(harness.Message("user", text)), o)
		if err != nil {
			t.Fatal(err)
		}
		return got.IDs[0]
	}

	f.host.Do(t, "import", file.Save(t, f.host.Dir))
	f.check(t, id)
	f.host.Do(t, "checkpoint", id)
	f.check(t, id)

	keyed := add("before the amendment", client.AppendOptions{Key: "turn-17"})
	if want := reader.LineID("pi", id, "turn-17", 0); keyed != want {
		t.Errorf("the line got id %s, want %s", keyed, want)
	}
	add(strings.Repeat("compressed ", 1000), client.AppendOptions{})
	spilled := add(incompressible(400<<10), client.AppendOptions{})
	held, err := c.Claim(harness.Timeout(t), id, core.ClaimRequest{Agent: "pi", Head: "aside"})
	if err != nil {
		t.Fatal(err)
	}
	add("on another head", client.AppendOptions{Head: "aside", Writer: held.Writer})
	line := lineOf(t, f.check(t, id), keyed)
	amended := bytes.Replace(line, []byte("before the amendment"), []byte("after the amendment"), 1)
	if _, err := c.Amend(harness.Timeout(t), id, keyed, amended, client.AppendOptions{}); err != nil {
		t.Fatal(err)
	}
	if s := f.check(t, id); s.Heads["aside"].Writer() != held.Writer {
		t.Errorf("head aside is held by %q, want %q", s.Heads["aside"].Writer(), held.Writer)
	}

	inParts := false
	for n := 0; n < 10 && !inParts; n++ { // several snapshots are written whole before one is a change
		add(fmt.Sprintf("snapshot %d", n), client.AppendOptions{})
		f.host.Do(t, "checkpoint", id)
		f.check(t, id)
		records := f.records(t, id)
		inParts = bytes.Contains(records[len(records)-1].Body, []byte(`"inline":`))
	}
	if !inParts {
		t.Error("no snapshot has an inline part")
	}
	f.host.Do(t, "redact", id, spilled, "--yes", "--why", "a test")
	if s := f.check(t, id); !s.Redacted[spilled] {
		t.Errorf("entry %s is not redacted", spilled)
	}
	f.host.Do(t, "rm", id)
	if s := f.check(t, id); s.Deleted == nil {
		t.Error("the session is not in the trash")
	}

	backup := filepath.Join(f.host.Dir, "backup")
	f.host.Do(t, "backup", "--to", backup)
	other := startFresh(t)
	other.host.Do(t, "restore", "--from", backup, "--all")
	if got, want := other.check(t, id), f.session(t, id); got.Chain != want.Chain {
		t.Errorf("restored with chain %x, want %x", got.Chain, want.Chain)
	}

	f.host.Do(t, "erase", id, "--now", "--yes", "--why", "a test")
	if s := f.check(t, id); s.Erased == nil {
		t.Error("the session is not erased")
	}
}

// incompressible is text of n bytes that compresses to more than half of that.
func incompressible(n int) string {
	b := make([]byte, n/4*3)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return base64.StdEncoding.EncodeToString(b)
}

// lineOf returns the line of an entry.
func lineOf(t *testing.T, s *reader.State, id string) []byte {
	t.Helper()
	for line := range bytes.Lines(s.Canonical()) {
		var e struct{ ID string }
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		if e.ID == id {
			return bytes.TrimSuffix(line, []byte("\n"))
		}
	}
	t.Fatalf("no entry %s", id)
	return nil
}

// Lines with images that are easy to get wrong.
func TestReaderPutsImagesBack(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("QUJD", 400)
	for _, line := range []string{
		`{"type":"image","data":"` + long + `"}`,
		`{"data":"` + long + `","type":"image"}`,
		`{"type":"im\u0061ge","data":"` + long + `"}`,
		`{"type":"image","type":"other","data":"` + long + `"}`,
		`{"type":"other","type":"image","data":"` + long + `"}`,
		`{"type":"image","type":{"type":"image"},"data":"` + long + `"}`,
		`{"type":"image","data":"data:image/png;base64,` + long + `"}`,
		`{"type":"image","images":["data:image/png;base64,` + long + `","` + long + `",["` + long + `"]]}`,
		`{"type":"image","images":["data:image/png,` + long + `"]}`,
		`{"type":"image","images":["data:image/png;base64,blob:keep:x"]}`,
		`{"type":"image","data":"blob:sha256:` + strings.Repeat("00", 32) + `","images":"` + long + `"}`,
		`{"type":"image","data":"blob:x","inner":{"type":"image","data":"` + long + `"}}`,
		`{"a":[{"type":"image","data":"` + long[1:] + `"},{"type":"image","data":"` + long + `"}]}`,
		`{"type":"image","data":"` + long + `"`,
	} {
		stored, blobs := image.Externalize([]byte(line))
		got, err := reader.PutImages(stored, blobsOf(blobs))
		if err != nil || string(got) != line {
			t.Errorf("%.80s\nis kept as\n%.200s\nread as\n%.80s\n%v", line, stored, got, err)
		}
	}
}

// blobsOf is a reader.Source of these blobs.
func blobsOf(blobs []image.Blob) reader.Source {
	objects := fstest.MapFS{}
	for _, b := range blobs {
		digits := strings.TrimPrefix(b.Digest.String(), "sha256:")
		objects["blobs/sha256/"+digits[:2]+"/"+digits] = &fstest.MapFile{Data: b.Bytes}
	}
	return reader.Store(objects)
}
