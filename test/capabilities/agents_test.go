package capabilities

import (
	"strings"
	"testing"
)

func TestEveryCapabilityOfAnAgentIsPlayed(t *testing.T) {
	t.Parallel()
	played := playedIDs(t)
	for _, id := range allIDs() {
		if !strings.HasPrefix(id, "RATH-") && !played[id] {
			t.Errorf("no scenario plays %s", id)
		}
	}
}
