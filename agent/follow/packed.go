package follow

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/sesslog/sesslog/agent/secrets"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/bundle"
)

// A packed is a session that its agent keeps in several files. Their lines are packed
// into one file of ours, the copy, in the order in which they come, and the copy is
// followed like any session file. It is derived: if it is lost, it is made again.
type packed struct {
	rules bundle.Packer
	home  string // directory to which the names of files are relative
	main  string // name of the main file
	copy  string // path of the copy
	// secrets are masked in what is read of the files, before ids are made of it.
	secrets secrets.Policy

	mu      sync.Mutex
	members []string         // names of all files; nil: main only
	parts   map[string]*part // by name
	packing bundle.Packing   // nil: not begun, or begin again
}

// A part is what is in the copy of one file.
type part struct {
	Dev, Ino    uint64
	Size, MTime int64
	offset      int64     // bytes of complete lines that are in the copy
	edge        [2]uint64 // hashes of the first and the last few of them
	tail        uint64    // hash of a last line without a newline that is in the copy, too
	hasTail     bool
	waits       bool // for the rest of a line, or for the file to settle
}

var (
	// errRewritten says that a file was not only added to.
	errRewritten = errors.New("it was rewritten")
	// errNoEntries says that nothing of a session is worth storing yet.
	errNoEntries = errors.New("it has no entries yet")
)

func (c *packed) copyPath() string { return c.copy }

func (c *packed) path(name string) string { return filepath.Join(c.home, filepath.FromSlash(name)) }

// setMembers sets the names of the session's files.
func (c *packed) setMembers(names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.members = slices.Clone(names)
}

// addMember adds the name of a file.
func (c *packed) addMember(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.files(), name) {
		c.members = append(c.files(), name)
	}
}

// files returns the names of all files. c.mu is held.
func (c *packed) files() []string {
	if c.members == nil {
		return []string{c.main}
	}
	return c.members
}

func (c *packed) isDue() bool {
	if _, err := os.Lstat(c.path(c.main)); errors.Is(err, fs.ErrNotExist) {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed()
}

// changed is isDue while c.mu is held.
func (c *packed) changed() bool {
	if c.parts == nil {
		c.loadParts()
	}
	for _, name := range c.files() {
		info, err := os.Stat(c.path(name))
		if err != nil {
			continue // its lines stay
		}
		if p := c.parts[name]; p == nil || p.waits || !p.matches(statOf(info)) {
			return true
		}
	}
	return false
}

func (p *part) matches(s stat) bool {
	return p.Dev == s.dev && p.Ino == s.ino && p.Size == s.size && p.MTime == s.mtime
}

// update implements source. With final, a last line without a newline and files
// that were just written count as complete.
func (c *packed) update(final bool) (again time.Duration, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := os.Stat(c.path(c.main)); err != nil {
		return 0, err
	}
	if !c.changed() {
		return 0, nil
	}
	if c.packing != nil {
		again, err = c.add(final)
		if !errors.Is(err, errRewritten) {
			return again, err
		}
	}
	again, err = c.begin(final)
	if err != nil {
		c.packing, c.parts = nil, nil
	}
	return again, err
}

// add appends what was added to the files to the copy.
func (c *packed) add(final bool) (again time.Duration, err error) {
	var lines []byte
	for _, name := range c.files() {
		feed, wait, err := c.read(name, final)
		if err != nil {
			return 0, err
		}
		again = sooner(again, wait)
		if len(feed) == 0 {
			continue
		}
		es, ok, err := c.packing.Add(name, feed)
		if err != nil {
			return 0, err
		}
		if !ok {
			return 0, errRewritten
		}
		lines = append(lines, core.Lines(es)...)
	}
	return again, c.write(lines)
}

func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// read returns what was added to a file since it was last read.
func (c *packed) read(name string, final bool) (feed []byte, wait time.Duration, err error) {
	h, s, err := openFile(c.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer h.Close()
	p := c.parts[name]
	if p == nil {
		p = &part{}
		c.parts[name] = p
	} else if p.matches(s) && !p.waits {
		return nil, 0, nil
	}
	settled := final || s.unchangedFor() > lastLineDelay
	if c.rules.Whole(name) {
		if p.waits = !settled; p.waits {
			return nil, lastLineDelay, nil
		}
		feed, err = readRange(h, 0, s.size)
		p.offset = int64(len(feed))
	} else {
		feed, err = p.grow(h, s, settled)
	}
	if err == nil {
		feed, err = c.secrets.MaskFile(name, c.rules.Whole(name), feed)
	}
	p.Dev, p.Ino, p.Size, p.MTime = s.dev, s.ino, s.size, s.mtime
	if p.waits {
		wait = lastLineDelay
	}
	return feed, wait, err
}

// grow returns the lines that were added to a file.
func (p *part) grow(h *os.File, s stat, settled bool) (feed []byte, err error) {
	if s.size < p.offset {
		return nil, errRewritten
	}
	if e, err := readEdges(h, p.offset); err != nil || p.offset > 0 && e.hashes() != p.edge {
		return nil, errors.Join(err, errRewritten)
	}
	data, err := readRange(h, p.offset, s.size)
	if err != nil {
		return nil, err
	}
	n := bytes.LastIndexByte(data, '\n') + 1
	feed, tail := data[:n], data[n:]
	p.hasTail = p.hasTail && n == 0 // else the line has ended, and is added again
	p.waits = len(tail) > 0 && !settled
	if len(tail) > 0 && settled && !(p.hasTail && p.tail == hash(tail)) {
		feed = data[n-len(feed):]
		p.tail, p.hasTail = hash(tail), true
	}
	p.offset += int64(n)
	e, err := readEdges(h, p.offset)
	p.edge = e.hashes()
	return feed, err
}

func readRange(h io.ReaderAt, from, to int64) ([]byte, error) {
	buf := make([]byte, to-from)
	n, err := h.ReadAt(buf, from)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return buf[:n], err
}

// begin packs all files, and brings the copy in step with the result.
func (c *packed) begin(final bool) (again time.Duration, err error) {
	c.packing, c.parts = nil, map[string]*part{}
	var files []bundle.File
	for _, name := range c.files() {
		data, wait, err := c.read(name, final)
		if err != nil {
			return 0, err
		}
		again = sooner(again, wait)
		if len(data) == 0 && name != c.main {
			continue
		}
		files = append(files, bundle.File{Path: name, Data: data})
	}
	f, packing, err := c.rules.Begin(c.main, files)
	if err != nil {
		return 0, err
	}
	if _, err := os.Stat(c.copy); err != nil && !core.AnyInTree(f.Entries) {
		return 0, errNoEntries
	}
	if err := c.reconcile(f); err != nil {
		return 0, err
	}
	c.packing = packing
	c.saveParts()
	return again, nil
}

// reconcile adds what the copy lacks of the packed session. If the copy has anything
// else, it is replaced.
func (c *packed) reconcile(f *core.File) error {
	old, err := os.ReadFile(c.copy)
	if err == nil && bytes.HasSuffix(old, []byte("\n")) {
		if missing, ok := c.missing(old, f); ok {
			return c.write(core.Lines(missing))
		}
	}
	if err := os.MkdirAll(filepath.Dir(c.copy), 0o700); err != nil {
		return err
	}
	return replaceFile(c.copy, append(append(slices.Clip(f.Header.Line), '\n'), core.Lines(f.Entries)...))
}

// missing returns the entries of f that the copy lacks. ok is false if the copy has
// others.
func (c *packed) missing(old []byte, f *core.File) (es []core.Entry, ok bool) {
	have, err := c.rules.File(old)
	if err != nil || have.Header.ID != f.Header.ID {
		return nil, false
	}
	lines := make(map[string][]byte, len(have.Entries))
	for i := range have.Entries {
		lines[have.Entries[i].ID] = have.Entries[i].Line
	}
	met := 0
	for i := range f.Entries {
		line, there := lines[f.Entries[i].ID]
		switch {
		case !there:
			es = append(es, f.Entries[i])
		case bytes.Equal(line, f.Entries[i].Line):
			met++
		}
	}
	return es, met == len(have.Entries)
}

// write appends lines to the copy.
func (c *packed) write(lines []byte) error {
	if len(lines) == 0 {
		return nil
	}
	h, err := os.OpenFile(c.copy, os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = h.Write(lines)
		err = errors.Join(err, h.Close())
	}
	if err != nil {
		c.packing, c.parts = nil, nil // the files were read, and the copy may lack lines
	}
	return err
}

// saveParts saves which files the copy has, so that a session that has not changed
// is not packed again by the next process.
func (c *packed) saveParts() {
	done := map[string]*part{}
	for name, p := range c.parts {
		if !p.waits && !p.hasTail {
			done[name] = p
		}
	}
	b, err := json.Marshal(done)
	if err == nil {
		_ = replaceFile(c.copy+".files", b) // otherwise it is packed again
	}
}

func (c *packed) loadParts() {
	c.parts = map[string]*part{}
	b, err := os.ReadFile(c.copy + ".files")
	if err != nil || json.Unmarshal(b, &c.parts) != nil {
		c.parts = map[string]*part{}
	}
}

func (c *packed) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.packing != nil {
		c.saveParts()
	}
}
