package capabilities

var opMutations = []mutation{
	{
		"op_file/OP-01", "the file's entries begin one later", "core/dialect/operator/file.go",
		"f.Entries = append(f.Entries, e)", "if len(f.Lines) > 0 {\n\t\tf.Entries = append(f.Entries, e)\n\t}",
	},
	{
		"op_file/OP-02", "headers have no parent", "core/dialect/operator/write.go",
		"if f.Parent != \"\" {", "if f.Parent == \"-\" {",
	},
	{
		"op_file/OP-03", "the document's spelling of a header is not read", "core/dialect/operator/line.go",
		"if !isHeader(e.Type) {", "if e.Type != \"session\" {",
	},
	{
		"op_file/OP-04", "a root must have a parent member", "core/dialect/operator/check.go",
		"func isNullOrText(v jsjson.Value) bool { return v.IsNullish() || isText(v) }", "func isNullOrText(v jsjson.Value) bool { return v != nil && v.IsNullish() || isText(v) }",
	},
	{
		"op_file/OP-36", "the file's name has no microseconds", "core/dialect/operator/filename.go",
		"t.Format(\"2006-01-02T15-04-05.000000\")", "t.Format(\"2006-01-02T15-04-05\")",
	},
	{
		"op_file/OP-40", "a line that is no JSON refuses the file", "core/dialect/operator/file.go",
		"\tif err != nil {\n\t\tr.skip(n, err)\n\t\treturn nil", "\tif err != nil {\n\t\tr.skip(n, err)\n\t\treturn r.noSession()",
	},
	{
		"op_file/OP-40", "a header may come later", "core/dialect/operator/file.go",
		"if Check(line) == nil {", "if Check(line) == core.ErrInvalid {",
	},
	{
		"op_entries/OP-05", "the content of messages is not checked", "core/dialect/operator/check.go",
		"return contents == nil || isStoredContent(contents)", "return contents == nil || contents.Kind() == '['",
	},
	{
		"op_entries/OP-06", "a compaction has no size", "core/dialect/operator/write_item.go",
		"w.Raw(\"tokens_before\", strconv.AppendInt(nil, it.Tokens, 10))\n\t\tw.summary(it)", "w.summary(it)",
	},
	{
		"op_entries/OP-07", "branch summaries are not in the context", "core/dialect/operator/context.go",
		"c.begin(\"branch_summary\")", "c.begin(\"\")",
	},
	{
		"op_entries/OP-08", "a leaf entry is an entry like others", "core/dialect/operator/path.go",
		"if es[i].Type != typeLeaf {", "if es[i].Type != \"-\" {",
	},
	{
		"op_entries/OP-09", "a label stays", "core/dialect/operator/label.go",
		"delete(labels, target)", "_ = target",
	},
	{
		"op_entries/OP-10", "any level is taken", "core/dialect/operator/check.go",
		"return isOneOf(v, levels)", "return true",
	},
	{
		"op_entries/OP-11", "a change of the model has no provider", "core/dialect/operator/write_item.go",
		"w.Text(\"provider_id\", it.Provider)", "_ = it.Provider",
	},
	{
		"op_entries/OP-12", "names are not trimmed", "core/dialect/operator/info.go",
		"return lastText(path, typeInfo, \"name\", strip)", "return lastText(path, typeInfo, \"name\", func(s string) string { return s })",
	},
	{
		"op_entries/OP-12", "the name of any branch counts", "core/dialect/operator/info.go",
		"if s := nameOn(path); s != \"\" {", "if s := nameOn(es); s != \"\" {",
	},
	{
		"op_entries/OP-13", "an extension's data is lost", "core/dialect/operator/write_item.go",
		"w.Value(\"data\", it.Details)", "_ = it.Details",
	},
	{
		"op_entries/OP-14", "custom messages are not in the context", "core/dialect/operator/context.go",
		"case typeCustomMessage:", "case \"-\":",
	},
	{
		"op_entries/OP-15", "a channel has no ids", "core/dialect/operator/write_item.go",
		"if s, ok := ids.Get(name).Text(); ok {", "if s, ok := ids.Get(name).Text(); ok && false {",
	},
	{
		"op_entries/OP-15", "the first channel holds", "core/dialect/operator/own.go",
		"channelOn(path)", "channelOn(path[:1])",
	},
	{
		"op_entries/OP-16", "a reaction is there twice", "core/dialect/operator/meta.go",
		"if s, ok := item.Text(); ok && s == emoji {", "if s, ok := item.Text(); ok && s == \"-\" {",
	},
	{
		"op_entries/OP-16", "a meta is not stored", "core/dialect/operator/meta.go",
		"line, err := withMember(e.Line, \"meta\", jsonline.EscapeSeparators(v))", "line, err := withMember(e.Line, \"-\", jsonline.EscapeSeparators(v))",
	},
	{
		"op_entries/OP-29", "the first level holds", "core/dialect/operator/context.go",
		"level = steps[i].Get(\"thinking_level\")", "if level.Is(\"off\") {\n\t\t\t\tlevel = steps[i].Get(\"thinking_level\")\n\t\t\t}",
	},
	{
		"op_entries/OP-29", "there is no provider", "core/dialect/operator/context.go",
		"c.member(\"provider_id\", provider)", "_ = provider",
	},
	{
		"op_entries/OP-30", "messages are twice in the context", "core/dialect/operator/context.go",
		"c.text = append(c.text, s.Get(\"message\")...)\n", "c.text = append(c.text, s.Get(\"message\")...)\n\t\tc.next()\n\t\tc.text = append(c.text, s.Get(\"message\")...)\n",
	},
	{
		"op_entries/OP-31", "a compaction keeps all", "core/dialect/operator/context.go",
		"for kept < last && steps[kept].ID != first {", "for kept < last && steps[kept].ID != first && false {",
	},
	{
		"op_entries/OP-31", "the summary is left out", "core/dialect/operator/context.go",
		"c.compactionSummary(&steps[last])", "_ = steps",
	},
	{
		"op_entries/OP-32", "a compaction of another branch counts", "core/dialect/operator/context.go",
		"steps, last := readPath(path)", "steps, last := readPath(es)",
	},
	{
		"op_entries/OP-41", "empty turns are sent", "core/dialect/operator/usable.go",
		"if t := readTurn(m); !t.assistant || t.some {", "if t := readTurn(m); true {",
	},
	{
		"op_entries/OP-41", "dangling turns are sent", "core/dialect/operator/usable.go",
		"for len(turns) > 0 && turns[len(turns)-1].dangles() {", "for len(turns) > 0 && turns[len(turns)-1].dangles() && false {",
	},
	{
		"op_tree/OP-23", "details without a summary are dropped", "api/server/heads.go",
		"if len(q.Details) > 0 && string(q.Details) != \"null\" {", "if false {",
	},
	{
		"op_tree/OP-20", "an opened session stands at its last entry", "session/session.go",
		"s.leaf = s.logLeaf", "s.leaf = core.LeafAt(\"a0000002\")",
	},
	{
		"op_tree/OP-21", "an append leaves the leaf", "session/write.go",
		"\t\ts.leaf = s.d.Leaf(es)\n\t}\n}\n\n// send stores", "\t}\n}\n\n// send stores",
	},
	{
		"op_tree/OP-22", "a branch has no entry", "core/dialect/operator/write_item.go",
		"case item.Leaf:\n", "case item.Leaf:\n\t\tif it.Target != \"\" {\n\t\t\treturn nil, nil\n\t\t}\n",
	},
	{
		"op_tree/OP-22", "a branch may lead nowhere", "session/branch.go",
		"if err := b.mustHave(id); err != nil {\n\t\t\treturn nil, err", "if err := b.mustHave(id); err != nil && false {\n\t\t\treturn nil, err",
	},
	{
		"op_tree/OP-23", "a summary from before all entries names none", "core/dialect/operator/write_item.go",
		"from = root", "from = \"-\"",
	},
	{
		"op_tree/OP-24", "a reset keeps the leaf", "session/branch.go",
		"s.setLeaf(core.NoLeaf)", "_ = core.NoLeaf",
	},
	{
		"op_tree/OP-25", "a path follows a ring", "core/dialect/operator/path.go",
		"for at >= 0 && !seen[at] {", "for at >= 0 && len(path) < 9 {",
	},
	{
		"op_tree/OP-26", "children are in the order of the file", "core/dialect/operator/tree.go",
		"slices.SortStableFunc(nodes, t.compare)", "_ = nodes",
	},
	{
		"op_tree/OP-26", "orphans are not shown", "core/dialect/operator/tree.go",
		"t.roots = append(t.roots, i)", "if t.nodes[i].Parent == \"\" {\n\t\t\t\tt.roots = append(t.roots, i)\n\t\t\t}",
	},
	{
		"op_tree/OP-26", "labels in the tree have no time", "core/dialect/operator/tree.go",
		"if l.time != \"\" {", "if l.time == \"-\" {",
	},
	{
		"op_tree/OP-27", "an entry is not found by its id", "session/read.go",
		"return s.entries[i], true\n}\n\n// Leaf", "return s.entries[i*0], true\n}\n\n// Leaf",
	},
	{
		"op_manage/OP-17", "a session is stored before an answer", "core/dialect/operator/rules.go",
		"jsonl.Spoken(es, \"assistant\")", "jsonl.Spoken(es, \"assistant\", \"user\")",
	},
	{
		"op_manage/OP-18", "entries wait for the next answer", "session/write.go",
		"if !s.saved && !force && s.o.Lazy && !s.d.Keeps(s.entries) {", "if !force && s.o.Lazy && !s.d.Keeps(s.entries[len(s.entries)-1:]) {",
	},
	{
		"op_manage/OP-19", "closing stores what is not kept", "session/write.go",
		"first := s.err\n", "first := s.err\n\t_ = s.send(ctx, true)\n",
	},
	{
		"op_manage/OP-28", "a branched session has no labels from elsewhere", "core/tree/copypath.go",
		"if e.ID == \"\" || label == have.Labels[e.ID] {", "if e.ID != \"\" || label == have.Labels[e.ID] {",
	},
	{
		"op_manage/OP-28", "a branched session has all entries", "session/fork.go",
		"Fork{ID: core.SessionID(o.newID()), At: at, Branched: true, CWD: s.CWD()}, o)", "Fork{ID: core.SessionID(o.newID()), Whole: true}, o)",
	},
	{
		"op_manage/OP-33", "opening a missing session makes one", "session/session.go",
		"l, err := log.Load(ctx, id)\n\tif err != nil {\n\t\treturn nil, err", "l, err := log.Load(ctx, id)\n\tif err != nil {\n\t\treturn newUnsaved(log, \"/\", o)",
	},
	{
		"op_manage/OP-34", "a session is never continued", "session/session.go",
		"if len(found) == 0 {", "if len(found) >= 0 {",
	},
	{
		"op_manage/OP-35", "a copy keeps its directory", "session/fork.go",
		"Whole: true, CWD: cwd}, o)\n}\n\nfunc forkIn", "Whole: true}, o)\n}\n\nfunc forkIn",
	},
	{
		"op_manage/OP-37", "all entries count as messages", "core/dialect/operator/summary.go",
		"if err == nil && e.Type == typeMessage {", "if err == nil {",
	},
	{
		"op_manage/OP-38", "a listing has all directories", "materializer/index/where.go",
		"if f.CWD == \"\" {", "if f.CWD == \"\" || !f.Below {",
	},
}
