package main

import (
	"context"
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/internal/bench"
)

// The growing session: its entries, and how often it is opened.
const (
	historyEntries = 10_000
	historyOpens   = 200
)

// openings is the output of bench open.
type openings struct {
	Openings  []bench.Opening `json:"openings"`
	Histories []bench.History `json:"histories"`
}

func openCmd(b *benchRun) *cobra.Command {
	var sizes []int
	var histories []uint
	cmd := &cobra.Command{
		Use:   "open",
		Short: "Open sessions, beside reading a file of the same lines",
		Long: `Opens sessions of growing size, compared with reading a file of the same lines. Also opens a session that stays at 10,000
entries while its history grows, with snapshots written and the log truncated: 200 times at each step, compared with
fetching and parsing its snapshot.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, n := range sizes {
				if n < 1 || n > 1_000_000 {
					return fmt.Errorf("--entries: %d is not from 1 to 1000000", n)
				}
			}
			var records []uint64
			for i, n := range histories {
				if n < 50 || n > 1_000_000 || i > 0 && n < histories[i-1] {
					return fmt.Errorf("--records: %d; use numbers from 50 to 1000000, the smallest first", n)
				}
				records = append(records, uint64(n))
			}
			return b.open(cmd.Context(), sizes, records)
		},
	}
	cmd.Flags().IntSliceVar(&sizes, "entries", []int{1_000, 10_000, 50_000, 200_000}, "sizes of the sessions to open, in entries")
	cmd.Flags().UintSliceVar(&histories, "records", []uint{100, 1_000, 10_000}, "lengths of the history at which the growing session is opened, in records")
	return cmd
}

func (b *benchRun) open(ctx context.Context, sizes []int, records []uint64) error {
	rig, err := bench.NewRig(ctx, b.dir, false)
	if err != nil {
		return err
	}
	defer rig.Close()
	var out openings
	if out.Openings, err = rig.Openings(ctx, sizes...); err != nil {
		return err
	}
	if out.Histories, err = rig.Histories(ctx, historyEntries, historyOpens, records...); err != nil {
		return err
	}
	if b.json {
		return json.NewEncoder(b.out).Encode(out)
	}
	w := tabwriter.NewWriter(b.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "OPENING\tKIB\tFILE, PARSED\tFROM THE LOG\tFROM A SNAPSHOT\tCONTEXT\tTIMES AS QUICK")
	for _, o := range out.Openings {
		fmt.Fprintf(w, "%d entries\t%d\t%s\t%s\t%s\t%s\t%.1f\n", o.Entries, o.Bytes>>10, short3(o.File), short3(o.Log), short3(o.Snap), short3(o.Context), o.Ratio)
	}
	fmt.Fprintln(w, "\nOPENING 10,000 ENTRIES AFTER\tSNAPSHOTS\tBYTES IN THE LOG\tSNAPSHOT, PARSED P50\tP99\tOPEN P50\tP99\tP99 TO SNAPSHOT P50")
	for _, h := range out.Histories {
		fmt.Fprintf(w, "%d records\t%d\t%d\t%s\t%s\t%s\t%s\t%.2f\n", h.Records, h.Snapshots, h.InLog, short3(h.Snapshot), short3(h.SnapshotP99), short3(h.P50), short3(h.P99), h.Ratio)
	}
	return w.Flush()
}
