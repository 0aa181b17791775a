package stream

import (
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/sesslog/sesslog/core"
)

// maxShards is the maximum number of streams of a log.
const maxShards = 64

// checkLogName returns core.ErrInvalid unless name can be part of a subject
// and of a stream's name: 1 to 32 characters of A-Z, a-z, 0-9, "_" and "-".
func checkLogName(name string) error {
	ok := len(name) >= 1 && len(name) <= 32
	for _, c := range []byte(name) {
		ok = ok && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-')
	}
	if !ok {
		return fmt.Errorf("log name %q: use 1 to 32 characters of A-Z a-z 0-9 _ -: %w", name, core.ErrInvalid)
	}
	return nil
}

// shardOf returns the shard of a session: NATS's partition function of the id.
func shardOf(id core.SessionID, shards int) int {
	h := fnv.New32a()
	h.Write([]byte(id))
	return int(h.Sum32() % uint32(shards))
}

func streamName(log string, shard int) string { return fmt.Sprintf("SESS_%s_%02d", log, shard) }

func shardSubject(log string, shard int) string { return fmt.Sprintf("sess.%s.%02d.", log, shard) }

// livePrefix is the prefix of the subjects on which the server republishes records
// to followers.
const livePrefix = "live."

// sessionOf returns the session of a record's subject.
func sessionOf(subject string) (core.SessionID, error) {
	return core.ParseSessionID(subject[strings.LastIndexByte(subject, '.')+1:])
}
