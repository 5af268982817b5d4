package images

import (
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// Kind is where an image comes from.
type Kind string

// Kinds of images. All but KindHost and KindRegistry are how the name begins, before a colon.
const (
	KindHost       Kind = "host"           // this machine's userland
	KindRegistry   Kind = "registry"       // a reference such as debian:12
	KindOCI        Kind = "oci"            // a folder that is an OCI image layout
	KindArchive    Kind = "docker-archive" // a file that docker save or an OCI exporter wrote
	KindDockerfile Kind = "dockerfile"     // a Dockerfile, built with BuildKit
	KindArtifact   Kind = "artifact"       // a tar of the artifact set: the product is the image
)

// Name is the name of an image, taken apart.
type Name struct {
	Kind Kind
	Path string // file or folder as it was given; of an artifact, within the artifact set
	Ref  string // of KindRegistry the reference; of KindOCI a tag or digest, or empty
}

// ParseName reads the name of an image. Whatever is wrong with it is a fault.Usage. It looks at no file.
func ParseName(text string) (Name, error) {
	if text == string(KindHost) {
		return Name{Kind: KindHost}, nil
	}
	kind, path, ok := strings.Cut(text, ":")
	n := Name{Kind: Kind(kind), Path: path}
	if ok {
		switch n.Kind {
		case KindOCI:
			return parseLayout(text, path)
		case KindArchive, KindDockerfile:
			if path == "" {
				return Name{}, invalidName("the image %q names no file", text)
			}
			return n, nil
		case KindArtifact:
			if !filepath.IsLocal(path) || filepath.Clean(path) == "." {
				return Name{}, invalidName("the image %q names no file of the artifact set", text)
			}
			return n, nil
		}
	}
	if _, err := name.ParseReference(text); err != nil || strings.HasPrefix(text, "-") {
		if err == nil {
			return Name{}, invalidName("the image %q begins with a dash", text)
		}
		return Name{}, invalidName("the image %q: %w", text, err)
	}
	return Name{Kind: KindRegistry, Ref: text}, nil
}

// parseLayout reads DIR, DIR:TAG and DIR@DIGEST. A colon in a folder's name is told from a tag's by a slash after it.
func parseLayout(text, path string) (Name, error) {
	n := Name{Kind: KindOCI, Path: path}
	if dir, digest, ok := strings.Cut(path, "@sha256:"); ok {
		n.Path, n.Ref = dir, "sha256:"+digest
		if _, err := v1.NewHash(n.Ref); err != nil {
			return Name{}, invalidName("the image %q: %w", text, err)
		}
	} else if i := strings.LastIndexByte(path, ':'); i > strings.LastIndexByte(path, '/') {
		n.Path, n.Ref = path[:i], path[i+1:]
		if n.Ref == "" {
			return Name{}, invalidName("the image %q ends in a colon and names no tag", text)
		}
	}
	if n.Path == "" {
		return Name{}, invalidName("the image %q names no folder", text)
	}
	return n, nil
}

func invalidName(format string, args ...any) error {
	return fault.Usagef("image_invalid", []string{
		`an image is "host", a reference such as debian:12 or registry.example.com/team/name@sha256:..., or one of ` +
			"oci:FOLDER[:TAG], docker-archive:FILE, dockerfile:FILE, artifact:FILE",
	}, format, args...)
}

// Local reports whether the name leads to files of this machine, which Path names.
func (n Name) Local() bool {
	return n.Kind == KindOCI || n.Kind == KindArchive || n.Kind == KindDockerfile
}

// In is Path, taken as relative to dir where it is not absolute.
func (n Name) In(dir string) string {
	if filepath.IsAbs(n.Path) {
		return filepath.Clean(n.Path)
	}
	return filepath.Join(dir, n.Path)
}
