package api

import (
	"github.com/sesslog/sesslog/materializer/doctor"
)

// How bad a finding of an Examination is.
const (
	Note    = doctor.Note
	Warning = doctor.Warning
	Danger  = doctor.Danger
)
