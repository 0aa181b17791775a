package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/atomicfile"
	"github.com/sesslog/sesslog/internal/hint"
)

// A ClaimStore remembers the claims that this host was granted, one file per head,
// so that later processes can write under them. The log decides whether a claim is
// valid.
type ClaimStore struct {
	Dir    string // empty: nothing is remembered, and Save fails
	DryRun bool   // Save and Forget do nothing
}

// A StoredClaim is a claim that this host was granted.
type StoredClaim struct {
	Session core.SessionID `json:"session"`
	Head    string         `json:"head"`
	Writer  string         `json:"writer"`
	Epoch   uint64         `json:"epoch"`
	Agent   string         `json:"agent,omitempty"`
	Since   time.Time      `json:"since,omitzero"`
	Path    string         `json:"path,omitempty"`    // of the agent's file, if one was written
	Follows bool           `json:"follows,omitempty"` // made by sessctl watch for an agent that writes
}

// NewStoredClaim returns the record of a claim that was granted. path is that of
// the agent's file, or empty.
func NewStoredClaim(id core.SessionID, c api.Claimed, path string) StoredClaim {
	return StoredClaim{Session: id, Head: c.Head, Writer: c.Writer, Epoch: c.Epoch, Agent: c.Agent, Since: c.Since, Path: path}
}

// NewClaimStore returns the store below $XDG_STATE_HOME. Without a home directory
// it remembers nothing.
func NewClaimStore(env func(string) string, dryRun bool) ClaimStore {
	dir := StateDir(env)
	if dir == "" {
		return ClaimStore{}
	}
	return ClaimStore{filepath.Join(dir, "claims"), dryRun}
}

// path returns the file of a head. IDs contain no dot, so two heads never share a
// file.
func (s ClaimStore) path(id core.SessionID, head string) string {
	return filepath.Join(s.Dir, string(id)+"."+head+".json")
}

// Load returns the claim on head, and whether one is remembered.
func (s ClaimStore) Load(id core.SessionID, head string) (StoredClaim, bool, error) {
	var c StoredClaim
	if s.Dir == "" || core.CheckHead(head) != nil {
		return c, false, nil
	}
	b, err := os.ReadFile(s.path(id, head))
	if errors.Is(err, fs.ErrNotExist) {
		return c, false, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	if err == nil && (c.Session != id || c.Head != head || c.Writer == "") {
		err = errors.New("the content does not match the file name")
	}
	if err != nil {
		return StoredClaim{}, false, hint.With(fmt.Errorf("read the claim remembered in %s: %w", s.path(id, head), err),
			"remove that file, or continue without the claim: --no-claim")
	}
	return c, true, nil
}

// Save remembers c. The path of an agent's file belongs to one head at a time: if
// another head had it, that head's record loses it.
func (s ClaimStore) Save(c StoredClaim) error {
	if s.DryRun {
		return nil
	}
	if s.Dir == "" {
		return errors.New("neither HOME nor XDG_STATE_HOME is set")
	}
	if err := atomicfile.MkdirAll(s.Dir); err != nil {
		return err
	}
	if other := s.HeadOf(c.Session, c.Path, c.Head); other != c.Head && c.Path != "" {
		before, _, err := s.Load(c.Session, other)
		if err != nil {
			return err
		}
		before.Path = ""
		if err := s.Save(before); err != nil {
			return err
		}
	}
	b, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return atomicfile.WriteBytes(s.path(c.Session, c.Head), append(b, '\n'))
}

// Forget removes the claim on head if it is writer's. A newer claim stays.
func (s ClaimStore) Forget(id core.SessionID, head, writer string) error {
	c, ok, err := s.Load(id, head)
	if err != nil || !ok || c.Writer != writer || s.DryRun {
		return err
	}
	if err := os.Remove(s.path(id, head)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// HeadOf returns the head whose claim wrote the agent's file at path, or head if
// there is none.
func (s ClaimStore) HeadOf(id core.SessionID, path, head string) string {
	names, err := filepath.Glob(filepath.Join(s.Dir, string(id)+".*.json"))
	if err != nil || s.Dir == "" {
		return head
	}
	for _, name := range names {
		other := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(name), string(id)+"."), ".json")
		if c, ok, err := s.Load(id, other); err == nil && ok && c.Path == path {
			return other
		}
	}
	return head
}
