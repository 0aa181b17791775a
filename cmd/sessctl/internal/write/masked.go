package write

import (
	"bytes"
	"fmt"
	"io"

	"github.com/sesslog/sesslog/agent/secrets"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
)

// masked reads a whole file, and masks its secrets if p says so.
func (a app) masked(name string, r io.Reader, p secrets.Policy) (io.Reader, int64, error) {
	data, err := io.ReadAll(io.LimitReader(r, a.MaxFile+1))
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", cli.FileTitle(name), err)
	}
	if int64(len(data)) > a.MaxFile {
		return nil, 0, fmt.Errorf("%s: secrets are looked for in files of up to %s: %w", cli.FileTitle(name), cli.Bytes(a.MaxFile), core.ErrTooLarge)
	}
	data = p.Mask(data)
	return bytes.NewReader(data), int64(len(data)), nil
}
