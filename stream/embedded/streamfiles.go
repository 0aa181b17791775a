package embedded

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// JetStream's names in the directory of a stream.
const (
	messagesDir = "msgs"
	blockSuffix = ".blk"
)

// metaFiles have the settings of a stream and their checksum.
var metaFiles = []string{"meta.inf", "meta.sum"}

// racyAge is how old the modification time of a directory must be to prove that a
// later modification changes it. The clock of the kernel has a resolution of up to
// 10 ms.
const racyAge = 20 * time.Millisecond

// streamFiles flushes the files of one stream, and keeps a link to each file as of
// the last flush. It is used by one goroutine at a time.
//
// JetStream appends only to the last block. It replaces or removes earlier blocks,
// and the replacement is not flushed; see links.go for what the links are for.
type streamFiles struct {
	dir   string // the stream's, as JetStream has it
	links string // directory of the links
	sync  func(*os.File) error

	last   *os.File               // the block that is appended to, nil before the first flush
	size   int64                  // of last when dirty looked
	linked map[string]fs.FileInfo // the links; nil before the first flush
	dirs   [2]*os.File            // dir and its messages, as of the last scan; nil before
	marks  [2]dirMark             // of them
}

// A dirMark tells whether a directory was modified since.
type dirMark struct {
	info fs.FileInfo
	racy bool // a later modification may leave the same time
}

func markOf(dir *os.File) (dirMark, error) {
	info, err := dir.Stat()
	if err != nil {
		return dirMark{}, err
	}
	return dirMark{info, time.Since(info.ModTime()) < racyAge}, nil
}

func (m dirMark) same(now dirMark) bool {
	return m.info != nil && !m.racy && os.SameFile(m.info, now.info) && m.info.ModTime().Equal(now.info.ModTime())
}

// flush makes durable what the stream's files contain. If it fails, call it no more.
func (f *streamFiles) flush() error {
	changed, err := f.modified()
	if err != nil {
		return err
	}
	if f.last != nil {
		if err := f.sync(f.last); err != nil {
			return err
		}
	}
	if !changed {
		return nil
	}
	for try := 0; ; try++ {
		err := f.flushAll()
		if !errors.Is(err, errMoved) || try == maxMoves {
			return err
		}
		time.Sleep(time.Millisecond)
	}
}

// errMoved says that JetStream replaced a file or directory meanwhile.
var errMoved = errors.New("the files of the stream were replaced while they were flushed")

// maxMoves bounds how often a flush starts again after errMoved.
const maxMoves = 5000

// modified reports whether a file may have been created, replaced or removed since
// the last flush. A directory that was itself replaced was modified before: its files were
// removed, or the directory above it changed.
func (f *streamFiles) modified() (bool, error) {
	for i, dir := range f.dirs {
		if dir == nil {
			return true, nil
		}
		now, err := markOf(dir)
		if err != nil {
			return false, err
		}
		if !f.marks[i].same(now) {
			return true, nil
		}
	}
	return false, nil
}

// dirty reports whether anything was written since its last call.
func (f *streamFiles) dirty() bool {
	changed, err := f.modified()
	if changed || err != nil || f.last == nil {
		return true
	}
	info, err := f.last.Stat()
	if err != nil {
		return true
	}
	before := f.size
	f.size = info.Size()
	return f.size != before
}

// flushAll flushes new and replaced files, the directories and the links.
func (f *streamFiles) flushAll() error {
	first := f.linked == nil
	if err := f.readLinks(); err != nil {
		return err
	}
	marks, now, err := f.scan()
	if errors.Is(err, fs.ErrNotExist) {
		return f.gone()
	}
	if err != nil {
		return err
	}
	d := diffFiles(f.linked, now)
	changed := slices.Concat(d.added, d.replaced)
	if last := lastBlock(now); f.last == nil && last != "" && !slices.Contains(changed, last) {
		changed = append(changed, last)
	}
	for _, name := range changed {
		if now[name], err = f.syncFile(f.path(name)); err != nil {
			return err
		}
	}
	if err := f.syncDirs(first); err != nil {
		return err
	}
	if err := f.openLast(now); err != nil {
		return err
	}
	if err := f.link(d, now, first); err != nil {
		return err
	}
	f.marks = marks
	return nil
}

// readLinks reads the links that an earlier server made.
func (f *streamFiles) readLinks() error {
	if f.linked != nil {
		return nil
	}
	linked, err := filesIn(f.links)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f.linked = linked
	return nil
}

// filesIn returns the files in a directory of links.
func filesIn(links string) (map[string]fs.FileInfo, error) {
	files := map[string]fs.FileInfo{}
	entries, err := os.ReadDir(links)
	if err != nil {
		return files, err
	}
	for _, e := range entries {
		if _, ok := blockIndex(e.Name()); !ok && !isMeta(e.Name()) {
			continue
		}
		if files[e.Name()], err = e.Info(); err != nil {
			return files, err
		}
	}
	return files, nil
}

func isMeta(name string) bool { return slices.Contains(metaFiles, name) }

// gone handles a stream without files: it is in memory, or was deleted.
func (f *streamFiles) gone() error {
	if _, err := os.Stat(f.dir); !errors.Is(err, fs.ErrNotExist) {
		return cmp.Or(err, errMoved)
	}
	f.close()
	f.linked = nil
	if _, err := os.Stat(f.links); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := f.syncPath(filepath.Dir(f.dir)); err != nil {
		return err
	}
	old := f.links + ".gone" // not a stream's name; no part of the links may be restored
	if err := errors.Join(os.RemoveAll(old), os.Rename(f.links, old)); err != nil {
		return err
	}
	if err := f.syncPath(filepath.Dir(f.links)); err != nil {
		return err
	}
	return os.RemoveAll(old)
}

// scan returns the files that must survive a power cut, and the marks of their
// directories before that.
func (f *streamFiles) scan() (marks [2]dirMark, now map[string]fs.FileInfo, err error) {
	msgs := filepath.Join(f.dir, messagesDir)
	f.closeDirs()
	for i, path := range []string{f.dir, msgs} {
		if f.dirs[i], err = os.Open(path); err != nil {
			return marks, nil, err
		}
		if marks[i], err = markOf(f.dirs[i]); err != nil {
			return marks, nil, err
		}
	}
	entries, err := os.ReadDir(msgs)
	if err != nil {
		return marks, nil, err
	}
	names := slices.Clone(metaFiles)
	for _, e := range entries {
		if _, ok := blockIndex(e.Name()); ok {
			names = append(names, e.Name())
		}
	}
	for name := range f.linked { // the directory may have been read during a rename
		if !isMeta(name) {
			names = append(names, name)
		}
	}
	now = map[string]fs.FileInfo{}
	for _, name := range names {
		info, err := os.Lstat(f.path(name))
		if errors.Is(err, fs.ErrNotExist) && !isMeta(name) {
			continue
		}
		if err != nil {
			return marks, nil, err
		}
		now[name] = info
	}
	after, err := os.Stat(msgs)
	if err != nil {
		return marks, nil, err
	}
	if !os.SameFile(after, marks[1].info) { // a purge replaces the directory
		return marks, nil, errMoved
	}
	return marks, now, nil
}

// blockIndex returns the index of a block file.
func blockIndex(name string) (index uint64, ok bool) {
	number, ok := strings.CutSuffix(name, blockSuffix)
	if !ok {
		return 0, false
	}
	index, err := strconv.ParseUint(number, 10, 32)
	return index, err == nil
}

// path returns the path of a file of the stream.
func (f *streamFiles) path(name string) string {
	if isMeta(name) {
		return filepath.Join(f.dir, name)
	}
	return filepath.Join(f.dir, messagesDir, name)
}

// syncFile flushes a file and returns what was flushed.
func (f *streamFiles) syncFile(path string) (_ fs.FileInfo, err error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errMoved
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if err := f.sync(file); err != nil {
		return nil, err
	}
	return file.Stat()
}

func (f *streamFiles) syncPath(path string) error {
	_, err := f.syncFile(path)
	return err
}

// syncDirs flushes the stream's directories, and those above it before the first
// flush.
func (f *streamFiles) syncDirs(first bool) error {
	dirs := []string{filepath.Join(f.dir, messagesDir), f.dir}
	if first { // streams, account, jetstream, Config.Dir
		for dir, n := filepath.Dir(f.dir), 0; n < 4; dir, n = filepath.Dir(dir), n+1 {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range dirs {
		if err := f.syncPath(dir); err != nil {
			return err
		}
	}
	return nil
}

// openLast opens the last block, whose fsync is all that most flushes do. The block
// was flushed before under its name only; JetStream may have appended to it since,
// and the next flush covers that.
func (f *streamFiles) openLast(now map[string]fs.FileInfo) error {
	name := lastBlock(now)
	if f.last != nil && name != "" {
		if have, err := f.last.Stat(); err == nil && os.SameFile(have, now[name]) {
			return nil
		}
	}
	f.closeLast()
	if name == "" {
		return nil
	}
	file, err := os.Open(f.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return errMoved
	}
	if err != nil {
		return err
	}
	f.last, f.size = file, 0
	if have, err := file.Stat(); err != nil || !os.SameFile(have, now[name]) {
		return cmp.Or(err, errMoved)
	}
	return nil
}

// lastBlock returns the name of the block with the highest index, or "".
func lastBlock(files map[string]fs.FileInfo) string {
	blocks := slices.DeleteFunc(slices.Collect(maps.Keys(files)), func(name string) bool { return isMeta(name) })
	if len(blocks) == 0 {
		return ""
	}
	return slices.MaxFunc(blocks, compareFiles)
}

func (f *streamFiles) close() {
	f.closeLast()
	f.closeDirs()
}

func (f *streamFiles) closeLast() {
	if f.last != nil {
		_ = f.last.Close() // it was only read
		f.last = nil
	}
}

// closeDirs also forgets their marks.
func (f *streamFiles) closeDirs() {
	for _, dir := range f.dirs {
		if dir != nil {
			_ = dir.Close() // it was only read
		}
	}
	f.dirs, f.marks = [2]*os.File{}, [2]dirMark{}
}

// A fileDiff is how the files of a stream changed, in the order of their blocks.
type fileDiff struct {
	added, replaced, removed []string
}

func diffFiles(before, now map[string]fs.FileInfo) (d fileDiff) {
	for name, info := range now {
		old, there := before[name]
		switch {
		case !there:
			d.added = append(d.added, name)
		case !os.SameFile(old, info):
			d.replaced = append(d.replaced, name)
		}
	}
	for name := range before {
		if _, there := now[name]; !there {
			d.removed = append(d.removed, name)
		}
	}
	for _, names := range [][]string{d.added, d.replaced, d.removed} {
		slices.SortFunc(names, compareFiles)
	}
	return d
}

// compareFiles orders blocks by index, and other files after them.
func compareFiles(a, b string) int {
	i, isBlock := blockIndex(a)
	j, alsoBlock := blockIndex(b)
	if isBlock != alsoBlock {
		if isBlock {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(i, j), strings.Compare(a, b))
}

// link makes the links those of now, in an order of which each part can be restored:
// new files first, because they may continue what a removed file contained; then
// removals; then replacements in the order of the blocks, because a later block may
// delete messages of an earlier one.
func (f *streamFiles) link(d fileDiff, now map[string]fs.FileInfo, first bool) error {
	if err := f.makeLinks(first); err != nil {
		return err
	}
	blocks, meta := d.added, []string(nil)
	if i := slices.IndexFunc(d.added, isMeta); i >= 0 {
		blocks, meta = d.added[:i], d.added[i:]
	}
	makeLink := func(name string) error { return f.linkFile(name, now[name]) }
	for _, names := range [][]string{blocks, meta} { // a stream with its settings is complete
		if err := f.each(names, makeLink); err != nil {
			return err
		}
	}
	if err := f.each(d.removed, f.unlinkFile); err != nil {
		return err
	}
	for _, name := range d.replaced {
		if err := f.each([]string{name}, makeLink); err != nil {
			return err
		}
	}
	return nil
}

// each calls do for each name, and then flushes the links.
func (f *streamFiles) each(names []string, do func(name string) error) error {
	for _, name := range names {
		if err := do(name); err != nil {
			return err
		}
	}
	if len(names) == 0 {
		return nil
	}
	return f.syncPath(f.links)
}

func (f *streamFiles) makeLinks(first bool) error {
	if !first {
		return nil
	}
	if err := os.MkdirAll(f.links, 0o700); err != nil {
		return err
	}
	return f.syncPath(filepath.Dir(f.links))
}

// linkFile makes the link of a file that was flushed.
func (f *streamFiles) linkFile(name string, flushed fs.FileInfo) error {
	path := filepath.Join(f.links, name)
	tmp := path + ".tmp"
	if err := os.Remove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Link(f.path(name), tmp); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return errMoved
		}
		return fmt.Errorf("%w; group commit requires a file system with hard links: set nats.sync to 0s", err)
	}
	have, err := os.Lstat(tmp)
	if err != nil {
		return err
	}
	if !os.SameFile(have, flushed) {
		return errMoved
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	f.linked[name] = flushed
	return nil
}

func (f *streamFiles) unlinkFile(name string) error {
	if err := os.Remove(filepath.Join(f.links, name)); err != nil {
		return err
	}
	delete(f.linked, name)
	return nil
}
