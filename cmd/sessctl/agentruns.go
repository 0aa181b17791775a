package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/core"
)

// runs is what this host remembers of session files that agents wrote under
// sessctl run: a folder for each file, in which the follower keeps how far it is
// in the log, and beside that a note while something of it may not be there. So
// what a run leaves that was killed, or had no node, is brought in by the next.
type runs struct{ dir string }

// A runNote says what a run leaves undone if it ends now.
type runNote struct {
	Path    string         `json:"path"`
	Session core.SessionID `json:"session"`
	Dialect string         `json:"dialect"`
	Images  string         `json:"images,omitempty"`
	Agent   int            `json:"agent,omitempty"`   // its process
	Start   string         `json:"start,omitempty"`   // and its startOf
	Writers []string       `json:"writers,omitempty"` // the claims that are to be given up
}

// runs returns the memory below $XDG_STATE_HOME, beside that of claims. Without
// a home there is none.
func (a *app) runs() runs {
	claims := a.claims().dir
	if claims == "" {
		return runs{}
	}
	return runs{filepath.Join(filepath.Dir(claims), "runs")}
}

// state is the folder about the file at path, empty where nothing is remembered.
func (r runs) state(path string) string {
	if r.dir == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(r.dir, hex.EncodeToString(sum[:16]))
}

const runNoteName = "run.json"

func (r runs) save(n runNote) error {
	dir := r.state(n.Path)
	if dir == "" {
		return nil
	}
	if err := makeDir(dir); err != nil {
		return err
	}
	b, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, runNoteName), true, func(w io.Writer) error {
		_, err := w.Write(append(b, '\n'))
		return err
	})
}

// done drops the note about the file at path: all of it is in the log.
func (r runs) done(path string) {
	if dir := r.state(path); dir != "" {
		_ = os.Remove(filepath.Join(dir, runNoteName)) // at worst it is looked at again
	}
}

// load returns the note about the file at path.
func (r runs) load(path string) (runNote, bool) {
	return readRunNote(filepath.Join(r.state(path), runNoteName))
}

func readRunNote(path string) (n runNote, ok bool) {
	b, err := os.ReadFile(path)
	return n, err == nil && json.Unmarshal(b, &n) == nil && n.Path != "" && n.Session != ""
}

const (
	// maxLeft bounds how many files of earlier runs one run brings in.
	maxLeft = 32
	// keepRun is how long it is remembered of a file that is all in the log how
	// far it is. Later it is compared with the log once.
	keepRun = 30 * 24 * time.Hour
)

// left returns what earlier runs have left undone, or are still at. What nobody
// has asked for in a long time is forgotten.
func (r runs) left(now time.Time) []runNote {
	if r.dir == "" {
		return nil
	}
	var notes []runNote
	dirs, _ := os.ReadDir(r.dir) // not there: there was no run
	for _, d := range dirs {
		dir := filepath.Join(r.dir, d.Name())
		n, ok := readRunNote(filepath.Join(dir, runNoteName))
		switch {
		case ok && len(notes) < maxLeft:
			notes = append(notes, n)
		case !ok:
			r.forget(dir, now)
		}
	}
	return notes
}

func (r runs) forget(dir string, now time.Time) {
	info, err := os.Stat(filepath.Join(dir, "places"))
	if err == nil && now.Sub(info.ModTime()) > keepRun {
		_ = os.RemoveAll(dir) // it is in the log
	}
}

// file is the file that a note is about.
func (n runNote) file() agentsFile {
	return agentsFile{path: n.Path, root: follow.Root{Path: n.Path, Dialect: n.Dialect, Images: n.Images}, session: n.Session, dialect: n.Dialect}
}
