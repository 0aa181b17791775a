package capabilities

import (
	"fmt"
	"maps"
	"slices"
	"testing"
)

// fleet are the numbers of what a fleet needs, and of what goes beyond all agents.
var fleet = map[string]int{"FLEET": 34, "EDGE": 17}

// elsewhere has the capabilities of the fleet that no scenario plays, each with the
// test or the step of .ci/run that shows it.
var elsewhere = map[string]string{
	"FLEET-11": "nodes of a cluster are killed: `TestKillKeepsAcknowledgedAppends`, `TestThreeNodesUnderFire`",
	"FLEET-31": "manifests are rendered, and run on a control plane: `TestRenderedFilesAreCurrent`, `TestPodsAreRestricted`",
	"FLEET-32": "the page is shown by a browser: `TestAppendsAppear`, `TestLongSessionIsLoadedInParts`, `TestNothingIsShownWithoutAToken`",
	"EDGE-02":  "group commit is inside of a node: `TestFlushQueue`; .ci/run bench",
	"EDGE-03":  "what is loaded is counted: `TestContextOfLongSessionIsBuiltWithoutLoadingIt`, `TestWindowsGiveTheContextsOfWholeSessions`",
	"EDGE-04":  "secrets are masked before they are stored: `TestSecretsOfLinesAreMasked`. Sessions have no keys of their own: erasing one deletes every copy instead, `TestEraseRemovesAllParts`",
	"EDGE-05":  "the protocol is simulated: `TestPromisesHoldInEveryWorld`",
	"EDGE-11":  "a database is followed: `TestDatabaseIsFollowedWhileItIsWritten`, `TestOpencodeResumesRequestIdentical`",
	"EDGE-12":  "without a node: `TestRescueRepairsByAppending`, `TestRescueWritesCopiesBelowDir`",
	"EDGE-14":  "test/suite, .ci/run suites: `TestNodeKeepsItsPromises`, `TestScenariosFindBrokenServers`",
	"EDGE-16":  "webhooks and commands: `TestNoticesReachHooks`, `TestNoticeOfAllNodesIsSentOnceToEachURL`",
	"EDGE-17":  "disks are damaged at random: `TestFlippedBitInRecordIsReportedAndAffectsOneSession`, `TestFlippedBitInBlobOrSnapshotIsReportedAndNotServed`",
}

// A scenario plays each capability of the fleet, unless elsewhere says why not.
func TestEveryFleetCapabilityIsPlayed(t *testing.T) {
	t.Parallel()
	played := playedIDs(t)
	var owed []string
	for part, n := range fleet {
		for i := 1; i <= n; i++ {
			owed = append(owed, fmt.Sprintf("%s-%02d", part, i))
		}
	}
	tests, _ := readTests(t)
	for _, id := range owed {
		why, ok := elsewhere[id]
		switch {
		case played[id] == ok:
			t.Errorf("%s must be in a scenario or in elsewhere, and not in both", id)
		case ok:
			checkTests(t, id, why, tests)
		}
	}
	for id := range maps.Keys(elsewhere) {
		if !slices.Contains(owed, id) {
			t.Errorf("%s is not a capability", id)
		}
	}
}
