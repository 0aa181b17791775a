package cli

import (
	"io"
	"strings"
)

// testApp returns an app without input, whose output is discarded.
func testApp(env map[string]string) *App {
	return New(func(k string) string { return env[k] }, strings.NewReader(""), io.Discard, io.Discard)
}
