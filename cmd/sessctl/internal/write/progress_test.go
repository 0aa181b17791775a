package write

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
)

func TestImportShowsBarOnTerminalAndLinesElsewhere(t *testing.T) {
	t.Parallel()
	for _, tty := range []bool{true, false} {
		var errs bytes.Buffer
		a := app{cli.New(func(string) string { return "" }, strings.NewReader(""), io.Discard, &errs)}
		a.Stderr.TTY, a.Stderr.Width = tty, 0
		now := time.Unix(0, 0)
		a.Now = func() time.Time { return now }
		p := a.newProgress([]foundFile{{name: "a", size: 1024}, {name: "b", size: 3072}}, false)
		p.sent(1024)
		now = now.Add(5 * time.Second)
		p.done(importResult{file: foundFile{size: 1024}})
		p.end()
		want := "sessctl: 1 of 2 files, 1 KiB of 4 KiB, 1 KiB sent\n"
		if tty {
			want = "\rimporting  [....................]  0 of 2 files, 0 bytes of 4 KiB, 1 KiB sent\x1b[K" +
				"\rimporting  [##########..........]  1 of 2 files, 1 KiB of 4 KiB, 1 KiB sent\x1b[K" + "\r\x1b[K"
		}
		if got := errs.String(); got != want {
			t.Errorf("on a terminal: %v: %q, want %q", tty, got, want)
		}
	}
}
