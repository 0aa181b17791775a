package envelope

import (
	"bytes"
	"fmt"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/bundle"
)

// A Line is a line of a file of the session, and the entry that it comes from.
type Line struct {
	Path  string
	Bytes []byte
	Entry core.Entry // of several pieces, the last
	Index int        // of Entry among the entries
}

// Contents are the files of a session, put together from its entries.
type Contents struct {
	Lines []Line          // of all files, each file's in its order
	Files []bundle.File   // the files without lines, the newest of each path
	open  map[string]bool // files whose last line has no newline
}

// Read puts the files of a session together. main returns the path of the file
// that an entry which is no envelope is a line of. Pieces without the others of
// their line are left out. Returns core.ErrInvalid if an entry is an envelope
// that cannot be read.
func Read(es []core.Entry, main func(core.Entry) string) (*Contents, error) {
	c := &Contents{open: map[string]bool{}}
	last := map[string]int{}  // path to the place of its last line in c.Lines
	files := map[string]int{} // path to the place in c.Files
	dropped := map[int]bool{}
	var parts []byte // of the line or file whose pieces are being read
	next := 0        // the piece that must come next
	for i, e := range es {
		p, ours, err := Open(e.Line)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		if !ours {
			p = Piece{Path: main(e), Bytes: e.Line, Pieces: 1, form: typeLine}
		}
		if p.IsOpen() {
			c.open[p.Path] = true
			continue
		}
		if p.Pieces > 1 {
			if p.Piece == 0 {
				parts, next = nil, 0
			}
			if p.Piece != next {
				continue
			}
			parts, next = append(parts, p.Bytes...), next+1
			if next < p.Pieces {
				continue
			}
			p.Bytes, parts, next = parts, nil, 0
		}
		if p.IsFile() {
			if at, ok := files[p.Path]; ok {
				c.Files[at].Data = p.Bytes
				continue
			}
			files[p.Path] = len(c.Files)
			c.Files = append(c.Files, bundle.File{Path: p.Path, Data: p.Bytes})
			continue
		}
		// A line that had no newline when it was read may have grown since.
		if at, ok := last[p.Path]; ok && c.open[p.Path] && bytes.HasPrefix(p.Bytes, c.Lines[at].Bytes) {
			dropped[at] = true
		}
		delete(c.open, p.Path)
		last[p.Path] = len(c.Lines)
		c.Lines = append(c.Lines, Line{Path: p.Path, Bytes: p.Bytes, Entry: e, Index: i})
	}
	if len(dropped) > 0 {
		kept := c.Lines[:0]
		for i, l := range c.Lines {
			if !dropped[i] {
				kept = append(kept, l)
			}
		}
		c.Lines = kept
	}
	return c, nil
}

// All returns every file, byte for byte: those with lines in the order of their
// first lines, then those without.
func (c *Contents) All() []bundle.File {
	at := map[string]int{}
	var all []bundle.File
	for _, l := range c.Lines {
		i, ok := at[l.Path]
		if !ok {
			i = len(all)
			at[l.Path] = i
			all = append(all, bundle.File{Path: l.Path})
		}
		all[i].Data = append(append(all[i].Data, l.Bytes...), '\n')
	}
	for i := range all {
		if c.open[all[i].Path] {
			all[i].Data = all[i].Data[:len(all[i].Data)-1]
		}
	}
	for _, f := range c.Files {
		if _, ok := at[f.Path]; !ok { // it had no lines when it was read first
			all = append(all, f)
		}
	}
	return all
}
