package codex

import (
	"cmp"
	"strings"

	"github.com/sesslog/sesslog/core/dialect/internal/filename"
)

// A rolloutName is the name of a file of a thread:
// rollout-2026-01-02T03-04-05-<thread>.jsonl, or with the id of the rollout
// after the thread's once the thread was reverted:
// rollout-2026-01-02T03-04-05-<thread>_<rollout>.jsonl.
type rolloutName struct {
	when    string // local time
	thread  string
	rollout string // empty for the first file of a thread
}

const (
	rolloutPrefix = "rollout-"
	rolloutSuffix = ".jsonl"
	packedSuffix  = ".jsonl.zst"
	timeForm      = "0000-00-00T00-00-00"
)

// parseRolloutName reads the last element of a path. It reports false if Codex
// would not find a session under that name.
func parseRolloutName(path string) (rolloutName, bool) {
	name := path[strings.LastIndexByte(path, '/')+1:]
	name = strings.TrimSuffix(name, ".zst")
	name, isFile := strings.CutSuffix(name, rolloutSuffix)
	name, isRollout := strings.CutPrefix(name, rolloutPrefix)
	if !isFile || !isRollout || len(name) <= len(timeForm)+1 || !filename.HasForm(name, timeForm) || name[len(timeForm)] != '-' {
		return rolloutName{}, false
	}
	n := rolloutName{when: name[:len(timeForm)]}
	n.thread, n.rollout, _ = strings.Cut(name[len(timeForm)+1:], "_")
	return n, true
}

// compare orders the files of one thread from the oldest to the newest, by the
// time in their names. Of two files of one second, the one with a rollout is
// newer.
func (n rolloutName) compare(other rolloutName) int {
	return cmp.Or(cmp.Compare(n.when, other.when), cmp.Compare(n.rollout, other.rollout))
}
