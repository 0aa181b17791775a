//go:build !linux

package main

import "testing"

func runInside(t *testing.T, _ [][]byte) {
	t.Log("skipped: an image for Linux runs on Linux only")
}
