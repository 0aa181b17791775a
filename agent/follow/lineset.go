package follow

import (
	"encoding/binary"
	"os"
	"path/filepath"

	"github.com/cespare/xxhash/v2"

	"github.com/sesslog/sesslog/core"
)

// hash is how a line is remembered. If two lines have the same hash, a removal may
// go unrecorded; no line is lost.
func hash(line []byte) uint64 { return xxhash.Sum64(line) }

// announced is XORed to the hash of a line before the line is known to be in the
// log. A line of the log with such a hash came from this file; the hash does not
// prove that the file had the line while the log had it.
const announced = 0x9e3779b97f4a7c15

// A lineSet is a set of hashes of lines.
type lineSet map[uint64]struct{}

func (s lineSet) has(h uint64) bool { _, ok := s[h]; return ok }

// stored reports whether the file had the line while the log had it.
func (s lineSet) stored(line []byte) bool { return s.has(hash(line)) }

// known reports whether the file had the line, in the log or announced.
func (s lineSet) known(line []byte) bool {
	h := hash(line)
	return s.has(h) || s.has(h^announced)
}

// lineSet returns the lines that the file had, nil if unknown.
func (st *stateStore) lineSet(path string) lineSet {
	st.mu.Lock()
	defer st.mu.Unlock()
	hs := st.lines[path]
	if st.dir != "" {
		b, err := os.ReadFile(st.linesPath(path))
		if err != nil {
			return nil
		}
		hs = unpack(b)
	}
	if hs == nil {
		return nil
	}
	s := make(lineSet, len(hs))
	for _, h := range hs {
		s[h] = struct{}{}
	}
	return s
}

// addLines adds hashes to the lines of a file.
func (st *stateStore) addLines(path string, hs []uint64) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.dir == "" {
		st.lines[path] = append(st.lines[path], hs...)
		return nil
	}
	f, err := os.OpenFile(st.linesPath(path), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size()%8 != 0 { // cut off by a crash
		if err := f.Truncate(info.Size() / 8 * 8); err != nil {
			return err
		}
	}
	_, err = f.Write(pack(hs))
	return err
}

// setLines replaces the lines of a file.
func (st *stateStore) setLines(path string, hs []uint64) error {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.dir == "" {
		st.lines[path] = append([]uint64{}, hs...)
		return nil
	}
	return replaceFile(st.linesPath(path), pack(hs))
}

// moveLines makes the lines of one path those of another.
func (st *stateStore) moveLines(from, to string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.dir == "" {
		st.lines[to] = st.lines[from]
		return
	}
	_ = os.Rename(st.linesPath(from), st.linesPath(to)) // if missing, differences are conflicts
}

func (st *stateStore) linesPath(path string) string {
	return filepath.Join(st.dir, "lines", core.DigestOf([]byte(path)).String()[len("sha256:"):][:32])
}

func pack(hs []uint64) []byte {
	b := make([]byte, 0, 8*len(hs))
	for _, h := range hs {
		b = binary.LittleEndian.AppendUint64(b, h)
	}
	return b
}

func unpack(b []byte) []uint64 {
	hs := make([]uint64, 0, len(b)/8)
	for ; len(b) >= 8; b = b[8:] {
		hs = append(hs, binary.LittleEndian.Uint64(b))
	}
	return hs
}
