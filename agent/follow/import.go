package follow

import (
	"bytes"
	"context"

	"github.com/sesslog/sesslog/api"
	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/dialect/omp"
	"github.com/sesslog/sesslog/core/lineage"
	"github.com/sesslog/sesslog/session"
)

// maxLateImports is how many imports of a file in a row may require that nothing
// else was stored in its session. Later ones only require that its own head has
// not moved, because other writers keep writing to the session.
const maxLateImports = 3

// importLines imports data and returns the head that the lines are on, if it is
// not main. Under a claim the import first fails on a conflict and then branches,
// because a claim that is over is no reason to branch.
func (m *merging) importLines(ctx context.Context, data []byte) (head string, err error) {
	o := m.importOptions()
	careful := o.Writer != "" || m.fl.cfg.Claims
	if careful {
		o.OnConflict = session.Fail
	}
	var done api.Imported
	send := func() (err error) {
		done, err = m.fl.cfg.Node.Import(ctx, bytes.NewReader(data), int64(len(data)), o)
		return err
	}
	err = m.fl.request(m.f, send)
	if m.isOver(o.Writer, err) {
		return "", errChanged
	}
	if careful && err != nil && !isTransient(err) && !isStopped(err) && !isStale(err) {
		o.OnConflict = session.Branch
		err = m.fl.request(m.f, send)
	}
	if isStale(err) || o.Head != "" && isMoved(err) && !contradicts(err) {
		m.f.lateImports++
		return "", errChanged
	}
	if err != nil {
		return "", err
	}
	m.f.lateImports = 0
	m.made = m.made || done.Created
	m.setHead(done.Head)
	return done.Head, nil
}

func (m *merging) importOptions() client.ImportOptions {
	o := client.ImportOptions{Dialect: m.d.Name(), By: m.fl.cfg.By, OnConflict: session.Branch, Writer: m.writer()}
	if parent, ok := omp.SubagentOf(m.f.path); ok && m.d.Name() == "omp" {
		o.Parent, o.Kind = string(core.SessionIDFor("omp", parent)), string(lineage.Subagent)
	}
	if !isDocument(m.f.path) {
		o.After = m.at.String()
	}
	if m.f.lateImports >= maxLateImports && m.at != (core.Cursor{}) {
		o.Head = m.head()
	}
	return o
}
