package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/agent/process"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/atomicfile"
)

// A runStore remembers the session files that agents wrote under Run: one
// directory per file, with the follower's state, and a note while some of the file
// may not be in the log. A later run completes what an earlier one could not,
// because it was killed or had no node.
type runStore struct{ dir string }

// A runNote says what a run leaves undone if it ends now.
type runNote struct {
	Path    string         `json:"path"`
	Session core.SessionID `json:"session"`
	Dialect string         `json:"dialect"`
	Home    string         `json:"home,omitempty"` // with the other files of the session
	Images  string         `json:"images,omitempty"`
	Agent   int            `json:"agent,omitempty"`   // its process
	Start   string         `json:"start,omitempty"`   // process.StartID of that process
	Writers []string       `json:"writers,omitempty"` // claims to release
}

const (
	runNoteName = "run.json"
	// maxPending bounds how many files of earlier runs one run completes.
	maxPending = 32
	// keepRun is how long the state of a completed file is kept. Without it the file
	// is compared with the log once.
	keepRun = 30 * 24 * time.Hour
)

// runs returns the store beside that of claims. Without a home directory nothing
// is remembered.
func (h *Host) runs() runStore {
	if h.Claims.Dir == "" {
		return runStore{}
	}
	return runStore{filepath.Join(filepath.Dir(h.Claims.Dir), "runs")}
}

// state returns the directory for the file at path, empty if nothing is
// remembered.
func (r runStore) state(path string) string {
	if r.dir == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(r.dir, hex.EncodeToString(sum[:16]))
}

func (r runStore) save(n runNote) error {
	dir := r.state(n.Path)
	if dir == "" {
		return nil
	}
	if err := atomicfile.MkdirAll(dir); err != nil {
		return err
	}
	b, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return atomicfile.WriteBytes(filepath.Join(dir, runNoteName), append(b, '\n'))
}

// complete removes the note about the file at path: all of it is in the log.
func (r runStore) complete(path string) {
	if dir := r.state(path); dir != "" {
		_ = os.Remove(filepath.Join(dir, runNoteName)) // if it stays, the file is checked again
	}
}

// load returns the note about the file at path.
func (r runStore) load(path string) (runNote, bool) {
	return readRunNote(filepath.Join(r.state(path), runNoteName))
}

func readRunNote(path string) (n runNote, ok bool) {
	b, err := os.ReadFile(path)
	return n, err == nil && json.Unmarshal(b, &n) == nil && n.Path != "" && n.Session != ""
}

// pending returns the notes of earlier runs that are incomplete or still running,
// and removes old state of complete ones.
func (r runStore) pending(now time.Time) []runNote {
	if r.dir == "" {
		return nil
	}
	var notes []runNote
	dirs, _ := os.ReadDir(r.dir) // missing: there was no run
	for _, d := range dirs {
		dir := filepath.Join(r.dir, d.Name())
		n, ok := readRunNote(filepath.Join(dir, runNoteName))
		switch {
		case ok && len(notes) < maxPending:
			notes = append(notes, n)
		case !ok:
			r.expire(dir, now)
		}
	}
	return notes
}

func (r runStore) expire(dir string, now time.Time) {
	info, err := os.Stat(filepath.Join(dir, "places"))
	if err == nil && now.Sub(info.ModTime()) > keepRun {
		_ = os.RemoveAll(dir)
	}
}

// all returns the notes about all files.
func (r runStore) all() (notes []runNote) {
	if r.dir == "" {
		return nil
	}
	dirs, _ := os.ReadDir(r.dir) // missing: there was no run
	for _, d := range dirs {
		if n, ok := readRunNote(filepath.Join(r.dir, d.Name(), runNoteName)); ok {
			notes = append(notes, n)
		}
	}
	return notes
}

// claimedBy returns the note of the run that claimed a head as writer.
func (r runStore) claimedBy(writer string) (runNote, bool) {
	for _, n := range r.all() {
		if slices.Contains(n.Writers, writer) {
			return n, true
		}
	}
	return runNote{}, false
}

// busyElsewhere returns the processes that are known to write other sessions and
// not id.
func (r runStore) busyElsewhere(id core.SessionID) map[int]bool {
	pids := map[int]bool{}
	notes := r.all()
	for _, n := range notes {
		if n.Session != id {
			pids[n.running()] = true
		}
	}
	for _, n := range notes {
		if n.Session == id { // one agent may write several sessions
			delete(pids, n.running())
		}
	}
	return pids
}

// running returns the agent's process, or 0 if it has ended.
func (n runNote) running() int {
	if !process.Running(n.Agent, n.Start) {
		return 0
	}
	return n.Agent
}

// file returns the file that the note is about.
func (n runNote) file() sessionFile {
	return sessionFile{path: n.Path, root: follow.Root{Path: n.Path, Dialect: n.Dialect, Home: n.Home, Images: n.Images}, session: n.Session, dialect: n.Dialect}
}
