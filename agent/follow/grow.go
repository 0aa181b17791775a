package follow

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect"
	"github.com/sesslog/sesslog/core/tree"
)

// grow appends what was added to a file. ok is false if the file must be compared
// instead: something else changed in it, an append would not store a line as it
// is, or another writer continued the session.
func (fl *Follower) grow(ctx context.Context, f *file, h *os.File, s stat, final, verify bool) (again time.Duration, ok bool, err error) {
	p := &f.place
	d, err := dialect.Named(p.Dialect)
	if err != nil || s.size < p.Offset {
		return 0, false, nil
	}
	replaced := p.Dev != s.dev || p.Ino != s.ino
	all := verify || replaced || s.size == p.Offset || f.digest == nil
	if same, err := f.hasPrefix(h, all); err != nil || !same {
		return 0, false, fl.readError(f, s, err)
	}
	f.noteVerified(all)
	complete := final || s.unchangedFor() > lastLineDelay
	for {
		data, err := readBatch(h, p.Offset, s.size)
		if err != nil {
			return 0, false, fl.readError(f, s, err)
		}
		edge, stable, err := p.isStable(h, data)
		if err != nil || !stable {
			return 0, false, fl.readError(f, s, err)
		}
		more := p.Offset+int64(len(data)) < s.size
		data, rest := completeLines(data, complete && !more && d.Name() != dropsLastLine)
		if len(data) == 0 {
			fl.save(f, s)
			if isObject(rest) && d.Name() != dropsLastLine && !complete {
				return lastLineDelay, true, nil
			}
			return 0, true, nil
		}
		if p.Open && data[0] != '\n' && !bytes.HasPrefix(data, []byte("\r\n")) {
			return 0, false, nil // the last line got longer
		}
		if ok, err := fl.send(ctx, f, d, fl.mask(f, data)); !ok || err != nil {
			return 0, false, err
		}
		p.advance(f.digest, edge, data)
		fl.save(f, s)
	}
}

// send appends the lines in data to the file's head. ok is as in grow.
func (fl *Follower) send(ctx context.Context, f *file, d core.Dialect, data []byte) (ok bool, err error) {
	b, ok := parseBatch(d, data)
	if !ok {
		return false, nil
	}
	hs := make([]uint64, 0, len(b.entries)+len(b.bad))
	for i := range b.entries {
		hs = append(hs, hash(b.entries[i].Line))
	}
	if len(b.entries) > 0 {
		// Before the append: its answer may be lost, or the process end, and the file
		// change again before the append is known to be stored.
		if err := fl.noteLines(f, hs, announced); err != nil {
			return false, err
		}
		if ok, err := fl.append(ctx, f, d, b); !ok || err != nil {
			return ok, err
		}
	}
	if err := fl.reportBad(ctx, f, b.bad); err != nil {
		return false, err
	}
	for _, line := range b.bad {
		hs = append(hs, hash(line))
	}
	fl.reportSecrets(f, b.entries)
	return true, fl.noteLines(f, hs, 0)
}

// noteLines saves hashes of lines, each XORed with mask.
func (fl *Follower) noteLines(f *file, hs []uint64, mask uint64) error {
	noted := make([]uint64, len(hs))
	for i, h := range hs {
		noted[i] = h ^ mask
	}
	return fl.stateError(f, stat{}, fl.state.addLines(f.path, noted))
}

func (fl *Follower) stateError(f *file, s stat, err error) error {
	if err == nil {
		return nil
	}
	return fl.reject(f, s, BadFile, fmt.Errorf("its state cannot be saved: %w", err))
}

func (fl *Follower) append(ctx context.Context, f *file, d core.Dialect, b batch) (ok bool, err error) {
	p := &f.place
	if err := fl.sendImages(ctx, f, d, b.body); err != nil {
		return false, err
	}
	var done core.Receipt
	err = fl.request(f, func() (err error) {
		done, err = fl.cfg.Node.Append(ctx, string(p.Session), b.body, client.AppendOptions{
			Head: p.Head, Writer: fl.writer(p.Session, p.Head), After: p.Cursor.String(),
		})
		return err
	})
	if err != nil {
		if !isTransient(err) {
			fl.requireCompare(f)
		}
		if isTransient(err) || isStopped(err) {
			return false, err
		}
		return false, nil
	}
	direct := done.Stored == len(b.entries) && done.Cursor.Seq == p.Cursor.Seq+1
	p.Cursor = done.Cursor
	if core.AnyInTree(b.entries) {
		p.Leaf = d.Leaf(b.entries)
	}
	f.turnEnded = tree.TurnEnded(d, b.entries)
	if l, ok := d.(core.Linker); direct && ok && l != nil {
		return true, fl.learnLeaf(ctx, f)
	}
	if direct {
		return true, nil
	}
	// Some lines were in the log already: an earlier attempt stored them, perhaps with
	// more lines than the file has now, or another process follows the file. Or other
	// records were stored in between, and may have moved the head.
	err = fl.reconcileHead(ctx, f, p.Leaf, false)
	return p.Cursor != core.Cursor{}, err
}

// learnLeaf learns where the head of f is after an append whose lines do not tell.
func (fl *Follower) learnLeaf(ctx context.Context, f *file) error {
	p := &f.place
	hs, err := fl.cfg.Node.Heads(ctx, string(p.Session))
	if err != nil {
		return err
	}
	for _, h := range hs.Heads {
		if h.Head == p.Head {
			p.Leaf = h.Leaf
		}
	}
	return nil
}
