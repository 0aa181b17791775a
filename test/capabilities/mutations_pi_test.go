package capabilities

var piMutations = []mutation{
	{
		"pi_file/PI-01", "the folder is not named after the directory", "core/dialect/pi/filename.go",
		"return filename.Absolute(h.CWD), filename.Session(h)", "return filename.Absolute(\"\"), filename.Session(h)",
	},
	{
		"pi_file/PI-01", "the file is not named after its time", "core/dialect/internal/filename/filename.go",
		"return Bounded(when+\"_\", id, \".jsonl\")", "return Bounded(when[:0], id, \".jsonl\")",
	},
	{
		"pi_file/PI-02", "new headers have another version", "core/dialect/internal/jsonl/new.go",
		"strconv.Itoa(version)", "strconv.Itoa(version-1)",
	},
	{
		"pi_file/PI-03", "a header names no parent", "core/dialect/internal/jsonl/new.go",
		"if f.Parent != \"\" {", "if f.Parent == \"-\" {",
	},
	{
		"pi_file/PI-04", "ids are not filled in as pi's", "core/dialect/internal/frame/frame.go",
		"hex.EncodeToString(random[:4])", "hex.EncodeToString(random[:5])",
	},
	{
		"pi_file/PI-05", "messages of tools are not in the context", "core/dialect/pi/context.go",
		"for i, e := range chosen {", "for i, e := range chosen {\n\t\tif bytes.Contains(e.Line, []byte(\"toolResult\")) {\n\t\t\tcontinue\n\t\t}",
	},
	{
		"pi_file/PI-15", "a root has no parent member", "core/dialect/internal/jsonl/fill.go",
		"return []byte(\"null\")", "return nil",
	},
	{
		"pi_file/PI-36", "the header is an entry", "core/dialect/pi/file.go",
		"f.Entries, f.Lines = records[1:], f.Lines[1:]", "f.Entries = records",
	},
	{
		"pi_file/PI-39", "a line that is no JSON refuses the file", "core/dialect/pi/file.go",
		"if err != nil {\n\t\t\tf.Exact = false", "if err != nil {\n\t\t\treturn nil, err",
	},
	{
		"pi_file/PI-39", "a file needs no header", "core/dialect/pi/line.go",
		"return core.Header{}, fmt.Errorf(`it begins with type %q, a pi header has type \"session\": %w`, jsonl.Clip(e.Type, 40), core.ErrInvalid)",
		"return core.Header{ID: \"pi-headless\", Line: e.Line}, nil",
	},
	{
		"pi_file/PI-38", "an entry is written on two lines", "core/dialect/pi/item.go",
		"[]byte(`{\"type\":\"model_change\"`)", "[]byte(`{\"what\":\"model_change\"`)",
	},
	{
		"pi_entries/PI-06", "a change of the model has no provider", "core/dialect/pi/item.go",
		"\"provider\", it.Provider)", "\"provider\", \"\")",
	},
	{
		"pi_entries/PI-07", "levels have another name", "core/dialect/pi/item.go",
		"\"thinkingLevel\", level)", "\"level\", level)",
	},
	{
		"pi_entries/PI-08", "the agent's data of a compaction is lost", "core/dialect/internal/talk/write.go",
		"w.Raw(\"tokensBefore\", strconv.AppendInt(nil, it.Tokens, 10))\n\t\tw.summary(it)",
		"w.Raw(\"tokensBefore\", strconv.AppendInt(nil, it.Tokens, 10))",
	},
	{
		"pi_entries/PI-09", "the context does not tell what was left", "core/dialect/pi/message.go",
		"m.Set(\"fromId\", e.Get(\"fromId\"))", "m.Set(\"fromId\", e.Get(\"-\"))",
	},
	{
		"pi_entries/PI-10", "an extension's data is lost", "core/dialect/internal/talk/write.go",
		"w.Value(\"data\", it.Details)", "_ = it.Details",
	},
	{
		"pi_entries/PI-11", "custom messages are not in the context", "core/dialect/pi/message.go",
		"case \"custom_message\", \"branch_summary\", \"compaction\":\n\tdefault:", "case \"branch_summary\", \"compaction\":\n\tdefault:",
	},
	{
		"pi_entries/PI-12", "a label cannot be cleared", "core/dialect/internal/tree/label.go",
		"delete(labels, target)\n", "",
	},
	{
		"pi_entries/PI-12", "a label needs no target", "session/notes.go",
		"if err := b.mustHave(target); err != nil {", "if err := b.mustHave(target); err != nil && false {",
	},
	{
		"pi_entries/PI-13", "the first name stays", "core/dialect/pi/info.go",
		"for i := len(es) - 1; i >= 0; i-- {\n\t\tif es[i].Type != \"session_info\"", "for i := range es {\n\t\tif es[i].Type != \"session_info\"",
	},
	{
		"pi_entries/PI-18", "an append returns no id", "session/append.go",
		"ids = append(ids, b.entries[len(b.entries)-1].ID)", "ids = append(ids, \"\")",
	},
	{
		"pi_entries/PI-19", "an answer does not name its model", "core/dialect/internal/talk/write.go",
		"w.Text(\"model\", cmp.Or(it.Model, \"unknown\"))", "w.Text(\"model\", \"unknown\")",
	},
	{
		"pi_entries/PI-20", "only the lowest level is kept", "core/dialect/pi/item.go",
		"level := it.Text\n", "level := levels[0]\n",
	},
	{
		"pi_entries/PI-21", "a change of the model names no model", "core/dialect/pi/item.go",
		"\"modelId\", it.Model)", "\"modelId\", it.Provider)",
	},
	{
		"pi_entries/PI-22", "a compaction keeps nothing", "session/notes.go",
		"Text: summary, Target: firstKept,", "Text: summary,",
	},
	{
		"pi_entries/PI-23", "custom entries are none", "core/dialect/internal/talk/write.go",
		"w.Begin(\"custom\")", "w.Begin(\"usage\")",
	},
	{
		"pi_entries/PI-24", "names are not trimmed", "core/dialect/pi/write.go",
		"return jsonl.Trim(b.String())", "return b.String()",
	},
	{
		"pi_entries/PI-25", "custom messages are always hidden", "core/dialect/internal/talk/write.go",
		"!it.Hidden)", "false)",
	},
	{
		"pi_entries/PI-26", "a label is not written", "core/dialect/internal/jsonl/new.go",
		"if label != \"\" {", "if label == \"-\" {",
	},
	{
		"pi_entries/PI-33", "hidden messages are left out", "core/dialect/pi/message.go",
		"\tcase \"custom_message\":\n\t\tcontent", "\tcase \"custom_message\":\n\t\tif !o.Get(\"display\").Truthy() {\n\t\t\treturn nil, nil\n\t\t}\n\t\tcontent",
	},
	{
		"pi_entries/PI-34", "the model that answered last holds", "core/dialect/pi/context.go",
		"case \"model_change\":", "case \"-\":",
	},
	{
		"pi_entries/PI-34", "the level is unknown without one", "core/dialect/pi/context.go",
		"jsjson.Value(`\"off\"`), nil", "jsjson.Value(`null`), nil",
	},
	{
		"pi_entries/PI-35", "a compaction keeps nothing before it", "core/dialect/pi/compaction.go",
		"range path[k.from:k.at] {", "range path[k.at:k.at] {",
	},
	{
		"pi_entries/PI-35", "what follows a compaction is left out", "core/dialect/pi/compaction.go",
		"return append(chosen, path[k.at+1:]...), nil", "return chosen, nil",
	},
	{
		"pi_tree/PI-16", "an append does not move the leaf", "session/write.go",
		"\t\ts.leaf = s.d.Leaf(es)\n\t}\n}\n\n// send stores", "\t}\n}\n\n// send stores",
	},
	{
		"pi_tree/PI-27", "an entry is not found by its id", "session/read.go",
		"if id, ok := s.leaf.ID(); ok {\n\t\treturn s.entry(id)", "if id, ok := s.leaf.ID(); ok {\n\t\treturn s.entry(id + \"-\")",
	},
	{
		"pi_tree/PI-15", "an append continues at the last line", "session/append.go",
		"return &batch{s: s, leaf: s.leaf}", "return &batch{s: s, leaf: s.d.Leaf(s.entries)}",
	},
	{
		"pi_tree/PI-30", "a branch may lead nowhere", "session/branch.go",
		"if err := b.mustHave(id); err != nil {\n\t\t\treturn nil, err", "if err := b.mustHave(id); err != nil && false {\n\t\t\treturn nil, err",
	},
	{
		"pi_tree/PI-30", "a branch is not kept", "session/branch.go",
		"\t\ts.setLeaf(to)\n", "",
	},
	{
		"pi_tree/PI-28", "a path has only its end", "core/dialect/internal/tree/path.go",
		"for at >= 0 && !seen[at] {", "for at >= 0 && first == len(path) {",
	},
	{
		"pi_tree/PI-28", "children are those of the next entry", "core/tree/children.go",
		"row.Depth == depth+1", "row.Depth == depth+2",
	},
	{
		"pi_tree/PI-29", "children are in the order of the file", "core/dialect/internal/tree/tree.go",
		"t.sortByTime(c)", "_ = c",
	},
	{
		"pi_tree/PI-29", "orphans are not shown as roots", "core/dialect/internal/tree/tree.go",
		"if !ok || e.Parent == e.ID {", "if !ok && e.Parent != \"\" {\n\t\t\tcontinue\n\t\t}\n\t\tif !ok || e.Parent == e.ID {",
	},
	{
		"pi_tree/PI-29", "labels in the tree have no time", "core/dialect/internal/tree/tree.go",
		"if l.Time != \"\" {", "if l.Time == \"-\" {",
	},
	{
		"pi_tree/PI-31", "a session cannot stand before all entries", "session/branch.go",
		"s.setLeaf(core.NoLeaf)", "_ = core.NoLeaf",
	},
	{
		"pi_tree/PI-32", "a summary does not name what was left", "core/tree/branchsummary.go",
		"it.Target = id", "_ = id",
	},
	{
		"pi_tree/PI-32", "a summary is not below the entry that it continues", "session/branch.go",
		"return b.fill(line, from, \"\")", "return b.fill(line, b.leaf, \"\")",
	},
	{
		"pi_tree/PI-09", "a summary from before all entries names none", "core/dialect/internal/talk/write.go",
		"from = root", "from = \"-\"",
	},
	{
		"pi_manage/PI-17", "a directory that begins with a dot is stored as it is", "cmd/sessctl/internal/cli/directory.go",
		"return agent.RealDir(dir)", "_, err := agent.RealDir(dir)\n\t\treturn dir, err",
	},
	{
		"pi_manage/PI-17", "a session is never continued", "session/session.go",
		"if len(found) == 0 {", "if len(found) >= 0 {",
	},
	{
		"pi_manage/PI-17", "a copy keeps its directory", "session/fork.go",
		"Whole: true, CWD: cwd}, o)\n}\n\nfunc forkIn", "Whole: true}, o)\n}\n\nfunc forkIn",
	},
	{
		"pi_manage/PI-39", "a lazy session is stored at once", "session/write.go",
		"if !s.saved && !force && s.o.Lazy &&", "if !s.saved && !force && false &&",
	},
	{
		"pi_manage/PI-39", "a model's change counts as speech", "core/dialect/pi/rules.go",
		"return jsonl.Spoken(es, \"user\", \"assistant\")", "return len(es) > 0",
	},
	{
		"pi_manage/PI-14", "old files are not migrated", "core/dialect/internal/migrate/migrate.go",
		"if from >= newest {", "if from >= 0 {",
	},
	{
		"pi_manage/PI-14", "a compaction names no entry", "core/dialect/internal/migrate/migrate.go",
		"o.Set(\"firstKeptEntryId\", objects[int(f)].Get(\"id\"))", "_ = objects",
	},
	{
		"pi_manage/PI-14", "hook messages keep their role", "core/dialect/internal/migrate/migrate.go",
		"m.Set(\"role\", jsjson.Value(`\"custom\"`))", "_ = m",
	},
	{
		"pi_manage/PI-37", "a listing shows the first message", "cmd/sessctl/internal/read/ls.go",
		"cmp.Or(r.Name, r.First)", "cmp.Or(r.First, r.Name)",
	},
	{
		"pi_manage/PI-37", "names are not found", "materializer/index/where.go",
		"text := folded(f.Text)", "text := f.Text",
	},
}
