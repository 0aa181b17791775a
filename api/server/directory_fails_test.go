package server_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/api/server"
	"github.com/sesslog/sesslog/core/report"
	"github.com/sesslog/sesslog/materializer"
	"github.com/sesslog/sesslog/materializer/index"
	"github.com/sesslog/sesslog/session/catalog"
)

func TestStatusAndDoctorReportThatTheDirectoryIsNotWritten(t *testing.T) {
	t.Parallel()
	var d *index.Index
	n := startNode(t, func(c *server.Config) { d = c.Directory })
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	d.Put(materializer.View{Row: catalog.Row{ID: "session-one", Dialect: "pi", Seq: 1}})
	d.Sync(t.Context())
	st, err := n.Status(t.Context())
	if err != nil || st.Healthy || !strings.Contains(st.Summary, "cannot be written") {
		t.Errorf("status: %q, healthy %v, %v", st.Summary, st.Healthy, err)
	}
	r, err := n.Doctor(t.Context(), false)
	if err != nil || !slices.ContainsFunc(r.Findings, func(f report.Finding) bool { return f.Check == "listing" && f.Level == report.Danger }) {
		t.Errorf("doctor: %+v, %v", r.Findings, err)
	}
}
