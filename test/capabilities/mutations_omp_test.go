package capabilities

var ompMutations = []mutation{
	{
		"omp_file/OMP-01", "folders are not named relative to the home", "core/dialect/omp/filename.go",
		"if way, ok := below(d.Home, cwd); ok {", "if way, ok := below(d.Home, cwd); ok && false {",
	},
	{
		"omp_file/OMP-01", "folders are all alike", "core/dialect/omp/filename.go",
		"return filename.Absolute(cwd)", "return filename.Absolute(\"\")",
	},
	{
		"omp_file/OMP-02", "the title of a header is not the name", "core/dialect/omp/slot.go",
		"t.text, _ = o.Get(\"title\").Text()\n\t\tt.source", "t.source",
	},
	{
		"omp_file/OMP-03", "new entries have no parent", "core/dialect/internal/jsonl/fill.go",
		"{\"parentId\", Parent(f.Parent)}", "{\"parentId\", nil}",
	},
	{
		"omp_file/OMP-33", "a file is written over", "internal/atomicfile/atomicfile.go",
		"if replace {\n\t\treturn os.Rename(d.Name(), d.path)", "if replace {\n\t\tb, err := os.ReadFile(d.Name())\n\t\tif err == nil {\n\t\t\terr = os.WriteFile(d.path, b, 0o600)\n\t\t}\n\t\treturn err",
	},
	{
		"omp_file/OMP-33", "a rewritten header is another one", "core/dialect/omp/header.go",
		"o.Delete(name)", "_ = name",
	},
	{
		"omp_file/OMP-42", "a name does not come into the slot", "core/dialect/omp/slot.go",
		"t, since, renamed = title{text, source, e.Time}, given, true", "_, _, renamed = source, text, false",
	},
	{
		"omp_file/OMP-42", "the slot is shorter", "core/dialect/omp/slot.go",
		"room := slotSize - 1 - len(b)", "room := slotSize - 2 - len(b)",
	},
	{
		"omp_file/OMP-15", "entries of old files get no ids", "core/dialect/internal/migrate/migrate.go",
		"if from < 2 {", "if from < 1 {",
	},
	{
		"omp_file/OMP-16", "hook messages keep their role", "core/dialect/internal/migrate/migrate.go",
		"|| !m.Get(\"role\").Is(\"hookMessage\") {", "|| true {",
	},
	{
		"omp_file/OMP-17", "old files of omp are not migrated", "core/dialect/omp/file.go",
		"f.Version, migrated, err = migrate.ToV3(records)", "f.Version, migrated, err = migrate.ToV3(records[:1])",
	},
	{
		"omp_file/OMP-18", "a line that cannot be parsed refuses the file", "core/dialect/omp/reader.go",
		"if value == nil {\n\t\tr.skip(err)", "if value == nil {\n\t\tr.skip(err)\n\t\treturn false",
	},
	{
		"omp_file/OMP-18", "an id need not be a text", "core/dialect/internal/jsonl/entry.go",
		"if err == nil && !stringID {", "if err == nil && !stringID && false {",
	},
	{
		"omp_file/OMP-19", "a session that is not there is not made", "session/session.go",
		"return Create(ctx, log, cwd, o)\n}\n\n// Continue", "return s, err\n}\n\n// Continue",
	},
	{
		"omp_file/OMP-22", "an entry is lost", "core/dialect/omp/file.go",
		"records[1:], r.lines[1:]", "records[2:], r.lines[2:]",
	},
	{
		"omp_entries/OMP-04", "answers say no usage", "core/dialect/internal/talk/write.go",
		"w.usage(it.Usage)", "_ = it.Usage",
	},
	{
		"omp_entries/OMP-05", "a model has no role", "core/dialect/omp/item.go",
		"if it.For != \"\" {", "if it.For == \"-\" {",
	},
	{
		"omp_entries/OMP-06", "levels are not written", "core/dialect/omp/item.go",
		"\"thinkingLevel\", it.Text)", "\"level\", it.Text)",
	},
	{
		"omp_entries/OMP-07", "a compaction is not in the context", "core/dialect/omp/compaction.go",
		"if reset > at || at < 0 {", "if reset > at || at < 0 || true {",
	},
	{
		"omp_entries/OMP-08", "branch summaries are not in the context", "core/dialect/omp/turn.go",
		"case \"message\", \"custom_message\", \"branch_summary\":", "case \"message\", \"custom_message\":",
	},
	{
		"omp_entries/OMP-09", "custom data is a message", "core/dialect/omp/turn.go",
		"case \"message\", \"custom_message\", \"branch_summary\":\n\tdefault:\n\t\treturn nil\n\t}", "case \"message\", \"custom_message\", \"branch_summary\":\n\tcase \"custom\":\n\t\tc.add(jsjson.Value(e.Line))\n\tdefault:\n\t\treturn nil\n\t}",
	},
	{
		"omp_entries/OMP-10", "custom messages are not in the context", "core/dialect/omp/turn.go",
		"if m != nil && err == nil {", "if m != nil && err != nil {",
	},
	{
		"omp_entries/OMP-11", "a label stays", "core/dialect/internal/tree/label.go",
		"delete(labels, target)", "_ = target",
	},
	{
		"omp_entries/OMP-12", "the first injection holds", "core/dialect/omp/settings.go",
		"return s.inject(o.Get(\"injectedRules\"))", "if s.rules != nil {\n\t\t\treturn nil\n\t\t}\n\t\treturn s.inject(o.Get(\"injectedRules\"))",
	},
	{
		"omp_entries/OMP-26", "rules are repeated", "core/dialect/omp/settings.go",
		"if !slices.Contains(s.rules, string(b)) {", "if !slices.Contains(s.rules, string(b)) || true {",
	},
	{
		"omp_entries/OMP-13", "the prompt of a session is in the context", "core/dialect/omp/turn.go",
		"case \"message\", \"custom_message\", \"branch_summary\":\n\tdefault:\n\t\treturn nil\n\t}", "case \"message\", \"custom_message\", \"branch_summary\":\n\tcase \"session_init\":\n\t\tc.add(jsjson.Value(e.Line))\n\tdefault:\n\t\treturn nil\n\t}",
	},
	{
		"omp_entries/OMP-14", "a mode has no data", "core/dialect/omp/item.go",
		"b = append(append(b, `,\"data\":`...), data...)", "_ = data",
	},
	{
		"omp_entries/OMP-27", "the mode's data is lost", "core/dialect/omp/settings.go",
		"s.mode, s.modeData = o.Get(\"mode\"), o.Get(\"data\")", "s.mode = o.Get(\"mode\")",
	},
	{
		"omp_entries/OMP-27", "without a mode there is a plan", "core/dialect/omp/settings.go",
		"mode: jsjson.Value(`\"none\"`)}", "mode: jsjson.Value(`\"plan\"`)}",
	},
	{
		"omp_entries/OMP-24", "without a level it is low", "core/dialect/omp/settings.go",
		"&settings{thinking: jsjson.Value(`\"off\"`)", "&settings{thinking: jsjson.Value(`\"low\"`)",
	},
	{
		"omp_entries/OMP-25", "what answered is not the default", "core/dialect/omp/settings.go",
		"s.infer(o.Get(\"message\"))", "_ = o",
	},
	{
		"omp_entries/OMP-25", "what was chosen is not the default", "core/dialect/omp/settings.go",
		"s.models.Set(role, model)", "if role != \"default\" {\n\t\ts.models.Set(role, model)\n\t}",
	},
	{
		"omp_entries/OMP-28", "a custom message is not converted", "core/dialect/omp/turn.go",
		"m.Set(\"role\", jsjson.Value(`\"custom\"`))", "_ = m",
	},
	{
		"omp_entries/OMP-23", "no leaf is the last entry", "core/dialect/internal/tree/path.go",
		"if leaf.IsNone() {\n\t\treturn -1, nil, nil\n\t}", "",
	},
	{
		"omp_entries/OMP-23", "an unknown leaf is the last entry", "core/dialect/internal/tree/path.go",
		"return -1, nil, fmt.Errorf(\"entry %q: %w\", jsonl.Clip(id, 64), core.ErrNotFound)", "return len(es) - 1, places, nil",
	},
	{
		"omp_manage/OMP-20", "an append leaves the leaf", "session/write.go",
		"\t\ts.leaf = s.d.Leaf(es)\n\t}\n}\n\n// send stores", "\t}\n}\n\n// send stores",
	},
	{
		"omp_manage/OMP-21", "a reset keeps the leaf", "session/branch.go",
		"s.setLeaf(core.NoLeaf)\n\t\treturn nil, nil", "return nil, nil",
	},
	{
		"omp_manage/OMP-29", "sessions of the directory are not continued", "session/session.go",
		"Query{CWD: directory(cwd), Dialect: d.Name(), Limit: 1}", "Query{CWD: cwd[:1], Dialect: d.Name(), Limit: 1}",
	},
	{
		"omp_manage/OMP-30", "a session is stored before an answer", "core/dialect/omp/rules.go",
		"return jsonl.Spoken(es, \"assistant\")", "return jsonl.Spoken(es, \"assistant\", \"user\")",
	},
	{
		"omp_manage/OMP-31", "writes are not in a queue", "session/session.go",
		"s.writeLock <- struct{}{}:\n\t\treturn nil\n\tcase <-ctx.Done():", "make(chan struct{}, 1) <- struct{}{}:\n\t\tselect {\n\t\tcase s.writeLock <- struct{}{}:\n\t\tdefault:\n\t\t}\n\t\treturn nil\n\tcase <-ctx.Done():",
	},
	{
		"omp_manage/OMP-32", "a flush waits for an answer", "session/write.go",
		"return s.send(ctx, true)\n}\n\n// Close", "return s.send(ctx, false)\n}\n\n// Close",
	},
	{
		"omp_manage/OMP-34", "a failed write is forgotten", "session/write.go",
		"s.err, s.permanent = err, isPermanent(err)", "s.err, s.permanent = nil, false",
	},
	{
		"omp_manage/OMP-34", "a fenced writer loses what it wrote", "session/write.go",
		"if err != nil && refused(err) && !pending", "if err != nil && !pending",
	},
	{
		"omp_manage/OMP-38", "an opened session does not stand where it stood", "session/session.go",
		"s.leaf = s.logLeaf", "s.leaf = core.NoLeaf",
	},
	{
		"omp_manage/OMP-39", "a session in memory waits to be stored", "session/write.go",
		"\t\tif s.log != nil {\n\t\t\ts.unsent++", "\t\tif s != nil {\n\t\t\ts.unsent++",
	},
	{
		"omp_manage/OMP-41", "a listing has all directories", "materializer/index/where.go",
		"if f.CWD == \"\" {", "if f.CWD == \"\" || !f.Below {",
	},
	{
		"omp_manage/OMP-43", "prompts have no directory", "materializer/index/prompts.go",
		"clean(v.Row.CWD), p.created", "\"\", p.created",
	},
	{
		"omp_manage/OMP-44", "repeated prompts are kept", "materializer/index/prompts.go",
		"if p.text == last.text {", "if p.text == \"-\" {",
	},
	{
		"omp_large/OMP-35", "a text that omp cut is another one", "core/dialect/omp/written.go",
		"longestText-noticeUnits)", "longestText)",
	},
	{
		"omp_large/OMP-36", "transient members are compared", "core/dialect/omp/written.go",
		"changed := n.drop(\"jsonlEvents\")", "changed := n.drop(\"-\")",
	},
	{
		"omp_large/OMP-37", "images of omp's store are not sent", "agent/images.go",
		"if err := sendImage(ctx, node, b); err != nil {", "if err := sendImage(ctx, node, b[:0]); err != nil {",
	},
	{
		"omp_large/OMP-37", "images are not kept apart", "core/image/image.go",
		"if len(data) < MinBlob {", "if len(data) >= 0 {",
	},
}
