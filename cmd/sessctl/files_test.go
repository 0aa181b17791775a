package main

import (
	"errors"
	"io/fs"
	"os"
)

func fileExists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
