package core

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// MinBlob is how many base64 characters an image must have to be stored as a
// separate blob.
const MinBlob = 1024

// In the log, the data of an image is either "blob:sha256:<hash>", written by
// Externalize, or what the agent wrote. A string of the agent's that itself
// begins with "blob:" is stored after keepPrefix, so that the two can always be
// told apart.
const (
	blobPrefix = "blob:sha256:"
	anyPrefix  = "blob:"
	keepPrefix = "blob:keep:"
)

// A Blob is bytes on their way to a store that knows them by their digest.
type Blob struct {
	Digest Digest
	Bytes  []byte
}

// Externalize returns line as the log stores it. In every JSON object with
// "type":"image", a "data" of MinBlob base64 characters or more becomes
// "blob:sha256:<digest of the decoded bytes>", and so does each text in its
// "images", without a "data:…;base64," prefix. Only base64 that encoding
// reproduces exactly is replaced, so Inline restores the line byte for byte. A
// line without such images, or that is not JSON, is returned unchanged.
func Externalize(line []byte) ([]byte, []Blob) {
	if !mayHoldImage(line) {
		return line, nil
	}
	var blobs []Blob
	out, _ := rewriteImages(line, func(data []byte) ([]byte, error) {
		if bytes.HasPrefix(data, []byte(anyPrefix)) {
			return slices.Concat([]byte(keepPrefix), data), nil
		}
		if len(data) < MinBlob {
			return nil, nil
		}
		raw, err := base64.StdEncoding.Strict().AppendDecode(nil, data)
		if err != nil {
			return nil, nil // not ours to touch
		}
		d := DigestOf(raw)
		blobs = append(blobs, Blob{d, raw})
		return []byte(anyPrefix + d.String()), nil
	})
	return out, blobs
}

// mayHoldImage is a quick look for the word "image", plain or with escapes.
func mayHoldImage(line []byte) bool {
	return bytes.Contains(line, []byte("image")) || bytes.Contains(line, []byte(`\u`))
}

// Inline returns the line that Externalize was given. get returns the bytes of
// a blob; its error ends the call.
func Inline(line []byte, get func(Digest) ([]byte, error)) ([]byte, error) {
	if !bytes.Contains(line, []byte(anyPrefix)) {
		return line, nil
	}
	return rewriteImages(line, func(data []byte) ([]byte, error) {
		if kept, ok := bytes.CutPrefix(data, []byte(keepPrefix)); ok {
			return kept, nil
		}
		d, err := blobOf(data)
		if err != nil {
			return nil, nil
		}
		raw, err := get(d)
		if err != nil {
			return nil, fmt.Errorf("image %s: %w", d, err)
		}
		return base64.StdEncoding.AppendEncode(nil, raw), nil
	})
}

// Blobs returns the digests of the images that the session's lines keep
// elsewhere, and of its original, sorted, each once.
func (s *State) Blobs() []Digest {
	seen := map[Digest]bool{}
	for i := range s.Entries {
		for _, d := range BlobsOf(s.Entries[i].Line) {
			seen[d] = true
		}
	}
	if !s.Origin.Original.IsZero() {
		seen[s.Origin.Original] = true
	}
	out := make([]Digest, 0, len(seen))
	for d := range seen {
		out = append(out, d)
	}
	slices.SortFunc(out, func(a, b Digest) int { return bytes.Compare(a[:], b[:]) })
	return out
}

// BlobsOf returns the digests of the images that line keeps elsewhere.
func BlobsOf(line []byte) []Digest {
	if !bytes.Contains(line, []byte(blobPrefix)) {
		return nil
	}
	var ds []Digest
	_, _ = rewriteImages(line, func(data []byte) ([]byte, error) {
		if d, err := blobOf(data); err == nil {
			ds = append(ds, d)
		}
		return nil, nil
	})
	return ds
}

// Resolve is Inline for JSON of an agent that keeps images in a store of its
// own, as "blob:sha256:<hash>": it inlines those images, too. An image for
// which get returns ErrNotFound stays a reference, as with the agent itself: an
// entry may name images in members that only a context shows to be images, and
// that Externalize therefore left alone. Any other error of get ends the call.
func Resolve(v []byte, get func(Digest) ([]byte, error)) ([]byte, error) {
	if !bytes.Contains(v, []byte(anyPrefix)) {
		return v, nil
	}
	return rewriteImages(v, func(data []byte) ([]byte, error) {
		own, kept := bytes.CutPrefix(data, []byte(keepPrefix))
		d, err := blobOf(own)
		if err == nil {
			var raw []byte
			if raw, err = get(d); err == nil {
				return base64.StdEncoding.AppendEncode(nil, raw), nil
			}
			if !errors.Is(err, ErrNotFound) {
				return nil, fmt.Errorf("image %s: %w", d, err)
			}
		}
		if kept {
			return own, nil
		}
		return nil, nil
	})
}

// ImportImageRefs turns references to images in an agent's own store into
// references of the log, if has reports that the log has the image. Inline then
// restores the image. Other references stay. line is as the log stores it.
func ImportImageRefs(line []byte, has func(Digest) bool) ([]byte, error) {
	if !bytes.Contains(line, []byte(keepPrefix+blobPrefix)) {
		return line, nil
	}
	return rewriteImages(line, func(data []byte) ([]byte, error) {
		own, ok := bytes.CutPrefix(data, []byte(keepPrefix))
		d, err := blobOf(own)
		if !ok || err != nil || !has(d) {
			return nil, nil
		}
		return own, nil
	})
}

func blobOf(data []byte) (Digest, error) {
	if !bytes.HasPrefix(data, []byte(blobPrefix)) {
		return Digest{}, ErrInvalid
	}
	return ParseDigest(string(data[len(anyPrefix):]))
}

// rewriteImages passes the raw text between the quotes of each "data" of each
// image object to change, and replaces it by the result unless that is nil.
// Only errors of change are returned: a line that is not JSON has no images.
func rewriteImages(line []byte, change func(data []byte) ([]byte, error)) ([]byte, error) {
	spans, err := imageSpans(line)
	if err != nil || len(spans) == 0 {
		return line, nil
	}
	var out []byte
	done := 0
	for _, sp := range spans {
		repl, err := change(line[sp.from:sp.to])
		if err != nil {
			return nil, err
		}
		if repl == nil {
			continue
		}
		out = append(out, line[done:sp.from]...)
		out = append(out, repl...)
		done = sp.to
	}
	if done == 0 {
		return line, nil
	}
	return append(out, line[done:]...), nil
}

type span struct{ from, to int }

// An object or array that the scan is inside of.
type scope struct {
	array  bool
	images bool // the array is an object's "images"
	image  bool // the object's last "type" is "image"
	data   []span
	name   string // of the member whose value comes next, once named
	named  bool
}

// imageSpans finds the base64 of every object that has "type":"image", in
// order: the text of its "data", and of the strings in its "images". What makes an object an image is its type alone,
// never its data, so the same spans are found before and after a rewrite.
func imageSpans(line []byte) ([]span, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(line), lenient...)
	var scopes []scope
	var found []span
	for {
		kind := d.PeekKind()
		var text jsontext.Value
		var err error
		if kind == '"' {
			text, err = d.ReadValue()
		} else {
			_, err = d.ReadToken()
		}
		if err == io.EOF && len(scopes) == 0 {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("not JSON: %s: %w", jsonReason(err), ErrInvalid)
		}
		switch kind {
		case '{', '[':
			scopes = append(scopes, scope{array: kind == '[', images: kind == '[' && inImages(scopes)})
			continue
		case '}', ']':
			top := scopes[len(scopes)-1]
			scopes = scopes[:len(scopes)-1]
			if top.image {
				found = append(found, top.data...)
			}
		}
		n := len(scopes)
		switch {
		case n == 0:
		case !scopes[n-1].array:
			scopes[n-1].read(text, int(d.InputOffset()))
		case scopes[n-1].images && text != nil:
			scopes[n-2].data = append(scopes[n-2].data, pictureSpan(text, int(d.InputOffset())))
		}
	}
	slices.SortFunc(found, func(a, b span) int { return a.from - b.from })
	return found, nil
}

// inImages reports whether the value that begins is an object's "images".
func inImages(scopes []scope) bool {
	n := len(scopes)
	return n > 0 && !scopes[n-1].array && scopes[n-1].named && scopes[n-1].name == "images"
}

// pictureSpan is the position of the base64 in a raw string that ends at end:
// all of it, or what follows "data:image/png;base64,".
func pictureSpan(text jsontext.Value, end int) span {
	const mark = ";base64,"
	sp := span{end - len(text) + 1, end - 1}
	if raw := text[1:]; bytes.HasPrefix(raw, []byte("data:")) {
		if i := bytes.Index(raw, []byte(mark)); i >= 0 {
			sp.from += i + len(mark)
		}
	}
	return sp
}

// read notes a member's name, or the value that follows it. text is the raw
// string that ends at end, or nil if the value is not a string.
func (sc *scope) read(text jsontext.Value, end int) {
	if !sc.named {
		sc.name, _ = Text(text)
		sc.named = true
		return
	}
	sc.named = false
	switch sc.name {
	case "type":
		s, _ := Text(text)
		sc.image = s == "image"
	case "data":
		if text != nil {
			sc.data = append(sc.data, span{end - len(text) + 1, end - 1})
		}
	}
}
