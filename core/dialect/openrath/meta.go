package openrath

import (
	"errors"
	"slices"
	"strings"
	"time"
)

// A Meta is a session file in a listing.
type Meta struct {
	ID       string
	Path     string
	Created  string // as the header has it
	Operator string
	Kind     LineageKind
	Chunks   int
	Closed   bool // there is a trailer
	Partial  bool // by its name, a writer may still be at it

	made time.Time
}

// A NamedFile is a session file and its bytes.
type NamedFile struct {
	Path string
	Data []byte
}

// Meta reads what a listing shows of a file, as strictly as Load.
func (d Dialect) Meta(f NamedFile) (Meta, error) {
	l, err := d.Load(f.Path, f.Data)
	if err != nil {
		return Meta{}, err
	}
	m := Meta{
		ID: l.ID, Path: f.Path, Created: l.Created, Operator: l.Operator, Kind: l.Kind,
		Chunks: l.Rows.Len(), Closed: l.Closed, Partial: strings.HasSuffix(f.Path, partialSuffix),
	}
	m.made, _ = parseTime(l.Created)
	return m, nil
}

// List returns the files that are sessions, oldest first, and joined into one
// error why the others are not. A time without an offset is in UTC.
func (d Dialect) List(files []NamedFile) (metas []Meta, skipped error) {
	var errs []error
	for _, f := range files {
		m, err := d.Meta(f)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		metas = append(metas, m)
	}
	slices.SortStableFunc(metas, func(a, b Meta) int { return a.made.Compare(b.made) })
	return metas, errors.Join(errs...)
}

// Expired returns those of metas, in order, whose sessions were made more than
// age before now. It does not check whether a writer is still active.
func Expired(metas []Meta, now time.Time, age time.Duration) []Meta {
	var old []Meta
	for _, m := range metas {
		if m.made.Before(now.Add(-age)) {
			old = append(old, m)
		}
	}
	return old
}
