package codex_test

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/dialect/codex"
)

func itoa(n int) string { return strconv.Itoa(n) }

// FuzzFile takes any bytes for two rollouts. What is read of them is restored
// byte for byte, and what is said of it is JSON.
func FuzzFile(f *testing.F) {
	begin := rollout(parent, "").says("user", "a")
	f.Add([]byte(begin.text()), []byte(rolloutFrom(begin.ordinal, child, begin.based(parent)).says("user", "b").text()))
	f.Add([]byte(begin.text()), []byte(rolloutFrom(begin.ordinal, parent, begin.based(parent)).line("compacted", `{"message":"x"}`).text()))
	f.Add([]byte(begin.text()), []byte(rollout(child, `,"parent_thread_id":"`+parent+`"`).raw("\xff\n{").text()))
	f.Add([]byte{0x28, 0xB5, 0x2F, 0xFD, 4, 0, 0}, []byte(rollout(child, `,"history_base":{"thread_id":"`+child+`","end_byte_offset":99999999999}`).item(`{"type":"function_call","call_id":"x"}`).line("event_msg", `{"type":"thread_rolled_back","num_turns":1e99}`).text()))
	f.Add([]byte(`{"id":"`+parent+`","thread_name":"n","updated_at":1}`), []byte(begin.text()))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		files := []bundle.File{{Path: fileName(1, parent), Data: a}, {Path: fileName(2, child), Data: b}, {Path: "session_index.jsonl", Data: a}}
		d := codex.Dialect{}
		bundles := d.Bundles([]string{files[0].Path, files[1].Path, files[2].Path}, func(path string) []byte {
			for _, f := range files {
				if f.Path == path {
					return f.Data[:min(len(f.Data), 64<<10)]
				}
			}
			return nil
		})
		for _, bundle := range bundles {
			file, err := d.Pack(bundle.Main, files)
			if err != nil {
				continue
			}
			checkSession(t, d, file)
			data := map[string][]byte{}
			for _, f := range files {
				data[f.Path] = f.Data
			}
			if x, err := d.Examine(bundle.Main, data, false); err != nil || x.Lost() < 0 {
				t.Errorf("%v: %+v", err, x)
			}
		}
		if file, err := d.File(a); err == nil {
			checkSession(t, d, file)
		}
	})
}

func checkSession(t *testing.T, d codex.Dialect, f *core.File) {
	t.Helper()
	again, err := d.File(core.Lines(f.Header.Before(f.Entries)))
	if err != nil || len(again.Entries) != len(f.Entries) {
		t.Fatalf("the session is not read again: %v", err)
	}
	if _, err := d.Unpack(f.Header, again.Entries, ""); err != nil {
		t.Fatal(err)
	}
	leaf := d.Leaf(again.Entries)
	info, err := d.Info(again.Header, again.Entries, leaf)
	if err != nil {
		t.Fatal(err)
	}
	context, err := d.Context(again.Entries, leaf)
	if err != nil || !json.Valid(context) {
		t.Fatalf("context %q: %v", context, err)
	}
	for _, e := range again.Entries {
		for _, it := range d.Read(e) {
			if line, _ := d.Write(it); line != nil && !json.Valid(line) {
				t.Errorf("%+v is written as %q", it, line)
			}
		}
	}
	for _, v := range []any{info, d.Summary(again.Header, again.Entries), d.Tree(again.Entries), d.Layout(again.Header, again.Entries)} {
		if _, err := json.Marshal(v); err != nil {
			t.Error(err)
		}
	}
}
