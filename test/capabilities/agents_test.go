package capabilities

import "testing"

// valuesOnly has the capabilities that are of values in a program, and that no
// scenario can show: the row of docs/DIALECTS.md names the tests.
var valuesOnly = map[string]string{
	"RATH-14": inLoop,
	"RATH-15": inLoop,
	"RATH-16": inLoop,
	"RATH-17": inLoop,
	"RATH-18": inLoop,
	"RATH-19": inLoop,
	"RATH-20": inLoop,
	"RATH-21": inLoop,
	"RATH-22": inLoop,
	"RATH-23": inLoop,
	"RATH-24": inLoop,
	"RATH-25": inLoop,
	"RATH-26": inLoop,
	"RATH-27": inLoop,
	"RATH-28": inLoop,
	"RATH-29": inLoop,
	"RATH-30": inLoop,
	"RATH-32": inLoop,
	"RATH-33": inLoop,
	"RATH-49": inLoop,
	"RATH-56": "lines of JSON have no value that is not JSON; NaN and Infinity are of Python",
	"RATH-57": "the registry of sandboxes is OpenRath's own, on its host",
}

const inLoop = "package session/loop is for programs; its tests run it against models"

func TestEveryCapabilityOfAnAgentIsPlayed(t *testing.T) {
	t.Parallel()
	played := playedIDs(t)
	for _, id := range allIDs() {
		if _, ok := valuesOnly[id]; played[id] == ok {
			t.Errorf("%s must be in a scenario or in valuesOnly, and not in both", id)
		}
	}
}
