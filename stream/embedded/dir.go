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
	lockFile     = "lock"      // held while a Server runs; holds its process id
	identityFile = "node.json" // whose directory this is, see identity
	identityV    = 1
)

// lockDir makes dir if need be and takes it for this process, or returns
// ErrInUse. The kernel lets go of the lock when the process dies.
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
		return nil, fmt.Errorf("%w%s: stop that node, or give this one a directory of its own", ErrInUse, holder)
	}
	// Who holds the lock is a courtesy to whoever reads the error above.
	_ = os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600)
	return lock, nil
}

// An identity says whose streams a directory holds. JetStream itself does not
// ask: a cluster member deletes the streams it finds on disk and not in its
// cluster, and a member under a new name counts as one more.
type identity struct {
	Version int    `json:"version"`
	Cluster string `json:"cluster"` // empty for a single server
	Name    string `json:"name"`    // empty for a single server
}

func (c Config) identity() identity {
	if c.Cluster == nil {
		return identity{Version: identityV}
	}
	return identity{Version: identityV, Cluster: c.Cluster.Name, Name: c.Name}
}

// claimIdentity makes sure that what dir holds is want's, and marks it so. A
// directory that holds nothing yet is anybody's. The caller holds the lock.
func claimIdentity(dir string, want identity) error {
	path := filepath.Join(dir, identityFile)
	found, err := lookInto(dir)
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
	return compareIdentity(have, want)
}

func compareIdentity(have, want identity) error {
	const remedy = "start it as it was, or give this node an empty directory and restore a backup into it"
	switch {
	case have.Cluster == "" && want.Cluster != "":
		return fmt.Errorf("holds the streams of a single server, which joining cluster %q would delete: %s", want.Cluster, remedy)
	case have.Cluster != "" && want.Cluster == "":
		return fmt.Errorf("holds a member (%q) of cluster %q, which cannot run as a single server: %s", have.Name, have.Cluster, remedy)
	case have.Cluster != want.Cluster:
		return fmt.Errorf("belongs to cluster %q, and cluster %q would delete its streams: %s", have.Cluster, want.Cluster, remedy)
	case have.Name != want.Name:
		return fmt.Errorf("belongs to member %q, and its cluster would count %q as one more: %s", have.Name, want.Name, remedy)
	}
	return nil
}

// lookInto tells from JetStream's own files whether dir holds a cluster member,
// whose names it cannot know, or the streams of a single server, or nothing: nil.
func lookInto(dir string) (*identity, error) {
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
	if id.Version != identityV {
		return identity{}, fmt.Errorf("%s: has version %d, and this program reads %d: use a newer program", path, id.Version, identityV)
	}
	return id, nil
}

// writeIdentity is atomic and durable: a crash leaves the whole file or none.
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
