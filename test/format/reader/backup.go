package reader

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

const (
	backupFormat = 1
	maxRun       = 4 << 30
	maxPiece     = 128 << 20
)

// A Backup is the latest run of a backup.
type Backup struct {
	Log      string
	Sessions []BackupSession
	objects  fs.FS
}

// A BackupSession is a session of a run.
type BackupSession struct {
	ID, Chain, Base string
	Seq, BaseSeq    uint64
	Snapshot        *object
	Records         []struct {
		object
		From, To uint64
	}
}

type object struct {
	Digest string
	Size   int64
}

// OpenBackup reads the latest run of a backup.
func OpenBackup(objects fs.FS) (*Backup, error) {
	runs, err := fs.Glob(objects, "runs/*.json.zst")
	if err != nil || len(runs) == 0 {
		return nil, fmt.Errorf("no runs: %v", err)
	}
	latest := runs[len(runs)-1] // names are in the order of time
	packed, err := fs.ReadFile(objects, latest)
	if err != nil {
		return nil, err
	}
	_, digits, _ := strings.Cut(strings.TrimSuffix(path.Base(latest), ".json.zst"), "-")
	if digestOf(packed) != "sha256:"+digits {
		return nil, fmt.Errorf("run %s has digest %s", latest, digestOf(packed))
	}
	plain, err := inflate(packed, maxRun)
	if err != nil {
		return nil, err
	}
	var run struct {
		Backup
		Format int
	}
	if err := json.Unmarshal(plain, &run); err != nil {
		return nil, err
	}
	if run.Format > backupFormat {
		return nil, fmt.Errorf("backup format %d", run.Format)
	}
	run.objects = objects
	return &run.Backup, nil
}

// Blob returns an object of the backup: blobs are objects under their digest.
func (b *Backup) Blob(digest string) ([]byte, error) {
	digits := strings.TrimPrefix(digest, "sha256:")
	if err := parseHex(make([]byte, 32), digits); err != nil {
		return nil, err
	}
	return fs.ReadFile(b.objects, "objects/"+digits[:2]+"/"+digits)
}

func (b *Backup) object(o object) ([]byte, error) {
	packed, err := blob(b, o.Digest)
	if err == nil && int64(len(packed)) != o.Size {
		err = fmt.Errorf("object %s has %d bytes", o.Digest, len(packed))
	}
	return packed, err
}

// Object returns fs.ErrNotExist: a backup names no snapshot by its key.
func (b *Backup) Object(string) ([]byte, error) { return nil, fs.ErrNotExist }

// ofSession is the backup with one session's snapshot under any key.
type ofSession struct {
	*Backup
	snapshot *object
}

func (o ofSession) Object(string) ([]byte, error) { return o.object(*o.snapshot) }

// Read returns a session of the backup.
func (b *Backup) Read(bs *BackupSession) (*State, error) {
	var records []*Record
	for _, piece := range bs.Records {
		packed, err := b.object(piece.object)
		if err != nil {
			return nil, err
		}
		plain, err := inflate(packed, maxPiece)
		if err != nil {
			return nil, err
		}
		some, err := Records(plain, b)
		if err != nil {
			return nil, err
		}
		records = append(records, some...)
	}
	s, err := b.replay(bs, records)
	if err == nil && (s.Seq != bs.Seq || fmt.Sprintf("%x", s.Chain) != bs.Chain) {
		err = fmt.Errorf("session %s ends at %d-%x", bs.ID, s.Seq, s.Chain)
	}
	return s, err
}

func (b *Backup) replay(bs *BackupSession, records []*Record) (*State, error) {
	if len(records) == 1 && records[0].Kind == "erase" {
		return Read(b.Log, bs.ID, records, b)
	}
	s := newState(b.Log, bs.ID)
	if bs.BaseSeq != 0 {
		var err error
		if s, err = b.snapshot(bs, records); err != nil {
			return nil, err
		}
	}
	for _, r := range records {
		if err := s.apply(r); err != nil {
			return nil, fmt.Errorf("session %s: %w", bs.ID, err)
		}
	}
	return s, nil
}

// snapshot is the state that the records of a session continue.
func (b *Backup) snapshot(bs *BackupSession, records []*Record) (*State, error) {
	for _, r := range records {
		if r.Kind != "checkpoint" {
			continue
		}
		var m Manifest
		if err := json.Unmarshal(r.Body, &m); err != nil {
			return nil, err
		}
		if m.Seq == bs.BaseSeq && m.Chain == bs.Base {
			return restore(b.Log, bs.ID, r, ofSession{b, bs.Snapshot})
		}
	}
	return nil, fmt.Errorf("session %s: no checkpoint covers record %d", bs.ID, bs.BaseSeq)
}
