package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/sesslog/sesslog/agent/follow"
	"github.com/sesslog/sesslog/agent/secrets"
	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/internal/hint"
)

// A Node is the part of the API client that this package uses. *api.Client
// implements it.
type Node interface {
	follow.Node
	Info(ctx context.Context, id string) (api.Info, error)
	File(ctx context.Context, id, head string) (io.ReadCloser, client.Place, error)
	ExportPacked(ctx context.Context, id string) (io.ReadCloser, error)
	Entries(ctx context.Context, id string, path bool, v client.View) (io.ReadCloser, error)
	Blob(ctx context.Context, d core.Digest) (io.ReadCloser, error)
	PutLargeBlob(ctx context.Context, b []byte) error
}

// A Host describes the host and its user.
type Host struct {
	Env  func(name string) string // the environment, such as os.Getenv
	Name string                   // the host's name; empty if unknown
	By   string                   // the user's name
	Now  func() time.Time
	// Claims remembers the claims of this host. Runs are remembered in the directory
	// beside it.
	Claims ClaimStore
	// PathRows returns the user's table of directories that are the same on several
	// hosts, and the name of the file that has it.
	PathRows func() (rows [][]string, file string, err error)
	// Note receives sentences for the user that are not part of a result.
	Note func(text string)
	// Secrets says what becomes of secrets in lines that leave this host.
	Secrets secrets.Policy
	// MaxFile bounds the session files that are read into memory, in bytes.
	MaxFile int64
}

// ErrUsage is wrapped by errors about the caller's options.
var ErrUsage = errors.New("invalid usage")

func usagef(form string, args ...any) error {
	return fmt.Errorf(form+"%w", append(args, hint.Silent(ErrUsage))...)
}

func (h *Host) notef(form string, args ...any) {
	if h.Note != nil {
		h.Note(fmt.Sprintf(form, args...))
	}
}

// isLocal reports whether a claim was made on this host.
func (h *Host) isLocal(c *core.Claim) bool { return h.Name != "" && c.Host == h.Name }

// StateDir returns the directory for this program's state below $XDG_STATE_HOME.
// It is empty without a home directory.
func StateDir(env func(string) string) string {
	state := env("XDG_STATE_HOME")
	if !filepath.IsAbs(state) { // the XDG specification says to ignore it
		home := env("HOME")
		if home == "" {
			return ""
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "sesslog")
}

func isDir(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir() && filepath.IsAbs(dir)
}

// HeadFlag returns the flag that names head, with a leading space; empty for main.
func HeadFlag(head string) string {
	if head == "" || head == core.MainHead {
		return ""
	}
	return " --head " + head
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
