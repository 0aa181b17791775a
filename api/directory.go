package api

import (
	"github.com/sesslog/sesslog/materializer"
)

// A Mark is a place among the changes of a node's directory.
type Mark = materializer.Mark

// A Sort is what a listing is ordered by.
type Sort = materializer.Sort

// Sorts are what a listing can be ordered by, States what sessions can be at.
var (
	Sorts  = materializer.Sorts
	States = materializer.States
)

// SearchQuery says what to search for, and in which sessions.
type SearchQuery = materializer.SearchQuery

// Hit is an entry that a search found.
type Hit = materializer.Hit
