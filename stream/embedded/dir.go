package embedded

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
)

const (
	lockFile     = "lock"      // locked while a Server runs; contains its process id
	identityFile = "node.json" // see identity
	identityV    = 1
	// groupV is the version with group commit: a program that does not know it would
	// leave the links of links.go as they are, and a later start would restore them.
	groupV = 2
)

// lockDir creates dir if needed and locks it, or returns ErrInUse. The kernel
// releases the lock when the process dies.
func lockDir(dir string) (*flock.Flock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, lockFile)
	lock := flock.New(path, flock.SetPermissions(0o600))
	ok, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w; a file system without locks cannot hold streams", path, err)
	}
	if !ok {
		holder := ""
		if text, err := os.ReadFile(path); err == nil && len(text) > 0 {
			holder = " (process " + strings.TrimSpace(string(text)) + ")"
		}
		return nil, fmt.Errorf("%w%s: stop that node, or use another directory for this one", ErrInUse, holder)
	}
	// The process id is only for the error above.
	_ = os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600)
	return lock, nil
}

// An identity names the server whose streams a directory contains. JetStream does
// not check this: a cluster member deletes the streams on its disk that its cluster
// does not have, and a member with a new name counts as an additional one.
type identity struct {
	Version int    `json:"version"`
	Cluster string `json:"cluster"` // empty for a single server
	Name    string `json:"name"`    // empty for a single server
}

func (c Config) identity() identity {
	if c.Cluster == nil {
		if c.GroupCommit {
			return identity{Version: groupV}
		}
		return identity{Version: identityV}
	}
	return identity{Version: identityV, Cluster: c.Cluster.Name, Name: c.Name}
}

// claimIdentity checks that the streams in dir belong to want, and records that. An
// empty directory may be claimed by any server. The caller holds the lock.
func claimIdentity(dir string, want identity) error {
	path := filepath.Join(dir, identityFile)
	found, err := detectIdentity(dir)
	if err != nil {
		return err
	}
	if found == nil {
		return writeIdentity(path, want)
	}
	have, err := readIdentity(path)
	if errors.Is(err, fs.ErrNotExist) { // another NATS server filled it
		if (found.Cluster == "") != (want.Cluster == "") {
			return compareIdentity(*found, want)
		}
		return writeIdentity(path, want)
	}
	if err != nil {
		return err
	}
	if err := compareIdentity(have, want); err != nil || have.Version >= want.Version {
		return err
	}
	return writeIdentity(path, want)
}

// releaseIdentity lowers the recorded version to that of want, when dir has nothing
// left of the higher one.
func releaseIdentity(dir string, want identity) error {
	path := filepath.Join(dir, identityFile)
	have, err := readIdentity(path)
	if err != nil || have.Version == want.Version {
		return err
	}
	return writeIdentity(path, want)
}

func compareIdentity(have, want identity) error {
	const remedy = "restore the previous settings, or use an empty directory and restore a backup"
	switch {
	case have.Cluster == "" && want.Cluster != "":
		return fmt.Errorf("contains the streams of a single server, which joining cluster %q would delete: %s", want.Cluster, remedy)
	case have.Cluster != "" && want.Cluster == "":
		return fmt.Errorf("contains a member (%q) of cluster %q, which cannot run as a single server: %s", have.Name, have.Cluster, remedy)
	case have.Cluster != want.Cluster:
		return fmt.Errorf("belongs to cluster %q, and cluster %q would delete its streams: %s", have.Cluster, want.Cluster, remedy)
	case have.Name != want.Name:
		return fmt.Errorf("belongs to member %q, and its cluster would count %q as an additional member: %s", have.Name, want.Name, remedy)
	}
	return nil
}

// detectIdentity detects from JetStream's files whether dir contains a cluster
// member, whose names are unknown, or the streams of a single server. It returns nil
// if dir contains neither.
func detectIdentity(dir string) (*identity, error) {
	store := filepath.Join(dir, server.JetStreamStoreDir)
	accounts, err := os.ReadDir(store)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found *identity
	for _, account := range accounts {
		dir := filepath.Join(store, account.Name())
		if _, err := os.Stat(filepath.Join(dir, "_js_", metaGroup)); err == nil {
			return &identity{Version: identityV, Cluster: "?", Name: "?"}, nil
		}
		if streams, err := os.ReadDir(filepath.Join(dir, "streams")); err == nil && len(streams) > 0 {
			found = &identity{Version: identityV}
		}
	}
	return found, nil
}

func readIdentity(path string) (identity, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return identity{}, err
	}
	var id identity
	if err := json.Unmarshal(text, &id); err != nil {
		return identity{}, fmt.Errorf("%s: %w", path, err)
	}
	if id.Version < identityV || id.Version > groupV {
		return identity{}, fmt.Errorf("%s: has version %d, and this program reads up to %d: use a newer program", path, id.Version, groupV)
	}
	return id, nil
}

// writeIdentity writes the file atomically and durably.
func writeIdentity(path string, id identity) error {
	text, err := json.Marshal(id)
	if err != nil {
		return err
	}
	tmp := path + ".tmp"
	if err := writeSynced(tmp, append(text, '\n')); err != nil {
		return err
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func writeSynced(path string, text []byte) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Write(text); err != nil {
		return err
	}
	return f.Sync()
}
