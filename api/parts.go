package api

import (
	"errors"

	"github.com/sesslog/sesslog/core"
)

// PartsType is the content type of a body that lists the parts of the content
// in place of the content itself. POST /v1/import and PUT /v1/blobs/{digest}
// accept it.
const PartsType = "application/vnd.sesslog.parts+json"

// PartMark is the first line of a part. The rest of the part is content. A blob
// without it is not a part, so callers cannot read other sessions' blobs by
// importing them.
const PartMark = "sesslog.part\n"

// MaxParts is how many parts a body may list.
const MaxParts = 4096

// Parts is a body of PartsType.
type Parts struct {
	// Parts are the digests of the parts, in order. Each part is a blob that
	// begins with the line sesslog.part.
	Parts []core.Digest `json:"parts"`
}

// ErrMissingParts says that the node does not have all parts of a body.
// Detail.Missing names the others.
var ErrMissingParts = errors.New("missing parts")
