package capabilities

import (
	"slices"
	"strings"
	"testing"
)

// notPlayed are the capabilities of pi, omp, Operator and Nova that no scenario
// plays yet.
var notPlayed = []string{"OMP-40"}

func TestEveryCapabilityOfAnAgentIsPlayed(t *testing.T) {
	t.Parallel()
	played := playedIDs(t)
	for _, id := range allIDs() {
		if !strings.HasPrefix(id, "RATH-") && !played[id] && !slices.Contains(notPlayed, id) {
			t.Errorf("no scenario plays %s", id)
		}
	}
}
