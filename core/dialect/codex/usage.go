package codex

import (
	"github.com/sesslog/sesslog/core/internal/jsjson"
	"github.com/sesslog/sesslog/core/item"
)

// usageOf returns what the answers of models in the session's own thread used,
// each answer once. Lines that a fork took over from another thread do not
// count, nor do those of sub-agents; those that a revert took back do. If the
// thread has no records of usage, because an older version wrote it, the last
// total counts.
func usageOf(t *thread) item.Usage {
	var sum, total item.Usage
	counted := map[string]bool{}
	own := t.ownThread()
	for _, r := range t.rollouts {
		if !r.own || r.meta.thread != own {
			continue
		}
		for _, l := range r.lines {
			switch p := payloadOf(l); {
			case l.Type == typeUsage:
				id := memberText(p, "response_id")
				if memberText(p, "thread_id") != own || id != "" && counted[id] {
					continue
				}
				counted[id] = true
				add(&sum, member(p, "usage"))
			case l.Type == typeEvent && member(p, "type").Is("token_count"):
				if all := member(member(p, "info"), "total_token_usage"); all.Kind() == '{' {
					total = item.Usage{}
					add(&total, all)
				}
			}
		}
	}
	if len(counted) > 0 {
		return sum
	}
	return total
}

// add adds a usage to u. Input tokens of Codex include those that were cached.
func add(u *item.Usage, v jsjson.Value) {
	n := func(name string) int64 {
		n, _ := count(member(v, name))
		return n
	}
	read, write := n("cached_input_tokens"), n("cache_write_input_tokens")
	u.Input += max(n("input_tokens")-read-write, 0)
	u.CacheRead += read
	u.CacheWrite += write
	u.Output += n("output_tokens")
}
