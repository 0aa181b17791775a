package image_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/sesslog/sesslog/core"
	"github.com/sesslog/sesslog/core/image"
)

func roundTrip(t *testing.T, in []byte) (kept []byte, n int) {
	t.Helper()
	was := string(in)
	kept, blobs := image.Externalize(in)
	store := map[core.Digest][]byte{}
	for _, b := range blobs {
		if core.DigestOf(b.Bytes) != b.Digest {
			t.Errorf("blob %s has other bytes", b.Digest)
		}
		store[b.Digest] = b.Bytes
	}
	used := map[core.Digest]bool{}
	for _, d := range core.BlobsOf(kept) {
		used[d] = true
		if _, ok := store[d]; !ok {
			t.Errorf("the line names blob %s, which was not taken out of it\n%.300q", d, kept)
		}
	}
	if len(used) != len(store) {
		t.Errorf("the line names %d blobs, %d were taken out", len(used), len(store))
	}
	back, err := image.Inline(kept, func(d core.Digest) ([]byte, error) {
		b, ok := store[d]
		if !ok {
			t.Errorf("blob %s is asked for, which was not taken out", d)
		}
		return b, nil
	})
	if err != nil || string(back) != was {
		t.Errorf("%v\n%.300q\ncame back as\n%.300q", err, was, back)
	}
	if string(in) != was {
		t.Errorf("the line itself was changed")
	}
	return kept, len(blobs)
}

var (
	picture  = base64.StdEncoding.EncodeToString([]byte(strings.Repeat("some image ", 100)))
	blobName = "blob:sha256:" + strings.Repeat("0a", 32)
)

func TestExternalizeInlineRoundTrip(t *testing.T) {
	for in, blobs := range map[string]int{
		`{"type":"image","data":"` + picture + `"}`:                                                                 1,
		`{"data":"` + picture + `","type":"image"}`:                                                                 1,
		` {"a":[{"type":"image","data":"` + picture + `"},{"type":"image","data":"AAAA"}]} `:                        1,
		`[[{"type":"image","data":"` + picture + `","x":{"type":"image","data":"AA"}}]]`:                            1,
		`{"type":"image","x":{"type":"image","data":"` + picture + `"},"data":"` + picture + `"}`:                   2,
		`{"type":"image","data":"` + picture + `","data":"` + picture[4:] + `"}`:                                    2, // duplicate keys
		`{"type":"image","type":"text","data":"` + picture + `"}`:                                                   0,
		`{"type":"text","type":"image","data":"` + picture + `"}`:                                                   1,
		`{"type":"text","data":"` + picture + `"}`:                                                                  0,
		`{"type":"\u0069mage","data":"` + picture + `"}`:                                                            1,
		`{"\u0074ype":"image","d\u0061ta":"` + picture + `"}`:                                                       1,
		`{"type":"image","data":"` + blobName + `"}`:                                                                0,
		`{"type":"\u0069mage","data":"` + blobName + `"}`:                                                           0,
		`{"type":"image","data":"blob:keep:` + blobName + `"}`:                                                      0,
		`{"type":"image","data":"\u0062lob:sha256:"}`:                                                               0,
		`{"type":"image","data":"blob:"}`:                                                                           0,
		`{"type":"text","data":"` + blobName + `"}`:                                                                 0,
		`{"type":"image","data":"` + picture[:len(picture)-1] + `"}`:                                                0, // not whole
		`{"type":"image","data":"` + strings.Repeat("QQ==", 400) + `"}`:                                             0, // padding inside
		`{"type":"image","data":"` + strings.Repeat("A", 1023) + `B=="}`:                                            0, // loose bits
		`{"type":"image","data":"` + picture + `\n"}`:                                                               0,
		`{"type":"image","data":"` + picture + "\n" + `"}`:                                                          0, // not JSON
		`{"type":"image","data":"` + picture + `","x":"` + "\xff\xfe" + `"}`:                                        1,
		`{"type":"image","data":{"data":"` + picture + `"}}`:                                                        0,
		`{"type":"image","data":"` + picture + `"`:                                                                  0, // cut short
		`{"type":"image","data":"` + blobName + `"`:                                                                 0,
		`not JSON, image, ` + blobName:                                                                              0,
		`{"type":"image","images":["` + picture + `","data:image/png;base64,` + picture + `","AAAA"]}`:              2,
		`{"images":["data:x;base64,` + picture + `"],"type":"image"}`:                                               1,
		`{"type":"image","images":[["` + picture + `"],{"x":"` + picture + `"}],"pictures":["` + picture + `"]}`:    0,
		`{"type":"image","images":["` + blobName + `","data:a;base64,` + blobName + `","data:` + picture + `"]}`:    0,
		`{"type":"text","images":["` + picture + `"]}`:                                                              0,
		`{"type":"image","images":["` + picture + `"],"data":"` + picture + `","images":{"a":["` + picture + `"]}}`: 2,
		`["images",["` + picture + `"],{"type":"image","images":"` + picture + `","x":{"type":"image"}}]`:           0,
		`"image"`: 0, ``: 0,
	} {
		if _, n := roundTrip(t, []byte(in)); n != blobs {
			t.Errorf("%d images were taken out, want %d\n%.200q", n, blobs, in)
		}
	}
}

func FuzzExternalize(f *testing.F) {
	for _, s := range []string{
		`{"type":"image","data":"@"}`, `[{"type":"\u0069mage","data":"blob:@"},{"data":"blob:keep:","type":"image"}]`,
		`{"type":"image","data":"blob:sha256:@","data":"@","x":[{"type":"image","data":"~"}]}`, `{"type":"image" "data":"~"}`,
		`{"type":"image","images":["~","data:a;base64,~","data:a;base64,blob:@",["~"]]}`,
		"{\"type\":\"image\",\"data\":\"\xff\"}", `{"type":"image","type":1,"data":"~","type":"image"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		// Short stand-ins, so that the fuzzer need not find a whole image.
		s := strings.ReplaceAll(string(in), "~", picture)
		roundTrip(t, []byte(strings.ReplaceAll(s, "@", strings.Repeat("0a", 32))))
	})
}

// An image that only a context shows to be one, such as a frame of a compaction,
// is in no store of the log. The rest of the context can still be read.
func TestResolveKeepsMissingReferences(t *testing.T) {
	t.Parallel()
	here := core.DigestOf([]byte("here"))
	get := func(d core.Digest) ([]byte, error) {
		if d == here {
			return []byte("here"), nil
		}
		return nil, core.ErrNotFound
	}
	picture := func(data string) string { return `[{"type":"image","data":"` + data + `"}]` }
	gone := "blob:sha256:" + strings.Repeat("ab", 32)
	stored, _ := image.Externalize([]byte(picture(gone)))
	storedHere, _ := image.Externalize([]byte(picture("blob:" + here.String())))
	tests := []struct{ name, in, want string }{
		{"the agent's, here", string(storedHere), picture("aGVyZQ==")},
		{"the agent's, not here", string(stored), picture(gone)},
		{"made of another member, here", picture("blob:" + here.String()), picture("aGVyZQ==")},
		{"made of another member, not here", picture(gone), picture(gone)},
		{"no image", `{"a":"` + gone + `"}`, `{"a":"` + gone + `"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := image.Resolve([]byte(tt.in), get)
			if err != nil || string(got) != tt.want {
				t.Errorf("%v\ngot  %s\nwant %s", err, got, tt.want)
			}
		})
	}
}
