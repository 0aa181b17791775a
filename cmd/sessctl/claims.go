package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sesslog/sesslog/core"
)

// claims is the memory of the claims that this host was granted, one file for
// each head. It lets later runs write to a head that an earlier one claimed.
// It decides nothing: the log does.
type claims struct {
	dir string
	dry bool // nothing is remembered and nothing forgotten
}

// A held is a claim that this host was granted.
type held struct {
	Session core.SessionID `json:"session"`
	Head    string         `json:"head"`
	Writer  string         `json:"writer"`
	Epoch   uint64         `json:"epoch"`
	Agent   string         `json:"agent,omitempty"`
	Since   time.Time      `json:"since,omitzero"`
	Path    string         `json:"path,omitempty"`    // of the agent's file, where one was written
	Follows bool           `json:"follows,omitempty"` // sessctl watch made it, for an agent that writes
}

// claims returns the memory below $XDG_STATE_HOME. Without a home there is
// none: it remembers nothing and cannot be added to.
func (a *app) claims() claims {
	state := a.env("XDG_STATE_HOME")
	if !filepath.IsAbs(state) { // to be ignored, the XDG specification says
		home := a.env("HOME")
		if home == "" {
			return claims{}
		}
		state = filepath.Join(home, ".local", "state")
	}
	return claims{filepath.Join(state, "sesslog", "claims"), a.dry}
}

// path is where the claim on head is remembered. Ids have no dot, so that no
// two heads share a file.
func (c claims) path(id core.SessionID, head string) string {
	return filepath.Join(c.dir, string(id)+"."+head+".json")
}

// load returns the claim on head, and whether one is remembered.
func (c claims) load(id core.SessionID, head string) (held, bool, error) {
	var h held
	if c.dir == "" || core.CheckHead(head) != nil {
		return h, false, nil
	}
	b, err := os.ReadFile(c.path(id, head))
	if errors.Is(err, fs.ErrNotExist) {
		return h, false, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &h)
	}
	if err == nil && (h.Session != id || h.Head != head || h.Writer == "") {
		err = errors.New("it is not what was written there")
	}
	if err != nil {
		return held{}, false, hintf(fmt.Errorf("the claim remembered in %s cannot be read: %w", c.path(id, head), err),
			"remove that file, or go on without it: --no-claim")
	}
	return h, true, nil
}

// save remembers h.
func (c claims) save(h held) error {
	if c.dry {
		return nil
	}
	if c.dir == "" {
		return errors.New("neither HOME nor XDG_STATE_HOME is set")
	}
	if err := makeDir(c.dir); err != nil {
		return err
	}
	if other := c.headOf(h.Session, h.Path, h.Head); other != h.Head && h.Path != "" {
		was, _, err := c.load(h.Session, other)
		if err != nil {
			return err
		}
		was.Path = "" // the file is for this head now
		if err := c.save(was); err != nil {
			return err
		}
	}
	b, err := json.Marshal(h)
	if err != nil {
		return err
	}
	return writeFile(c.path(h.Session, h.Head), true, func(w io.Writer) error {
		_, err := w.Write(append(b, '\n'))
		return err
	})
}

// forget drops the claim on head if writer was granted it: a newer one stays.
func (c claims) forget(id core.SessionID, head, writer string) error {
	h, ok, err := c.load(id, head)
	if err != nil || !ok || h.Writer != writer || c.dry {
		return err
	}
	if err := os.Remove(c.path(id, head)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// headOf returns the head whose claim wrote the agent's file at path, or head
// where none is known to have.
func (c claims) headOf(id core.SessionID, path, head string) string {
	names, err := filepath.Glob(filepath.Join(c.dir, string(id)+".*.json"))
	if err != nil || c.dir == "" {
		return head
	}
	for _, name := range names {
		other := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(name), string(id)+"."), ".json")
		if h, ok, err := c.load(id, other); err == nil && ok && h.Path == path {
			return other
		}
	}
	return head
}
