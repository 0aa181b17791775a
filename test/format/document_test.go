package format_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/sesslog/sesslog/blobstore/memblob"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/image"
	"github.com/sesslog/sesslog/core/recordio"
	"github.com/sesslog/sesslog/core/snapshot"
	"github.com/sesslog/sesslog/internal/testkit"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/stream"
	"github.com/sesslog/sesslog/stream/embedded/embeddedtest"
	"github.com/sesslog/sesslog/test/format/reader"
)

var document = flag.Bool("document", false, "replace the example in docs/FORMAT.md")

const (
	documentPath = "../../docs/FORMAT.md"
	exampleFrom  = "<!-- example: written by test/format -->\n"
	exampleTo    = "<!-- end of example -->\n"

	exampleID     = core.SessionID("hello-2026")
	exampleWriter = "01KE6V5H0G0000000000000000"
	exampleHeader = `{"type":"session","version":3,"id":"hello-2026","timestamp":"2026-01-05T09:00:00.000Z","cwd":"/home/me/site"}`
	exampleLine   = `{"type":"message","id":"a1b2c3d4","parentId":null,"timestamp":"2026-01-05T09:00:01.000Z",` +
		`"message":{"role":"user","content":"Which port does the site use?"}}`
	exampleLong = `{"type":"message","id":"b2c3d4e5","parentId":"a1b2c3d4","timestamp":"2026-01-05T09:00:02.000Z",` +
		`"message":{"role":"user","content":"%s"}}`
)

// The example in docs/FORMAT.md is what this version of the programs writes,
// and what package reader reads.
func TestExampleInDocument(t *testing.T) {
	t.Parallel()
	e := newExample(t)
	e.write(t)
	text := e.render(t)
	have := string(testkit.ReadFile(t, documentPath))
	before, rest, found1 := strings.Cut(have, exampleFrom)
	old, after, found2 := strings.Cut(rest, exampleTo)
	switch {
	case !found1 || !found2:
		t.Fatalf("%s has no example between %q and %q", documentPath, exampleFrom, exampleTo)
	case *document:
		write(t, documentPath, []byte(before+exampleFrom+text+exampleTo+after))
	case old != text:
		t.Errorf("the example in %s is not what is written now; look at the difference, then run this test with -document\n%s", documentPath, text)
	}
	e.readBack(t)
	change, ok := snapshot.Diff([]byte("header\na\nb\n"), []byte("header\nA\nb\nc\n"))
	if want := "{\"lines\":3,\"replaced\":[1]}\nA\nc\n"; !ok || string(change) != want {
		t.Errorf("the change in the document is %q, and now %q", want, change)
	}
}

// An example is a session with fixed content in a separate log.
type example struct {
	log      *stream.Log
	js       jetstream.JetStream
	bucket   *memblob.Bucket
	state    *core.State
	manifest *core.Manifest
	messages []*jetstream.RawStreamMsg
}

// noBlobs is the blob store of the example, which has no blobs.
type noBlobs struct{}

func (noBlobs) Put(context.Context, []byte) (core.Digest, error) {
	return core.Digest{}, core.ErrUnavailable
}

func (noBlobs) Get(context.Context, core.Digest) ([]byte, error) { return nil, core.ErrNotFound }

func newExample(t *testing.T) *example {
	t.Helper()
	nc, err := embeddedtest.Start(t).Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	log, err := stream.OpenLog(t.Context(), nc, stream.LogConfig{Name: "main", Shards: 4, First: 1, Blobs: noBlobs{}})
	if err != nil {
		t.Fatal(err)
	}
	return &example{log: log, js: js, bucket: memblob.New(), state: core.NewState("main", exampleID, dialect.All())}
}

// write stores the session.
func (e *example) write(t *testing.T) {
	t.Helper()
	e.add(t, core.KindOpen, 0, `{"dialect":"pi"}`+"\n"+exampleHeader)
	e.add(t, core.KindAppend, 1, exampleLine)
	e.add(t, core.KindAppend, 1, fmt.Sprintf(exampleLong, strings.Repeat("x", 4096)))

	plain := e.state.Render()
	e.manifest = e.state.Manifest(plain, materializer.SnapshotKey("main", exampleID, e.state.Seq, core.DigestOf(plain)))
	if err := materializer.NewSnapshots(e.bucket).Save(t.Context(), e.manifest, plain); err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(e.manifest)
	if err != nil {
		t.Fatal(err)
	}
	e.add(t, core.KindCheckpoint, 0, string(body))
}

// add stores the next record.
func (e *example) add(t *testing.T, kind core.Kind, count int, body string) {
	t.Helper()
	st := e.state
	r := &core.Record{
		Kind: kind, Seq: st.Seq + 1, Head: core.MainHead, Writer: exampleWriter, Count: count, Base: st.Base, Body: []byte(body),
	}
	if kind == core.KindCheckpoint {
		r.Base = st.Pos
	}
	r.Chain = st.Chain.Next(r)
	var err error
	if r.Pos, err = e.log.Append(t.Context(), exampleID, st.Pos, r); err != nil {
		t.Fatal(err)
	}
	if err := st.Apply(r); err != nil {
		t.Fatal(err)
	}
	s, err := e.js.Stream(t.Context(), "SESS_main_00")
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.GetMsg(t.Context(), uint64(r.Pos))
	if err != nil {
		t.Fatal(err)
	}
	e.messages = append(e.messages, m)
}

// readBack fails the test unless package reader reads the session.
func (e *example) readBack(t *testing.T) {
	t.Helper()
	src := bucketSource{e.bucket}
	var records []*reader.Record
	for _, m := range e.messages {
		r, err := reader.Decode(reader.Message{Seq: m.Sequence, Header: m.Header, Data: m.Data}, src)
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, r)
	}
	s, err := reader.Read("main", string(exampleID), records, src)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(s.Canonical(), e.state.Render()) {
		t.Errorf("read as\n%s", s.Canonical())
	}
}

// A bucketSource is a reader.Source without blobs.
type bucketSource struct{ bucket *memblob.Bucket }

func (s bucketSource) Object(key string) ([]byte, error) {
	r, err := s.bucket.Get(context.Background(), key)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(r)
}

func (s bucketSource) Blob(string) ([]byte, error) { return nil, core.ErrNotFound }

// exampleWidth is how wide the lines of the example are.
const exampleWidth = 134

// render describes the session as the document shows it.
func (e *example) render(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	section := func(format string, a ...any) { fmt.Fprintf(&b, format+"\n\n", a...) }
	block := func(text string) {
		for len(text) > exampleWidth {
			fmt.Fprintf(&b, "    %s\n", text[:exampleWidth])
			text = text[exampleWidth:]
		}
		fmt.Fprintf(&b, "    %s\n", text)
	}

	section("**The chain.** The input of `chain(1)`, each field after its length; the first field is `chain(0)`.")
	for _, field := range e.chainInput() {
		block(fmt.Sprintf("%016x %x", len(field), field))
	}

	section("**Message 1**, on subject `sess.main.00.hello-2026`. Each header line ends with CRLF, an empty one follows the last; then the data.")
	for _, line := range headerLines(e.messages[0]) {
		block(line)
	}
	b.WriteString("\n")
	for line := range strings.SplitSeq(string(e.messages[0].Data), "\n") {
		block(line)
	}

	for i, m := range e.messages[1:] {
		section("**Message %d**: the headers that differ from those of message 1, and then the data%s.", i+2, dataNote(m))
		for _, line := range otherHeaders(m, e.messages[0]) {
			block(line)
		}
		if m.Header.Get("Sess-Encoding") == "" {
			block(string(m.Data))
		} else {
			block(hex.EncodeToString(m.Data))
		}
	}

	object, err := bucketSource{e.bucket}.Object(e.manifest.Object)
	if err != nil {
		t.Fatal(err)
	}
	section("**The snapshot** under the key in `object`: %d bytes, of which the last %d are the seek table.", len(object), seekTableSize)
	block(hex.EncodeToString(object))

	section("**A line with images**, as written and as kept. The first image is 1,500 bytes of zeros, `A...A` are its 2,000 characters.")
	for _, line := range imageExample() {
		block(line)
	}

	section("**Record 2 in a backup**, before compression:")
	var record bytes.Buffer
	m := e.messages[1]
	seq, _ := strconv.ParseUint(m.Header.Get("Sess-Seq"), 10, 64)
	chain, err := core.ParseChain(m.Header.Get("Sess-Chain"))
	if err != nil {
		t.Fatal(err)
	}
	err = recordio.Write(&record, &recordio.Record{Record: core.Record{
		Kind: core.KindAppend, Seq: seq, Chain: chain, Head: core.MainHead, Writer: exampleWriter, Count: 1, Base: 1,
		Pos: core.Pos(m.Sequence), Time: time.Date(2026, 1, 5, 9, 0, 1, 0, time.UTC), Body: m.Data,
	}})
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(record.String()) {
		block(strings.TrimSuffix(line, "\n"))
	}
	return b.String()
}

// seekTableSize is the size of a seek table of one frame.
const seekTableSize = 8 + 12 + 9

// chainInput are the fields that the chain of record 1 is taken of.
func (e *example) chainInput() [][]byte {
	zero, m := core.ChainStart("main", exampleID), e.messages[0]
	sum := core.DigestOf(m.Data)
	fields := [][]byte{zero[:]}
	for _, name := range []string{"Sess-Kind", "Sess-Seq", "Sess-Head", "Sess-Epoch", "Sess-Writer"} {
		fields = append(fields, []byte(m.Header.Get(name)))
	}
	return append(fields, sum[:])
}

// headerLines are a message's headers as they are stored.
func headerLines(m *jetstream.RawStreamMsg) []string {
	lines := []string{"NATS/1.0"}
	for _, name := range slices.Sorted(maps.Keys(m.Header)) {
		if strings.HasPrefix(name, "Sess-") || strings.HasPrefix(name, "Nats-Expected-") { // others are the answer's
			lines = append(lines, name+": "+m.Header.Get(name))
		}
	}
	return lines
}

// otherHeaders are the headers of m that first has not: the chain, and all others
// on a line.
func otherHeaders(m, first *jetstream.RawStreamMsg) []string {
	var chain string
	var others []string
	for _, line := range headerLines(m) {
		switch {
		case slices.Contains(headerLines(first), line):
		case strings.HasPrefix(line, "Sess-Chain"):
			chain = line
		default:
			others = append(others, line)
		}
	}
	return []string{strings.Join(others, "; "), chain}
}

func dataNote(m *jetstream.RawStreamMsg) string {
	if m.Header.Get("Sess-Encoding") == "" {
		return ""
	}
	return " in hex: its line has 4,096 times `x` for its content"
}

// imageExample is a line and how the log keeps it, the long base64 cut.
func imageExample() []string {
	long := base64.StdEncoding.EncodeToString(make([]byte, 1500))
	line := `{"id":"1","blocks":[{"type":"image","data":"` + long + `"},{"type":"image","data":"blob:x"},` +
		`{"type":"image","images":["data:image/png;base64,` + long + `","short"]}]}`
	kept, _ := image.Externalize([]byte(line))
	return []string{strings.ReplaceAll(line, long, "A...A"), string(kept)}
}

func TestDocumentNamesEveryKind(t *testing.T) {
	t.Parallel()
	text := string(testkit.ReadFile(t, documentPath))
	for _, kind := range []core.Kind{
		core.KindOpen, core.KindAppend, core.KindAmend, core.KindHead, core.KindClaim, core.KindRelease, core.KindCheckpoint,
		core.KindClose, core.KindDelete, core.KindUndelete, core.KindErase, core.KindHold, core.KindUnhold, core.KindRedact,
	} {
		if !strings.Contains(text, "\n| `"+string(kind)+"` |") {
			t.Errorf("no table has a row for records of kind %s", kind)
		}
	}
}
