package opencode_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/sesslog/sesslog/core/bundle"
	"github.com/sesslog/sesslog/core/dialect/opencode"
)

// FuzzFile takes any bytes for a list of events and an export. What is read of
// them is restored byte for byte, and what is said of it is JSON.
func FuzzFile(f *testing.F) {
	s := begin().asks("msg_1", "a").answers("msg_2", "b").part("prt_3", "msg_2", `"type":"tool","callID":"c","tool":"t","state":{"status":"completed","input":{},"output":"o","time":{"compacted":1}}`)
	x := restored(f, s.file(f), "")["export.json"]
	f.Add([]byte(s.text()), []byte(x))
	f.Add([]byte("[ \n"+s.events[1]+" , "+s.events[0]+"]"), []byte(`{"info":{"id":"ses_x","revert":{"messageID":"msg_1","partID":"prt_1"},"time":{"created":1e99}},"messages":[{"info":{"id":"msg_1","role":"user"},"parts":[{"id":"prt_1","type":"compaction","tail_start_id":"msg_1"}]}]}`))
	f.Add([]byte(`[{"id":"evt_1","aggregate_id":"ses_x","seq":0,"type":"message.part.updated.1","data":{"part":{"id":"p","messageID":"m","type":"file","mime":"image/*","url":"data:,"}}}]`), []byte(`{"info":{"id":"ses_x"},"messages":[{"info":{"role":"assistant"},"parts":[{"type":"tool"},{}]},{}]}`))
	f.Add([]byte("[{\"aggregateID\":\"\xff\",\"id\":\"e\",\"seq\":1,\"type\":\"x\",\"data\":{}},1]"), []byte(`[]`))
	f.Add([]byte("0"), []byte(`{"info":{"id":"ses"},"messages":[{"info":{"id":"","role":"user"},"parts":[{"id":""}]}]}`))
	f.Fuzz(func(t *testing.T, events, export []byte) {
		files := []bundle.File{{Path: "events.json", Data: events}, {Path: "export.json", Data: export}}
		d := opencode.Dialect{}
		for _, b := range d.Bundles(paths(files), func(path string) []byte { p := data(files, path); return p[:min(len(p), 64<<10)] }) {
			file, err := d.Pack(b.Main, slices.DeleteFunc(slices.Clone(files), func(f bundle.File) bool { return !slices.Contains(b.Files, f.Path) }))
			if err != nil {
				continue
			}
			got := restored(t, file, "")
			for _, path := range b.Files {
				name := "export.json"
				if bytes.HasPrefix(bytes.TrimSpace(data(files, path)), []byte("[")) {
					name = "events.json"
				}
				if got[name] != string(data(files, path)) {
					t.Errorf("%s of %s is restored as %q", path, file.Header.ID, got[name])
				}
			}
			checkSession(t, file)
		}
		for _, f := range files {
			if file, err := d.File(f.Data); err == nil {
				checkSession(t, file)
			}
		}
	})
}
