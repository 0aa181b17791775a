package upload

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/sesslog/sesslog/core"
)

// An upload is two files: a note of what it is, and the bytes as far as they are
// there. The note is written last and removed first, so bytes without one are
// rubbish.

const (
	noteEnd  = ".json"
	bytesEnd = ".bytes"
)

func (s *Store) noteOf(id string) string  { return filepath.Join(s.cfg.Dir, id+noteEnd) }
func (s *Store) bytesOf(id string) string { return filepath.Join(s.cfg.Dir, id+bytesEnd) }

// write makes the files of an upload that has nothing yet, and flushes them.
func (s *Store) write(u Upload) error {
	note, err := json.Marshal(u)
	if err != nil {
		return err
	}
	if err := writeNew(s.bytesOf(u.ID), nil); err != nil {
		return err
	}
	half := s.noteOf(u.ID) + ".half"
	if err := writeNew(half, note); err != nil {
		return err
	}
	if err := os.Rename(half, s.noteOf(u.ID)); err != nil {
		return err
	}
	return syncDir(s.cfg.Dir)
}

func writeNew(name string, b []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return roomy(err)
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	return roomy(errors.Join(err, f.Close()))
}

// found returns the uploads that are in the directory, and removes what belongs
// to none. Of bytes that a machine lost with its power there may be rubbish at the
// end: the digest tells.
func (s *Store) found() ([]Upload, error) {
	files, err := os.ReadDir(s.cfg.Dir)
	if err != nil {
		return nil, err
	}
	var all []Upload
	known := map[string]bool{}
	for _, f := range files {
		id, isNote := strings.CutSuffix(f.Name(), noteEnd)
		if !isNote {
			continue
		}
		if u, err := s.read(id); err == nil {
			all = append(all, u)
			known[u.ID+noteEnd], known[u.ID+bytesEnd] = true, true
		} else {
			s.cfg.Logger.Warn("an upload cannot be read and is dropped", "upload", id, "err", err)
		}
	}
	for _, f := range files {
		if known[f.Name()] {
			continue
		}
		if err := os.Remove(filepath.Join(s.cfg.Dir, f.Name())); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (s *Store) read(id string) (u Upload, err error) {
	if !validID(id) {
		return u, fmt.Errorf("%q is no name of an upload: %w", id, core.ErrInvalid)
	}
	note, err := os.ReadFile(s.noteOf(id))
	if err != nil {
		return u, err
	}
	if err := json.Unmarshal(note, &u); err != nil {
		return u, err
	}
	info, err := os.Stat(s.bytesOf(id))
	if err != nil {
		return u, err
	}
	if u.ID != id || idOf(u.Owner, u.SHA256, u.Size) != id || info.Size() > u.Size {
		return u, fmt.Errorf("its note is another's: %w", core.ErrCorrupt)
	}
	u.Offset = info.Size()
	return u, nil
}

// syncDir flushes the names in dir.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, os.ErrPermission) {
		return err // Windows flushes no directory
	}
	return nil
}

// roomy is err, as core.ErrFull where the disk is full.
func roomy(err error) error {
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("%v: %w", err, core.ErrFull)
	}
	return err
}
