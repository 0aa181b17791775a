package cli

import (
	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
)

// NullLeaf is the value of flags for the position before all entries.
const NullLeaf = "null"

// ViewFlags select the leaf from which a session is read.
type ViewFlags struct{ leaf, head string }

// Add adds the flags to cmd.
func (v *ViewFlags) Add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&v.leaf, "leaf", "", "read from the entry with this `ID`, or null for before all entries")
	cmd.Flags().StringVar(&v.head, "head", "", "read from the head `NAME` (default main)")
}

// HeadView is the view of a head, of main if it is empty.
func HeadView(head string) ViewFlags { return ViewFlags{head: head} }

// Check rejects --leaf together with --head.
func (v *ViewFlags) Check() error {
	if v.leaf != "" && v.head != "" {
		return Usagef("--leaf and --head exclude each other")
	}
	return nil
}

// Given reports whether a flag is set.
func (v *ViewFlags) Given() bool { return v.leaf != "" || v.head != "" }

// API returns the view of a request.
func (v *ViewFlags) API() client.View { return client.View{Leaf: v.leaf, Head: v.head} }

// ParseLeaf returns the leaf for the value of a flag.
func ParseLeaf(flag string) core.Leaf {
	if flag == NullLeaf {
		return core.NoLeaf
	}
	return core.LeafAt(flag)
}
