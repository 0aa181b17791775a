package capabilities

var novaMutations = []mutation{
	{
		"nova_file/NOVA-01", "a file is not named after its session", "core/dialect/nova/nova.go",
		"return \"\", h.ID + \".json\"", "return \"\", h.ID + \".jsonl\"",
	},
	{
		"nova_file/NOVA-02", "a state has no turns", "core/dialect/nova/dict.go",
		"w.number(\"turn_count\", s.TurnCount)", "_ = s.TurnCount",
	},
	{
		"nova_calls/NOVA-04", "an empty id is none", "api/server/create.go",
		"case *id == \"\":", "case *id == \"-\":",
	},
	{
		"nova_calls/NOVA-28", "a count that Nova did not make is replaced", "core/dialect/nova/fold.go",
		"forks > max(s.ForkCount, 0)", "forks > s.ForkCount",
	},
	{
		"nova_calls/NOVA-21", "a session is compressed again", "core/dialect/nova/state.go",
		"return !s.Pruned && (len", "return (len",
	},
	{
		"nova_compress/NOVA-21", "150,000 tokens are too many", "core/dialect/nova/state.go",
		"|| s.TokensUsed > l.Tokens)", "|| s.TokensUsed >= l.Tokens)",
	},
	{
		"nova_compress/NOVA-22", "artifacts stay", "core/dialect/nova/state.go",
		"s.Artifacts = nil", "_ = s.Artifacts",
	},
	{
		"nova_calls/NOVA-22", "decisions are still counted", "core/dialect/nova/state.go",
		"s.Metrics.DecisionCount = 0\n", "",
	},
	{
		"nova_calls/NOVA-22", "all decisions stay", "core/dialect/nova/state.go",
		"s.Decisions = s.Decisions[len(s.Decisions)-keep:]", "_ = keep",
	},
	{
		"nova_calls/NOVA-03", "ids may be short", "core/dialect/nova/id.go",
		"if len(id) < MinID ||", "if len(id) < 1 ||",
	},
	{
		"nova_calls/NOVA-03", "ids may have other characters", "core/dialect/nova/id.go",
		"if i := strings.IndexFunc(id, notInID); i >= 0 {", "if i := strings.IndexFunc(id, notInID); i >= 99 {",
	},
	{
		"nova_calls/NOVA-04", "an empty id makes a session", "session/nova/sessions.go",
		"if id != nil {", "if id != nil && *id != \"\" {",
	},
	{
		"nova_calls/NOVA-05", "ids are not random UUIDs", "session/nova/sessions.go",
		"b[6], b[8] = b[6]&0x0F|0x40", "b[6], b[8] = b[6]&0x0F|0x70",
	},
	{
		"nova_calls/NOVA-06", "a new session has no agent", "session/nova/sessions.go",
		"Model: o.Model, AgentName: o.Agent}", "Model: o.Model}",
	},
	{
		"nova_calls/NOVA-06", "a new session has no tags", "session/nova/sessions.go",
		"s.Tags = append(s.Tags, tag)", "_ = tag",
	},
	{
		"nova_calls/NOVA-06", "another model is the default", "session/nova/sessions.go",
		"s.Model = dialect.DefaultModel", "s.Model = \"other\"",
	},
	{
		"nova_calls/NOVA-07", "sessions of the log are not opened", "session/nova/sessions.go",
		"v, err := ss.load(ctx, h.id)\n\tif errors.Is", "v, err := ss.load(ctx, h.id+\"-\")\n\tif errors.Is",
	},
	{
		"nova_calls/NOVA-08", "an error does not name those that are there", "session/nova/sessions.go",
		"return strings.Join(ids, \", \")\n", "return \"some\"\n",
	},
	{
		"nova_calls/NOVA-10", "a task has no decision", "session/nova/change.go",
		"line, err := dialect.NewTask(1, made, ss.cfg.Prune)", "line, err := dialect.NewTask(1, made, ss.cfg.Prune)\n\tif made != nil {\n\t\tline, err = dialect.NewTask(1, nil, ss.cfg.Prune)\n\t}",
	},
	{
		"nova_calls/NOVA-11", "a task is no turn", "core/dialect/nova/change.go",
		"w.number(\"turns\", min(max(0, turns), most))", "w.number(\"turns\", 0)",
	},
	{
		"nova_calls/NOVA-13", "a task does not say what to resume", "session/nova/change.go",
		"ResumeFromSession: id,", "",
	},
	{
		"nova_calls/NOVA-14", "a context has no plan", "core/dialect/nova/context.go",
		"lines = append(lines, \"Plan: \"+s.CurrentPlan)", "_ = lines",
	},
	{
		"nova_calls/NOVA-14", "a context has the first decision", "core/dialect/nova/context.go",
		"s.Decisions[n-1].Decision)", "s.Decisions[0].Decision)",
	},
	{
		"nova_calls/NOVA-15", "logs have the decision", "session/nova/change.go",
		"\"decisions\", len(s.Decisions))", "\"decisions\", s.Decisions)",
	},
	{
		"nova_calls/NOVA-16", "a fork has no plan", "core/dialect/nova/state.go",
		"CurrentPlan: s.CurrentPlan,", "",
	},
	{
		"nova_calls/NOVA-17", "a fork has the turns of its parent", "core/dialect/nova/state.go",
		"TokensUsed: s.TokensUsed, Tags", "TokensUsed: s.TokensUsed, TurnCount: s.TurnCount, Tags",
	},
	{
		"nova_calls/NOVA-18", "a fork of an unknown session is one of none", "session/nova/change.go",
		"h, err := ss.session(ctx, parent)\n\tif err != nil {\n\t\treturn \"\", err", "h, err := ss.session(ctx, parent)\n\tif err != nil {\n\t\treturn \"none\", nil",
	},
	{
		"nova_calls/NOVA-09", "a task in an unknown session makes it", "session/nova/sessions.go",
		"if errors.Is(err, core.ErrNotFound) {", "if errors.Is(err, core.ErrNotFound) && ss.hold(id, h) != nil {\n\t\treturn h, nil\n\t}\n\tif errors.Is(err, core.ErrNotFound) {",
	},
	{
		"nova_calls/NOVA-20", "an unknown session has an empty state", "session/nova/sessions.go",
		"v, err := ss.current(ctx, id)\n\tif err != nil {\n\t\treturn dialect.State{}, err", "v, err := ss.current(ctx, id)\n\tif err != nil {\n\t\treturn dialect.State{}, nil",
	},
	{
		"nova_calls/NOVA-19", "a cleaned up session is still held", "session/nova/cleanup.go",
		"ss.drop(id)\n\tss.cfg", "ss.cfg",
	},
	{
		"nova_calls/NOVA-19", "a cleaned up session stays in the log", "session/nova/cleanup.go",
		"if err := ss.cfg.Log.Delete(ctx, h.id,", "if err := error(nil); h == nil {\n\t\treturn err\n\t} else if err := func(context.Context, core.SessionID, core.Notice) error { return nil }(ctx, h.id,",
	},
	{
		"nova_calls/NOVA-23", "eleven decisions are kept", "core/dialect/nova/state.go",
		"max(0, len(s.Decisions)-MaxDecisions)", "max(0, len(s.Decisions)-MaxDecisions-1)",
	},
	{
		"nova_calls/NOVA-23", "a decision has no time", "core/dialect/nova/fold.go",
		"d.Timestamp = toNova(e.Time)", "_ = e",
	},
	{
		"nova_calls/NOVA-24", "the first path of an artifact stays", "core/dialect/nova/state.go",
		"s.Artifacts[name] = path", "if s.Artifacts[name] == \"\" {\n\t\ts.Artifacts[name] = path\n\t}",
	},
	{
		"nova_calls/NOVA-25", "tokens may be taken away", "core/dialect/nova/state.go",
		"return min(n+min(max(0, more), most), most)", "return min(n+min(more, most), most)",
	},
	{
		"nova_calls/NOVA-26", "turns may be taken away", "core/dialect/nova/state.go",
		"s.TurnCount = plus(s.TurnCount, n)", "s.TurnCount += n",
	},
	{
		"nova_calls/NOVA-26", "a task without turns does not count", "core/dialect/nova/state.go",
		"s.Metrics.TaskCount = plus(s.Metrics.TaskCount, 1)", "s.Metrics.TaskCount = plus(s.Metrics.TaskCount, n)",
	},
	{
		"nova_calls/NOVA-27", "null members are written", "core/dialect/nova/dict.go",
		"if s != \"\" {\n\t\tw.text(name, s)", "if name != \"\" {\n\t\tw.text(name, s)",
	},
	{
		"nova_calls/NOVA-27", "tags cannot be left out", "core/dialect/nova/dict.go",
		"if tags {", "if tags || true {",
	},
	{
		"nova_calls/NOVA-28", "what Nova does not know is lost", "core/dialect/nova/dict.go",
		"w.extra(s.Extra)", "_ = s.Extra",
	},
	{
		"nova_calls/NOVA-28", "a file may lack members", "core/dialect/nova/dict.go",
		"r.required(\"created_at\"),", "r.text(\"created_at\", \"\"),",
	},
	{
		"nova_admission/NOVA-24", "a path may be content", "core/dialect/nova/change.go",
		"if len(s) > longest {", "if len(s) > longest*100 {",
	},
	{
		"nova_calls/NOVA-30", "a lost race is not repeated", "session/nova/change.go",
		"if err != nil && !retryable(err) {", "if err != nil {",
	},
	{
		"nova_calls/NOVA-31", "nothing is too old", "core/prune/prune.go",
		"case l.MaxAge > 0 &&", "case l.MaxAge > 1<<62 &&",
	},
	{
		"nova_calls/NOVA-31", "the cleanup never runs", "session/nova/cleanup.go",
		"\t\t\tss.CleanupOld(ctx)\n", "\t\t\treturn nil\n",
	},
	{
		"nova_calls/NOVA-32", "any number is kept", "core/prune/prune.go",
		"case l.Keep > 0 && left > l.Keep:", "case l.Keep > 0 && left > l.Keep+1:",
	},
	{
		"nova_calls/NOVA-33", "a fork does not name its parent", "core/dialect/nova/dict.go",
		"w.optional(\"fork_parent_id\", s.ForkParentID)", "_ = s.ForkParentID",
	},
	{
		"nova_calls/NOVA-34", "all sessions have the tag", "session/nova/sessions.go",
		"if slices.Contains(s.Tags, tag) {", "if slices.Contains(s.Tags, tag) || tag != \"\" {",
	},
	{
		"nova_calls/NOVA-35", "tokens have no metric", "core/dialect/nova/state.go",
		"s.Metrics.TotalTokens = plus(s.Metrics.TotalTokens, n)", "_ = n",
	},
	{
		"nova_calls/NOVA-36", "forks are not counted", "core/dialect/nova/fold.go",
		"f.ForkCount = plus(f.ForkCount, 1)", "_ = f",
	},
	{
		"nova_calls/NOVA-37", "anything may be updated", "core/dialect/nova/change.go",
		"r.fail(jsonl.Clip(name, 40), \"cannot be updated, there are: \"+settable)", "_ = settable",
	},
	{
		"nova_calls/NOVA-38", "nothing is pruned", "session/nova/change.go",
		"if pruned = v.state.ShouldPrune(ss.cfg.Prune); !pruned {", "if pruned = v.state.ShouldPrune(ss.cfg.Prune); pruned || !pruned {",
	},
	{
		"nova_calls/NOVA-39", "changes wait to be stored", "session/nova/change.go",
		"rec, err := ss.cfg.Log.Append(ctx, id,", "if len(es) > 0 {\n\t\treturn v.with(es, v.cursor), nil\n\t}\n\trec, err := ss.cfg.Log.Append(ctx, id,",
	},
}
