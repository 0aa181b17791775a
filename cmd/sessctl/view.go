package main

import (
	"github.com/spf13/cobra"

	"github.com/sesslog/sesslog/api/client"
	"github.com/sesslog/sesslog/core"
)

// nullLeaf is how one writes the place before all entries.
const nullLeaf = "null"

// viewFlags say from where a session is read.
type viewFlags struct{ leaf, head string }

func (v *viewFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&v.leaf, "leaf", "", "read from the entry with this `ID`, or null for before all entries")
	cmd.Flags().StringVar(&v.head, "head", "", "read from the head `NAME` (default main)")
}

func (v *viewFlags) check() error {
	if v.leaf != "" && v.head != "" {
		return usagef("--leaf and --head exclude each other")
	}
	return nil
}

func (v *viewFlags) given() bool { return v.leaf != "" || v.head != "" }

func (v *viewFlags) api() client.View { return client.View{Leaf: v.leaf, Head: v.head} }

// leafOf returns the leaf that a flag names.
func leafOf(flag string) core.Leaf {
	if flag == nullLeaf {
		return core.NoLeaf
	}
	return core.LeafAt(flag)
}
