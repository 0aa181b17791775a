package dialect_test

import (
	"errors"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
)

// pi and omp do not send a message without a role, and a compaction without a summary
// hides the history before it.
func TestAdmitRefusesWhatTheAgentDoesNotRead(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"pi", "omp"} {
		d, err := dialect.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		for line, good := range map[string]bool{
			`{"type":"message","id":"a","message":{"role":"user","content":"x"}}`:                            true,
			`{"type":"message","id":"a","message":{"content":"x","role":"user"}}`:                            true,
			`{"type":"message","id":"a","message":{"role":"of a later version"}}`:                            true,
			`{"type":"message","id":"a","message":{"content":{"role":"user"}}}`:                              false,
			`{"type":"message","id":"a","message":{"role":"","content":"x"}}`:                                false,
			`{"type":"message","id":"a","message":{"role":5}}`:                                               false,
			`{"type":"message","id":"a","message":{}}`:                                                       false,
			`{"type":"message","id":"a"}`:                                                                    false,
			`{"type":"compaction","id":"a","summary":"","firstKeptEntryId":"","tokensBefore":0}`:             true,
			`{"type":"compaction","id":"a","firstKeptEntryId":"","tokensBefore":0}`:                          false,
			`{"type":"compaction","id":"a","summary":{"text":"all"},"firstKeptEntryId":"","tokensBefore":0}`: false,
			`{"type":"of a later version","id":"a","message":null,"summary":7}`:                              true,
		} {
			e, err := d.Entry([]byte(line))
			if err != nil {
				t.Fatal(err)
			}
			a, ok := d.(core.Admitter)
			if !ok {
				t.Fatalf("%s admits everything", name)
			}
			err = a.Admit(core.Admission{Has: func(string) bool { return true }}, e)
			if good != (err == nil) || err != nil && !errors.Is(err, core.ErrInvalid) {
				t.Errorf("%s: %s: %v", name, line, err)
			}
		}
	}
}
