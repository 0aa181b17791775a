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
		"fleet_append/FLEET-07", "an empty parent enters", "core/dialect/internal/jsonl/entry.go",
		"case v.IsNullish() || id != \"\":", "case v.IsNullish() || id != \"\" || ok:",
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
		"edge_share/EDGE-07", "a share link shows all of main", "api/server/sharelinks.go",
		"leaf = core.LeafAt(grant.Until)", "_ = core.LeafAt(grant.Until)",
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
		"fleet_secrets/EDGE-15", "secrets leave the host", "agent/follow/secrets.go",
		"return fl.cfg.Secrets.Mask(lines)", "return lines",
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
		"fleet_lineage/FLEET-21", "sessions of Claude Code are not merged", "core/convert/rewrite.go",
		"case parentMembers[name] && old == e.Parent:", "case parentMembers[name] && old == e.Parent && name != \"parentUuid\":",
	},
	{
		"fleet_append/FLEET-01", "an append is acknowledged and not stored", "api/server/append.go",
		"return sess.Append(r.Context(), a)", "_, err = core.Receipt{}, sess.Refresh(r.Context())\n\treturn core.Receipt{IDs: []string{}}, err",
	},
	{
		"fleet_node/FLEET-02", "a node looks for its log elsewhere after a start", "cmd/sessnode/node.go",
		"n := &node{cfg: cfg, logger: logger, metrics", "cfg.Data = fmt.Sprintf(\"%s/%p\", cfg.Data, start)\n\tif err := os.MkdirAll(cfg.Data, 0o700); err != nil {\n\t\treturn nil, err\n\t}\n\tn := &node{cfg: cfg, logger: logger, metrics",
	},
	{
		"fleet_node/FLEET-03", "a cluster may keep blobs on one node", "config/check.go",
		"bad(\"blobs.store\", \"fs serves one node; a cluster needs s3\")", "bad(\"blobs.store\", \"it is wrong\")",
	},
	{
		"fleet_claims/FLEET-06", "no head is made for a writer that lost", "engine/conflict.go",
		"b.Head, b.Writer, b.After, b.OnConflict, b.Branch, b.from = a.Branch,", "b.Head, b.Writer, b.After, b.OnConflict, b.Branch, b.from = a.Head,",
	},
	{
		"fleet_blobs/FLEET-08", "snapshots are not verified", "materializer/verify/verify.go",
		"m := in.Latest\n\tif m == nil {", "m := in.Latest\n\tif m == nil || true {",
	},
	{
		"fleet_blobs/FLEET-09", "a snapshot has no content", "core/snapshot/pack.go",
		"var out []byte\n\tfor len(plain) > 0 {", "var out []byte\n\tfor len(plain) > 1<<40 {",
	},
	{
		"fleet_cold/FLEET-10", "the log gives up nothing", "materializer/truncate.go",
		"if p.upTo == 0 {", "if p.upTo >= 0 {",
	},
	{
		"fleet_cold/FLEET-10", "snapshots are not read", "engine/load.go",
		"case core.KindCheckpoint:\n\t\tif err :=", "case core.KindClose:\n\t\tif err :=",
	},
	{
		"fleet_cold/FLEET-10", "what came after the snapshot is not read", "engine/load.go",
		"return v, ss.readAfter(ctx, &v, last, v.read)", "return v, nil",
	},
	{
		"fleet_images/FLEET-13", "no record is too large for a message", "stream/codec.go",
		"if len(f.data) > SpillSize {", "if len(f.data) > SpillSize && false {",
	},
	{
		"fleet_run/FLEET-14", "the header keeps the directory of the other host", "agent/stagedfile.go",
		"header = relocator.WithCWD(header, f.workdir.CWD)", "_ = relocator.WithCWD(header, f.workdir.CWD)",
	},
	{
		"fleet_run/FLEET-15", "an agent that ended keeps its head", "agent/claimer.go",
		"if head.Claim == nil || !slices.Contains(c.own, head.Claim.Writer) {", "if head.Claim == nil || slices.Contains(c.own, head.Claim.Writer) {",
	},
	{
		"fleet_follow/FLEET-16", "writers that are there seem to be gone", "stream/presence.go",
		"list[i].Alive = now.Sub(list[i].Seen) < session.SilentAfter", "list[i].Alive = now.Sub(list[i].Seen) > session.SilentAfter",
	},
	{
		"fleet_people/FLEET-17", "errors of the interface name no next step", "api/server/respond.go",
		"d.Status, d.Code, d.Title, d.Next = p.Status, p.Code, p.Title, p.Next", "d.Status, d.Code, d.Title, d.Next = p.Status, p.Code, p.Title, \"\"",
	},
	{
		"fleet_people/FLEET-33", "errors have no hint", "cmd/sessctl/internal/cli/exit.go",
		"if r.Next != \"\" {\n\t\tfmt.Fprintf(a.Stderr, \"hint", "if false {\n\t\tfmt.Fprintf(a.Stderr, \"hint",
	},
	{
		"fleet_people/FLEET-33", "variables that are not set select all sessions", "cmd/sessctl/root.go",
		"return cli.Usagef(\"--%s is empty\", name)", "return nil",
	},
	{
		"fleet_find/FLEET-19", "prompts are not found", "materializer/index/promptsearch.go",
		"return readPrompts(rows, q.Limit, terms, &page)", "return nil",
	},
	{
		"fleet_lineage/FLEET-20", "every fork is of the end", "engine/fork.go",
		"if leaf.IsDefault() || f.Whole {", "if leaf != core.NoLeaf || f.Whole {",
	},
	{
		"fleet_lineage/FLEET-20", "the key of another fork is accepted", "engine/sessions.go",
		"asked != b.Origin.Request && !asked.IsZero()", "asked != b.Origin.Request && asked.IsZero()",
	},
	{
		"fleet_blobs/FLEET-08", "verify asks the caches", "blobstore/blobs.go",
		"if ctx.Value(uncached{}) == nil {", "if true {",
	},
	{
		"fleet_backup/FLEET-25", "every backup sends everything again", "backup/take.go",
		"if unchanged {\n\t\tt.report.Unchanged++", "if unchanged && false {\n\t\tt.report.Unchanged++",
	},
	{
		"fleet_removal/FLEET-27", "what is redacted stays", "engine/remove.go",
		"line, err := redact.Line(old.Line, r.Text)", "line, err := redact.Line(old.Line, string(old.Line))",
	},
	{
		"fleet_blobs/FLEET-28", "missing snapshots are not found", "materializer/doctor/sessions.go",
		"if !k.has(&row) {", "if !k.has(&row) && false {",
	},
	{
		"fleet_node/FLEET-30", "requests are not counted", "internal/metrics/metrics.go",
		"m.requests.WithLabelValues(route, classOf(seen.Status)).Inc()", "_ = classOf(seen.Status)",
	},
	{
		"fleet_convert/FLEET-34", "messages are not converted", "core/convert/tree.go",
		"it.Kind != item.Leaf {", "it.Kind != item.Leaf && it.Kind != item.Message {",
	},
	{
		"fleet_convert/EDGE-13", "a hand-off does not name what is lost", "cmd/sessctl/internal/agents/handoff.go",
		"for _, l := range done.Lost {", "for _, l := range done.Lost[:0] {",
	},
	{
		"fleet_agents/EDGE-06", "files of Codex go to no folder of their day", "core/dialect/codex/pack.go",
		"return \"sessions/\" + n.when[:4] + \"/\" + n.when[5:7] + \"/\"", "return \"sessions/\" + n.when[:4] + \"/\"",
	},
	{
		"fleet_convert/EDGE-13", "costs that Claude Code does not keep are not named", "core/dialect/claude/write.go",
		"if u.Cost != 0 {", "if false {",
	},
	{
		"fleet_convert/EDGE-13", "data that Claude Code does not keep are not named", "core/dialect/claude/write.go",
		"if it.Details != nil {", "if false {",
	},
	{
		"fleet_convert/EDGE-13", "data of a result that Claude Code does not keep are not named", "core/dialect/claude/write.go",
		"if b.Details != nil {", "if false {",
	},
	{
		"edge_diff/EDGE-08", "paths have nothing in common", "core/tree/compare.go",
		"sameEntry(&a[n], &b[n])", "sameEntry(&a[n], &b[n]) && false",
	},
	{
		"edge_agents/EDGE-09", "Claude Code would not find the file of another host", "agent/bundle.go",
		"h.CWD = f.workdir.CWD", "_ = f.workdir.CWD",
	},
	{
		"edge_agents/EDGE-10", "a reverted thread has what it took back", "core/dialect/codex/rollout.go",
		"parts = append(parts, r.upTo(b.end))", "parts = append(parts, r.upTo(b.end+1<<40))",
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
		"if id, ok := canonicalUUID(id); ok {", "if id, ok := canonicalUUID(id); ok || true {",
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
		"openrath_closed/RATH-45", "a listing of the log does not tell what is closed", "materializer/row.go",
		"row.Closed = row.Closed || row.Summary.Closed", "row.Closed = row.Closed || row.Summary.Closed && false",
	},
	{
		"openrath_closed/RATH-45", "a listing of files does not tell what is closed", "core/dialect/openrath/summary.go",
		"sum.Closed = true", "sum.Closed = false",
	},
	{
		"openrath_derived/RATH-31", "a lineage row lacks the extras", "core/lineage/stamp.go",
		"s.Word, s.Extras = said.Word, said.Extras", "s.Word = said.Word",
	},
}
