package main

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// user is who the programs run as in an image, in deploy/k8s and in the
// Dockerfile.
const user = 65532

// makeImage makes one image for the platforms of builds. There is nothing in it
// but the programs, the public certificate authorities, a name for the user, and
// the directories that can be written.
func makeImage(builds []*build) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, b := range builds {
		img, err := imageOf(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.platform, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add:        img,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: b.os(), Architecture: b.arch()}},
		})
	}
	return index, nil
}

func imageOf(b *build) (v1.Image, error) {
	base, err := layer(rootFiles(), b.time())
	if err != nil {
		return nil, err
	}
	var bin []file
	for _, p := range programs {
		content, err := os.ReadFile(b.binary(p))
		if err != nil {
			return nil, err
		}
		bin = append(bin, file{name: "usr/local/bin/" + p, mode: 0o755, content: content})
	}
	own, err := layer(bin, b.time())
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	history := func(what string) v1.History { return v1.History{Created: v1.Time{Time: b.time()}, CreatedBy: what} }
	img, err = mutate.Append(img,
		mutate.Addendum{Layer: base, History: history("certificate authorities, user, directories")},
		mutate.Addendum{Layer: own, History: history(strings.Join(programs, ", "))})
	if err != nil {
		return nil, err
	}
	conf, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	conf = conf.DeepCopy()
	conf.OS, conf.Architecture, conf.Created = b.os(), b.arch(), v1.Time{Time: b.time()}
	conf.Config = v1.Config{
		User:         fmt.Sprintf("%d:%[1]d", user),
		Entrypoint:   []string{"/usr/local/bin/sessnode"},
		Env:          []string{"PATH=/usr/local/bin", "HOME=/data"},
		WorkingDir:   "/data",
		ExposedPorts: map[string]struct{}{"7433/tcp": {}, "6222/tcp": {}},
		StopSignal:   "SIGTERM",
		Labels: map[string]string{
			"org.opencontainers.image.title":       "sesslog",
			"org.opencontainers.image.description": "A node of a replicated log of agents' sessions",
			"org.opencontainers.image.version":     b.version(),
			"org.opencontainers.image.revision":    b.setting("vcs.revision"),
			"org.opencontainers.image.created":     b.time().Format(time.RFC3339),
			"org.opencontainers.image.source":      "https://" + b.info.Main.Path,
			"org.opencontainers.image.licenses":    "Apache-2.0",
		},
	}
	return mutate.ConfigFile(img, conf)
}

// rootFiles are those of an image beside the programs.
func rootFiles() []file {
	var authorities bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue // trusted for some names only, which a file cannot say
		}
		_ = pem.Encode(&authorities, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // to memory
	}
	return []file{
		{name: "etc/", mode: 0o755},
		{name: "etc/group", mode: 0o644, content: fmt.Appendf(nil, "sesslog:x:%d:\n", user)},
		{name: "etc/passwd", mode: 0o644, content: fmt.Appendf(nil, "sesslog:x:%d:%[1]d::/data:/\n", user)},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, content: authorities.Bytes()},
		{name: "data/", mode: 0o700, uid: user, gid: user},
		{name: "tmp/", mode: 0o1777},
	}
}

func layer(files []file, at time.Time) (v1.Layer, error) {
	var t bytes.Buffer
	if err := writeTar(&t, files, at); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(t.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
}

// writeLayout writes an image as an OCI layout in a tar file, which podman, skopeo,
// containerd, and docker with the store of containerd load under the name ref.
func writeLayout(index v1.ImageIndex, ref, path string) error {
	dir, err := os.MkdirTemp("", "sesslog-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	whole := mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), mutate.IndexAddendum{
		Add: index,
		Descriptor: v1.Descriptor{Annotations: map[string]string{
			"io.containerd.image.name":          ref, // for containerd, docker and podman
			"org.opencontainers.image.ref.name": ref,
		}},
	})
	if _, err := layout.Write(dir, whole); err != nil {
		return err
	}
	var files []file
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		files = append(files, file{name: filepath.ToSlash(rel), mode: 0o644, content: content})
		return err
	})
	if err != nil {
		return err
	}
	return create(path, writeTar, files, time.Unix(0, 0).UTC())
}

// push sends an image to a registry, with the credentials that docker login or
// podman login have left.
func push(ctx context.Context, index v1.ImageIndex, to string) error {
	ref, err := name.ParseReference(to)
	if err != nil {
		return err
	}
	return remote.WriteIndex(ref, index, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
}
