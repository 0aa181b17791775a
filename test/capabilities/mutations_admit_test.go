package capabilities

// admitMutations remove the rules of what writers may add, and what programs reach
// over HTTP.
var admitMutations = []mutation{
	{
		"dangling/PI-12", "a label may have no target", "core/dialect/internal/tree/admit.go",
		`case it.Kind == item.Label && it.Target == "":`, `case it.Kind == item.Label && it.Target == "-":`,
	},
	{
		"dangling/PI-04", "a parent may be a number", "core/dialect/internal/jsonl/entry.go",
		"case v.IsNullish() || id != \"\":", "case v.IsNullish() || id != \"\" || !ok:",
	},
	{
		"dangling/PI-05", "a message may be a text", "core/dialect/internal/jsonl/entry.go",
		"return checkMessage(v[1])", "return nil",
	},
	{
		"dangling/PI-05", "amended lines are not checked", "engine/amend.go",
		"return core.CountInTree(st.Entries) }}, e)", "return core.CountInTree(st.Entries) }}, core.Entry{Line: []byte(`{}`)})",
	},
	{
		"dangling/PI-05", "a session in memory takes all lines", "session/append.go",
		"if d, ok := b.s.d.(core.Admitter); ok {", "if d, ok := b.s.d.(core.Admitter); ok && b.s.Saved() {",
	},
	{
		"dangling/PI-08", "a compaction may not name itself", "core/dialect/pi/rules.go",
		`return has(id) || e.Type == "compaction" && id == e.ID`, "return has(id)",
	},
	{
		"dangling/OP-06", "tokens may be halves", "core/dialect/operator/check.go",
		"return ok && f == math.Trunc(f)", "return ok || f == math.Trunc(f)",
	},
	{
		"op_entries/OP-12", "a name is removed, and stays", "core/dialect/operator/write.go",
		`if strings.TrimSpace(name) == "" {`, `if strings.TrimSpace(name) == "-" {`,
	},
	{
		"nova_admission/NOVA-24", "unknown members of a change are taken", "core/dialect/nova/check.go",
		"if extra := r.rest(e.Line); len(extra) > 0 {", "if extra := r.rest(e.Line); len(extra) > maxState {",
	},
	{
		"finding/OMP-46", "each line is rewritten in a separate record", "api/client/log.go",
		"	done, err := r.c.AmendAll(ctx, string(id), lines, optionsOf(w))\n",
		"	done, err := r.c.AmendAll(ctx, string(id), lines[:1], optionsOf(w))\n	for _, line := range lines[1:] {\n		done, err = r.c.AmendAll(ctx, string(id), [][]byte{line}, optionsOf(w))\n	}\n",
	},
	{
		"pi_manage/PI-17", "a slash at the end makes another directory", "session/session.go",
		"return path.Clean(cwd)", "return path.Clean(cwd) + cwd[len(path.Clean(cwd)):]",
	},
	{
		"openrath_values/RATH-52", "programs keep no journal", "api/client/lineage.go",
		"	if err == nil {\n		lineage.Note(ctx, id)", "	if err != nil {\n		lineage.Note(ctx, id)",
	},
	{
		"openrath_values/RATH-53", "a program cannot switch lineage off", "api/client/transport.go",
		"if !lineage.IsRecording(ctx) {", "if ctx == nil {",
	},
	{
		"openrath_values/RATH-53", "a node does not switch lineage off", "api/server/handler.go",
		"lineage.Recording(r.Context(), false)", "lineage.Recording(r.Context(), true)",
	},
	{
		"openrath_created/RATH-06", "a session without parents is of no kind", "core/optional/derive.go",
		"case ok && len(from)+len(kind) > 0:", "case ok && len(from) > 0:",
	},
	{
		"openrath_created/RATH-08", "a kind may be any word", "core/dialect/openrath/rules.go",
		"v == nil || LineageKind(kind) == LineageUnknown ||", "v != nil || LineageKind(kind) == LineageUnknown ||",
	},
	{
		"openrath_created/RATH-05", "an id may be any text", "core/dialect/openrath/rules.go",
		"if _, ok := canonicalUUID(h.ID); !ok {", "if _, ok := canonicalUUID(h.ID); !ok && h.ID == \"\" {",
	},
	{
		"openrath_closed/RATH-36", "a trailer may count anything", "core/dialect/openrath/rules.go",
		"return checkCount(e, s.Count())", "return nil",
	},
	{
		"openrath_derived/RATH-08", "a converted session names no parents", "core/dialect/openrath/derive.go",
		`case "branch", "convert":`, `case "branch":`,
	},
	{
		"openrath_derived/RATH-08", "a fork names one parent", "core/dialect/openrath/derive.go",
		"return first.derive(id, LineageFork, operatorFork, ids...), nil", "return first.Fork(id), nil",
	},
}
