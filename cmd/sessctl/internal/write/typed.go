package write

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
	"github.com/sesslog/sesslog/core"
)

// checkTyped rejects a line without a type, which all agents but OpenRath ignore:
// the member is probably misspelled. The log itself accepts it, as agents' files may
// have such lines.
func checkTyped(ctx context.Context, node *client.Client, id core.SessionID, data []byte) error {
	number := 0
	for line := range bytes.Lines(data) {
		number++
		var object map[string]json.RawMessage
		var typ string
		if json.Unmarshal(line, &object) != nil || json.Unmarshal(object["type"], &typ) == nil && typ != "" {
			continue // the node rejects what is no object
		}
		info, err := node.Info(ctx, string(id))
		if err != nil || info.Log.Dialect == "openrath" {
			return nil //nolint:nilerr // the node decides
		}
		return cli.Hintf(fmt.Errorf("line %d has no type, which %s entries need; nothing was stored: %w", number, info.Log.Dialect, core.ErrInvalid),
			"see the form of entries: sessctl entries %s", id)
	}
	return nil
}
