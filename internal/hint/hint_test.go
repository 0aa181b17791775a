package hint_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/sesslog/sesslog/internal/hint"
)

func TestWithKeepsTextAndCause(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("read: %w", hint.With(io.EOF, "retry with: %s", "cat"))
	if err.Error() != "read: EOF" || !errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	}
	if next, ok := hint.Of(err); !ok || next != "retry with: cat" {
		t.Errorf("hint %q, %t", next, ok)
	}
	if hint.With(nil, "x") != nil {
		t.Error("a hint for no error")
	}
	if _, ok := hint.Of(io.EOF); ok {
		t.Error("io.EOF has a hint")
	}
}

func TestSilentMatchesWithoutText(t *testing.T) {
	t.Parallel()
	if err := fmt.Errorf("the file ended%w", hint.Silent(io.EOF)); err.Error() != "the file ended" || !errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	}
}
