package main

import (
	"testing"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/cmd/sessctl/internal/cli"
)

func TestAmbiguousPrefixNamesFiveSessions(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Has([]string{"many-001", "many-002", "many-003", "many-004", "many-005", "many-006", "many-007"})
	wantResult(t, f.run("info", "many"), cli.ExitUsage, "",
		"sessctl: info: \"many\" matches several sessions: many-001, many-002, many-003, many-004, many-005 and more\nhint: use more of the id\n")
}

func TestTrashedSessionIsNamed(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.Has(nil, "gone-0001")
	f.Refuses("GET /v1/sessions/{id}", api.Detail{Status: 404, Code: "not-found"})
	wantResult(t, f.run("info", "gone-000"), cli.ExitDeleted, "", "sessctl: info: session gone-0001 is in the trash\n")
	wantResult(t, f.run("info", "gone"), cli.ExitDeleted, "", "hint: restore it with: sessctl rm --undo gone-0001\n")
}
