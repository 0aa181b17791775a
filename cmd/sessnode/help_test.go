package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

func TestEveryCommandHasExamples(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"config"}, {"bench"}, {"nats-permissions"}} {
		var out bytes.Buffer
		if err := run(t.Context(), append(args, "--help"), nil, &out, io.Discard); err != nil {
			t.Fatal(err)
		}
		if _, examples, ok := strings.Cut(out.String(), "Examples:\n"); !ok || !strings.HasPrefix(examples, "  sessnode") {
			t.Errorf("sessnode %v has no examples:\n%s", args, out.String())
		}
	}
}
