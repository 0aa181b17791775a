package core_test

import (
	"context"
	"fmt"
	"log"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/dialect/pi"
	"github.com/sesslog/sesslog/core/memlog"
)

// The state of a session is the fold of its records.
func ExampleState_Apply() {
	ctx, records := context.Background(), memlog.New("main")
	writeSession(ctx, records, "session-1")

	last, err := records.Last(ctx, "session-1")
	if err != nil {
		log.Fatal(err)
	}
	s := core.NewState("main", "session-1", dialect.All())
	for r, err := range records.Read(ctx, "session-1", 0, last.Pos) {
		if err != nil {
			log.Fatal(err)
		}
		if err := s.Apply(r); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(s.Dialect.Name(), s.Header.CWD, len(s.Entries), s.Seq)
	// Output: pi /home/dev/site 1 2
}

// writeSession stores an open record and an append.
func writeSession(ctx context.Context, records core.Log, id core.SessionID) {
	d := pi.Dialect{}
	h, err := d.Header([]byte(`{"type":"session","version":3,"id":"session-1","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/home/dev/site"}`))
	if err != nil {
		log.Fatal(err)
	}
	e, err := d.Entry([]byte(`{"type":"message","id":"a1","parentId":null,"timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"user","content":"Which port?"}}`))
	if err != nil {
		log.Fatal(err)
	}
	open, err := core.OpenBody(core.Origin{Dialect: d.Name()}, h, nil)
	if err != nil {
		log.Fatal(err)
	}
	chain, pos := core.ChainStart(records.Name(), id), core.Pos(0)
	for i, r := range []*core.Record{
		{Kind: core.KindOpen, Body: open},
		{Kind: core.KindAppend, Head: core.MainHead, Count: 1, Body: core.LinesBody([]core.Entry{e})},
	} {
		r.Seq = uint64(i + 1)
		r.Chain = chain.Next(r)
		chain = r.Chain
		if pos, err = records.Append(ctx, id, pos, r); err != nil {
			log.Fatal(err)
		}
	}
}

// Read finds out which agent wrote a file.
func ExampleFile() {
	f, d, err := dialect.Read("", []byte(`{"type":"session","version":3,"id":"session-1","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/home/dev/site"}
{"type":"message","id":"a1","parentId":null,"timestamp":"2026-01-02T03:04:06.000Z","message":{"role":"user","content":"Which port?"}}
`))
	if err != nil {
		log.Fatal(err)
	}
	info, err := d.Info(f.Header, f.Entries, core.LeafAt("a1"))
	fmt.Println(f.Dialect, info.EntryCount, *info.LeafID, err)
	// Output: pi 1 a1 <nil>
}
