package access_test

import (
	"testing"

	"github.com/sesslog/sesslog/api/access"
)

func TestScopesIncludeLowerScopes(t *testing.T) {
	t.Parallel()
	order := []access.Scope{access.Share, access.Read, access.Write, access.Admin}
	for i, s := range order {
		for j, other := range order {
			if s.Includes(other) != (i >= j) {
				t.Errorf("%s includes %s: %v", s, other, s.Includes(other))
			}
		}
		if s.Includes("") || access.Scope("").Includes(s) || access.Scope("root").Includes(s) {
			t.Errorf("an unknown scope is comparable with %s", s)
		}
	}
}
