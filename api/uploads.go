package api

import (
	"errors"
)

// The headers of tus, and the version of it that a node speaks.
const (
	HeaderTus            = "Tus-Resumable"
	HeaderUploadOffset   = "Upload-Offset"
	HeaderUploadLength   = "Upload-Length"
	HeaderUploadMetadata = "Upload-Metadata"
	HeaderUploadExpires  = "Upload-Expires"

	TusVersion    = "1.0.0"
	TusExtensions = "creation,expiration,termination"
	PartType      = "application/offset+octet-stream"
)

// errNoUploads is a node that takes bodies whole alone.
var ErrNoUploads = errors.New("this node takes no uploads in parts")
