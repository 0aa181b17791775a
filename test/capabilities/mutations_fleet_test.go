package capabilities

var fleetMutations = []mutation{
	{
		"fleet_append/FLEET-04", "a writer that saw an older state is not told", "core/admit.go",
		"if h.Seq <= after.Seq && after.Seq < s.Seq || after == s.Cursor() {", "if h.Seq <= after.Seq && after.Seq < s.Seq || after != s.Cursor() || after == s.Cursor() {",
	},
	{
		"fleet_append/FLEET-07", "orphans enter", "core/admit.go",
		"if e.Parent != \"\" && !there(e.Parent) {", "if e.Parent != \"\" && !there(e.Parent) && false {",
	},
	{
		"fleet_claims/FLEET-05", "a claim is taken from its holder", "engine/claim.go",
		"if holder != nil && (!q.TakeOver || q.From", "if holder != nil && false && (!q.TakeOver || q.From",
	},
	{
		"fleet_claims/FLEET-05", "others write to a head that is held", "core/admit.go",
		"if claim == nil && !holds || claim != nil && claim.Writer == writer {", "if claim == nil && !holds || claim != nil {",
	},
	{
		"fleet_tokens/FLEET-29", "scopes are not checked", "api/server/caller.go",
		"if !c.Scope.Includes(rt.scope) {", "if false {",
	},
	{
		"fleet_tokens/FLEET-29", "prefixes are not checked", "api/server/caller.go",
		"if c.Reaches(string(id)) {", "if true || c.Reaches(string(id)) {",
	},
	{
		"fleet_images/FLEET-12", "images stay in their lines", "core/image/image.go",
		"if !mayHoldImage(line) {\n\t\treturn line, nil\n\t}\n\tvar blobs", "if true {\n\t\treturn line, nil\n\t}\n\tvar blobs",
	},
	{
		"fleet_removal/FLEET-26", "a hold protects nothing", "core/admit.go",
		"if s.LegalHold == nil {\n\t\treturn nil\n\t}\n\treturn fmt.Errorf(\"session %s is held", "if true {\n\t\treturn nil\n\t}\n\treturn fmt.Errorf(\"session %s is held",
	},
	{
		"fleet_removal/FLEET-26", "sessions in the trash are written to", "core/admit.go",
		"case s.Deleted != nil:\n\t\treturn fmt.Errorf(\"session %s was deleted", "case s.Deleted != nil && false:\n\t\treturn fmt.Errorf(\"session %s was deleted",
	},
	{
		"fleet_blobs/FLEET-24", "any grace period is accepted", "materializer/gc/gc.go",
		"if q.Grace < least {", "if false {",
	},
	{
		"fleet_find/FLEET-18", "the agent is no filter", "materializer/index/where.go",
		"if f.Dialect != \"\" {\n\t\tw.add", "if false {\n\t\tw.add",
	},
	{
		"fleet_lineage/FLEET-21", "a merge has one parent", "engine/merge.go",
		"Parents: []core.Lineage{first.from, second.from}", "Parents: []core.Lineage{first.from}",
	},
	{
		"openrath_files/RATH-04", "results of tools have no role of their own", "core/dialect/openrath/messages.go",
		"role = \"tool\"", "role = \"user\"",
	},
	{
		"openrath_files/RATH-42", "newer files are read", "core/dialect/openrath/header.go",
		"case v > Version:", "case v > Version+1:",
	},
	{
		"openrath_files/RATH-43", "bad parents are kept", "core/dialect/openrath/header.go",
		"if _, ok := canonicalUUID(id); ok {", "if _, ok := canonicalUUID(id); ok || true {",
	},
	{
		"openrath_files/RATH-44", "older files are read without a migration", "core/dialect/openrath/header.go",
		"case v < Version:", "case v < Version-1:",
	},
	{
		"openrath_many/RATH-48", "a resumed session keeps the handle of a local sandbox", "core/dialect/openrath/resume.go",
		"!ok || s.Backend != remoteBackend {", "(!ok || s.Backend != remoteBackend) && false {",
	},
	{
		"openrath_derived/RATH-31", "a lineage row lacks the extras", "core/lineage/stamp.go",
		"s.Word, s.Extras = said.Word, said.Extras", "s.Word = said.Word",
	},
}
