//go:build unix

package main

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/term"
)

// settings is how a terminal is set.
func settings(t *testing.T, f *os.File) string {
	t.Helper()
	state, err := term.GetState(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(*state)
}
