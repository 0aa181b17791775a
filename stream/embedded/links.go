package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

// With group commit, Config.Dir has a directory with a hard link to each file of
// each stream as of its last flush:
//
//	flushed/clean             exists after a clean stop, until the next start
//	flushed/streams/S/N.blk   a block of stream S
//	flushed/streams/S/meta.inf
//
// Nothing is acknowledged before its file is flushed and linked. JetStream appends
// to the file that has a link, but it also replaces files by others that are not
// flushed, and removes them. So after an unclean stop, each stream gets exactly the
// files that have links. Those contain everything that was acknowledged, and perhaps
// more at the end of the last one. JetStream truncates what is incomplete there.
//
// JetStream's index of a stream is removed, because it may describe other files.
// JetStream makes it again from the blocks.
const (
	linksDir     = "flushed"
	cleanFile    = "clean"
	unflushedDir = "unflushed" // streams that were not flushed when the server died
)

// JetStream's names of what a purge works with, and of the index.
var transient = []string{"__msgs__", "__new_msgs__", filepath.Join(messagesDir, "index.db")}

func streamsDir(dir string) string {
	return filepath.Join(dir, server.JetStreamStoreDir, globalAccount, "streams")
}

func linksOf(dir, stream string) string { return filepath.Join(dir, linksDir, "streams", stream) }

// prepareFiles prepares the files in dir for a server, before it starts: after an
// unclean stop of a server with group commit, it restores what was flushed. The
// result is the number of files that it put back or removed.
func prepareFiles(dir string, group bool) (restored int, err error) {
	links := filepath.Join(dir, linksDir)
	for _, rest := range []string{links + ".new", links + ".old"} {
		if err := os.RemoveAll(rest); err != nil {
			return 0, err
		}
	}
	_, err = os.Stat(links)
	if errors.Is(err, fs.ErrNotExist) {
		if !group {
			return 0, nil
		}
		return 0, adopt(dir)
	}
	if err != nil {
		return 0, err
	}
	clean := filepath.Join(links, cleanFile)
	if _, err := os.Stat(clean); errors.Is(err, fs.ErrNotExist) {
		if restored, err = restoreAll(dir); err != nil {
			return restored, fmt.Errorf("restore the flushed files: %w", err)
		}
	} else if err != nil {
		return 0, err
	}
	if !group {
		return restored, forgetLinks(dir)
	}
	if err := os.Remove(clean); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return restored, err
	}
	return restored, syncDir(links)
}

// adopt flushes and links the streams that another server left in dir.
func adopt(dir string) error {
	links := filepath.Join(dir, linksDir)
	if err := os.MkdirAll(filepath.Join(links+".new", "streams"), 0o700); err != nil {
		return err
	}
	names, err := streamNames(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		f := streamFiles{
			dir: filepath.Join(streamsDir(dir), name), links: filepath.Join(links+".new", "streams", name), sync: (*os.File).Sync,
		}
		err := f.flushAll()
		f.close()
		if err != nil {
			return fmt.Errorf("flush stream %s: %w", name, err)
		}
	}
	if err := syncDir(filepath.Join(links + ".new")); err != nil {
		return err
	}
	if err := os.Rename(links+".new", links); err != nil {
		return err
	}
	return syncDir(dir)
}

// forgetLinks removes the links, at once.
func forgetLinks(dir string) error {
	links := filepath.Join(dir, linksDir)
	if err := os.Rename(links, links+".old"); err != nil {
		return err
	}
	if err := syncDir(dir); err != nil {
		return err
	}
	return os.RemoveAll(links + ".old")
}

// streamNames returns the names of the streams in dir that have settings.
func streamNames(dir string) (names []string, err error) {
	entries, err := os.ReadDir(streamsDir(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if strings.Contains(e.Name(), ".") { // one that is being deleted
			continue
		}
		if _, err := os.Stat(filepath.Join(streamsDir(dir), e.Name(), metaFiles[0])); err == nil {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// restoreAll gives each stream its flushed files. It may be interrupted and called
// again.
func restoreAll(dir string) (restored int, err error) {
	flushed := map[string]bool{}
	entries, err := os.ReadDir(filepath.Join(dir, linksDir, "streams"))
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		links := linksOf(dir, e.Name())
		files, err := filesIn(links)
		if err != nil {
			return restored, err
		}
		if files[metaFiles[0]] == nil || files[metaFiles[1]] == nil || strings.Contains(e.Name(), ".") {
			continue // its first flush did not end, or it was deleted
		}
		flushed[e.Name()] = true
		n, err := restore(filepath.Join(streamsDir(dir), e.Name()), links, files)
		restored += n
		if err != nil {
			return restored, fmt.Errorf("stream %s: %w", e.Name(), err)
		}
	}
	n, err := moveUnflushed(dir, flushed)
	return restored + n, err
}

// restore gives the stream in dir the files that links has, and no other blocks.
func restore(dir, links string, files map[string]fs.FileInfo) (restored int, err error) {
	msgs := filepath.Join(dir, messagesDir)
	if err := os.MkdirAll(msgs, 0o700); err != nil {
		return 0, err
	}
	for _, name := range transient {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return restored, err
		}
	}
	entries, err := os.ReadDir(msgs)
	if err != nil {
		return restored, err
	}
	for _, e := range entries {
		if _, ok := blockIndex(e.Name()); !ok || files[e.Name()] != nil {
			continue
		}
		if err := os.Remove(filepath.Join(msgs, e.Name())); err != nil {
			return restored, err
		}
		restored++
	}
	f := streamFiles{dir: dir}
	for name, info := range files {
		path := f.path(name)
		if have, err := os.Lstat(path); err == nil && os.SameFile(have, info) {
			continue
		}
		tmp := path + ".tmp"
		if err := os.RemoveAll(tmp); err != nil {
			return restored, err
		}
		if err := errors.Join(os.Link(filepath.Join(links, name), tmp), os.Rename(tmp, path)); err != nil {
			return restored, err
		}
		restored++
	}
	return restored, errors.Join(syncDir(msgs), syncDir(dir))
}

// moveUnflushed moves the streams away of which nothing was flushed, and so nothing
// was acknowledged: their settings may be incomplete, and the server would not start.
func moveUnflushed(dir string, flushed map[string]bool) (moved int, err error) {
	entries, err := os.ReadDir(streamsDir(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		if flushed[e.Name()] || strings.Contains(e.Name(), ".") {
			continue
		}
		to := filepath.Join(dir, unflushedDir, e.Name())
		err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), os.RemoveAll(to), os.Rename(filepath.Join(streamsDir(dir), e.Name()), to))
		if err != nil {
			return moved, err
		}
		moved++
	}
	return moved, syncDir(streamsDir(dir))
}

// markClean records that the streams in dir, and their indexes, are flushed. No
// server runs.
func markClean(dir string) error {
	names, err := streamNames(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		msgs := filepath.Join(streamsDir(dir), name, messagesDir)
		entries, err := os.ReadDir(msgs)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if _, ok := blockIndex(e.Name()); ok || !e.Type().IsRegular() {
				continue
			}
			if err := syncDir(filepath.Join(msgs, e.Name())); err != nil {
				return err
			}
		}
		if err := syncDir(msgs); err != nil {
			return err
		}
	}
	links := filepath.Join(dir, linksDir)
	if err := writeSynced(filepath.Join(links, cleanFile), nil); err != nil {
		return err
	}
	return syncDir(links)
}
