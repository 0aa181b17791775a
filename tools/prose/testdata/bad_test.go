package bad

import "testing"

func TestACopyHoldsNobodyUp(t *testing.T) {
	t.Log("nobody reads this")
}
