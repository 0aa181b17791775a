package jsonl_test

import (
	"testing"

	"github.com/sesslog/sesslog/core/dialect/internal/jsonl"
)

func TestWithTextChangesOneMember(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		`{"cwd":"/a","x": 1.0 }`:                      `{"cwd":"/b\"ü","x": 1.0 }`,
		` { "id" : "cwd" , "\u0063wd" : "\/a" } `:     ` { "id" : "cwd" , "\u0063wd" : "/b\"ü" } `,
		`{"cwd":"/a","in":{"cwd":"/a"},"cwd":"/c"}`:   `{"cwd":"/b\"ü","in":{"cwd":"/a"},"cwd":"/b\"ü"}`,
		`{"cwd":null,"CWD":"/a"}`:                     `{"cwd":null,"CWD":"/a"}`,
		`{"cwd":"/a"`:                                 `{"cwd":"/b\"ü"`,
		`["cwd","/a"]`:                                `["cwd","/a"]`,
		"{\"bad\":\"\xff\",\"cwd\":\"\xff\",\"y\":0}": "{\"bad\":\"\xff\",\"cwd\":\"/b\\\"ü\",\"y\":0}",
		``: ``,
	} {
		if got := string(jsonl.WithText([]byte(line), "cwd", `/b"ü`)); got != want {
			t.Errorf("%q becomes %q, want %q", line, got, want)
		}
	}
	const nested = `{"s": {"working_dir": "/a", "env": {}}, "t": {"working_dir": "/a"}}`
	if got := string(jsonl.WithTextIn([]byte(nested), "s", "working_dir", "/b")); got != `{"s": {"working_dir": "/b", "env": {}}, "t": {"working_dir": "/a"}}` {
		t.Errorf("nested: %s", got)
	}
}
