package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A file is one in an archive. What ends in a slash is a directory.
type file struct {
	name     string
	mode     int64
	uid, gid int
	content  []byte
}

// create writes an archive to path.
func create(path string, write func(io.Writer, []file, time.Time) error, files []file, at time.Time) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := write(f, files, at); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return f.Close()
}

func writeTarball(w io.Writer, files []file, at time.Time) error {
	z := gzip.NewWriter(w)
	if err := writeTar(z, files, at); err != nil {
		return err
	}
	return z.Close()
}

// writeTar writes files with nothing in them of who wrote them, and when.
func writeTar(w io.Writer, files []file, at time.Time) error {
	t := tar.NewWriter(w)
	for _, f := range files {
		h := &tar.Header{
			Name: f.name, Mode: f.mode, Uid: f.uid, Gid: f.gid, Size: int64(len(f.content)),
			ModTime: at, Typeflag: tar.TypeReg, Format: tar.FormatPAX,
		}
		if f.name[len(f.name)-1] == '/' {
			h.Typeflag = tar.TypeDir
		}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(f.content); err != nil {
			return err
		}
	}
	return t.Close()
}

func writeZip(w io.Writer, files []file, at time.Time) error {
	z := zip.NewWriter(w)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		h.SetMode(os.FileMode(f.mode))
		e, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := e.Write(f.content); err != nil {
			return err
		}
	}
	return z.Close()
}

// writeSums writes what sha256sum -c reads.
func writeSums(dir string, names []string) error {
	slices.Sort(names)
	var sums bytes.Buffer
	for _, name := range names {
		sum, err := sumOf(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%s  %s\n", sum, name)
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), sums.Bytes(), 0o644)
}

// sumOf returns the SHA-256 of a file, in hex.
func sumOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close() // it was only read
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
