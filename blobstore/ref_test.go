package blobstore_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/blobstore"
)

const (
	// SHA-256 of "abc", from FIPS 180-2.
	abcDigits = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	abcRef    = "sha256:" + abcDigits
)

func TestRefOfKnownBytes(t *testing.T) {
	t.Parallel()
	ref := blobstore.RefOf([]byte("abc"))
	if ref.String() != abcRef {
		t.Errorf("String = %s", ref)
	}
	if want := "blobs/sha256/ba/" + abcDigits; ref.Key() != want {
		t.Errorf("Key = %s; want %s", ref.Key(), want)
	}
	if err := blobstore.CheckKey(ref.Key()); err != nil {
		t.Error(err)
	}
	if parsed, err := blobstore.ParseRef(abcRef); err != nil || parsed != ref {
		t.Errorf("ParseRef = %v, %v", parsed, err)
	}
}

func TestRefHasOneSpelling(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", "sha256:", abcDigits, "sha512:" + abcDigits, "SHA256:" + abcDigits, "sha256:" + strings.ToUpper(abcDigits),
		abcRef[:len(abcRef)-1], abcRef + "0", abcRef + "\n", " " + abcRef, abcRef[:len(abcRef)-1] + "g", strings.Repeat("x", 10_000),
	} {
		if ref, err := blobstore.ParseRef(s); !errors.Is(err, blobstore.ErrBadKey) || ref != (blobstore.Ref{}) {
			t.Errorf("ParseRef(%.80q) = %v, %v; want ErrBadKey", s, ref, err)
		} else if len(err.Error()) > 400 {
			t.Errorf("ParseRef(%.80q): the error has %d bytes", s, len(err.Error()))
		}
	}
}

func TestRefInJSON(t *testing.T) {
	t.Parallel()
	type manifest struct{ Blob blobstore.Ref }
	m := manifest{blobstore.RefOf([]byte("abc"))}
	p, err := json.Marshal(m)
	if err != nil || string(p) != `{"Blob":"`+abcRef+`"}` {
		t.Errorf("Marshal = %s, %v", p, err)
	}
	var back manifest
	if err := json.Unmarshal(p, &back); err != nil || back != m {
		t.Errorf("Unmarshal = %v, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`{"Blob":"sha256:x"}`), &back); err == nil || back != m {
		t.Errorf("Unmarshal of a bad ref = %v, %v", back, err)
	}
}

func FuzzParseRef(f *testing.F) {
	f.Add(abcRef)
	f.Add("sha256:")
	f.Fuzz(func(t *testing.T, s string) {
		if ref, err := blobstore.ParseRef(s); err == nil && ref.String() != s {
			t.Errorf("ParseRef(%q) = %s", s, ref)
		}
	})
}

func FuzzCheckKey(f *testing.F) {
	for _, key := range []string{"a/b", "../a", "a//b", ".tmp/x", "a/b/"} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if blobstore.CheckKey(key) != nil {
			return
		}
		if strings.HasPrefix(key, "/") || strings.Contains("/"+key+"/", "//") || strings.Contains("/"+key, "/.") || len(key) > blobstore.MaxKey {
			t.Errorf("CheckKey allows %q", key)
		}
		for i := range key {
			if err := blobstore.CheckPrefix(key[:i+1]); err != nil {
				t.Errorf("CheckPrefix rejects a prefix of %q: %v", key, err)
			}
		}
	})
}
