package cli

import (
	"bytes"
	"testing"
	"time"
)

func TestProgressBarIsRemoved(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	a := testApp(nil)
	at := time.Unix(0, 0)
	a.Now = func() time.Time { at = at.Add(time.Second); return at }
	a.Stdout = Screen{Writer: &out, TTY: true, Width: 60}
	a.Stderr = Screen{Writer: &errs, TTY: true, Width: 60}
	bar := a.NewProgress("importing")
	bar.Step(1, 4)
	if err := a.Printf("a result"); err != nil {
		t.Fatal(err)
	}
	bar.Step(4, 4)
	bar.End()
	want := "\rimporting  [#####...............]  1 of 4\x1b[K" + "\r\x1b[K" +
		"\rimporting  [####################]  4 of 4\x1b[K" + "\r\x1b[K"
	if errs.String() != want || out.String() != "a result\n" {
		t.Errorf("%q\n%q", errs.String(), out.String())
	}
	if err := a.Printf("more"); err != nil || errs.String() != want || out.String() != "a result\nmore\n" {
		t.Errorf("after the end: %q\n%q, %v", errs.String(), out.String(), err)
	}

	// It is silent without a terminal, and for programs.
	errs.Reset()
	for _, quiet := range []func(*App){
		func(a *App) { a.Stderr.TTY = false },
		func(a *App) { a.Format = JSON },
	} {
		b := testApp(nil)
		b.Stderr = Screen{Writer: &errs, TTY: true}
		quiet(b)
		bar := b.NewProgress("importing")
		bar.Step(1, 2)
		bar.End()
	}
	if errs.Len() > 0 {
		t.Errorf("%q", errs.String())
	}
}
