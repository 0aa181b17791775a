// Package testkit has the assertions, entry lines and addresses that tests of many
// packages share. It imports no other package of Sesslog, so that any test can use it.
package testkit

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Must ends the test if err is not nil.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// WantErr fails the test unless got wraps want.
func WantErr(t testing.TB, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("error is %v, want %v", got, want)
	}
}

// Equal fails the test with a diff unless want equals got. what names the value in
// the failure message.
func Equal(t testing.TB, what string, want, got any, opts ...cmp.Option) {
	t.Helper()
	if d := cmp.Diff(want, got, opts...); d != "" {
		t.Errorf("%s (-want +got)\n%s", what, d)
	}
}

// Logger returns a logger that writes records of at least level to the test's
// output.
func Logger(t testing.TB, level slog.Leveler) *slog.Logger {
	return slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: level}))
}
