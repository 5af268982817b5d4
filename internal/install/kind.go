package install

import (
	"bytes"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/trkr-dev/trkr-validate/artifact"
	"github.com/trkr-dev/trkr-validate/internal/bound"
	"github.com/trkr-dev/trkr-validate/internal/pattern"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// formats of archives: what a name ends in, and how tar is told; no flag: not tar.
var formats = []struct{ suffix, flag string }{
	{".tar.gz", "-z"},
	{".tgz", "-z"},
	{".tar.bz2", "-j"},
	{".tbz2", "-j"},
	{".tar.xz", "-J"},
	{".txz", "-J"},
	{".tar.zst", "--zstd"},
	{".tar", "--"},
	{".zip", ""},
	{wheelSuffix, ""},
}

const wheelSuffix = ".whl"

// format tells by its name what an archive is.
func format(name string) (suffix, flag string, ok bool) {
	for _, f := range formats {
		if strings.HasSuffix(strings.ToLower(name), f.suffix) && len(path.Base(name)) > len(f.suffix) {
			return f.suffix, f.flag, true
		}
	}
	return "", "", false
}

// installable tells whether there is anything to install: archives, and no program beside them that is ready to run.
func installable(manifest []verdict.Entry) bool {
	archives := false
	for _, e := range manifest {
		if e.Type != "file" {
			continue
		}
		_, _, ok := format(e.Path)
		if !ok && e.Mode&0o111 != 0 {
			return false
		}
		archives = archives || ok
	}
	return archives
}

// archives are the files that an install takes, as paths inside the box.
type archives struct {
	kind    string
	files   []string
	sources []string // of KindPython: source distributions among files
}

// classify finds out what kind the archives are. Different kinds together could mean several things: that is a failure
// which says so.
func (i *installer) classify(ctx context.Context) (archives, *Failure, error) {
	var a archives
	var kinds []string
	for _, e := range i.req.Manifest {
		suffix, flag, ok := format(e.Path)
		if e.Type != "file" || !ok {
			continue
		}
		name, err := artifact.UnescapePath(e.Path)
		if err != nil {
			return archives{}, nil, err
		}
		file := path.Join(sandbox.Artifact, name)
		kind := KindArchive
		switch {
		case suffix == wheelSuffix:
			kind = KindPython
		case flag == "-z":
			var failure *Failure
			var err error
			if kind, failure, err = i.look(ctx, file); failure != nil || err != nil {
				return a, failure, err
			}
			if kind == KindPython {
				a.sources = append(a.sources, file)
			}
		}
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
		a.files = append(a.files, file)
	}
	if len(kinds) > 1 {
		slices.Sort(kinds)
		return a, &Failure{Missing: MissingChoice, Detail: "the artifact holds archives of different kinds (" + strings.Join(kinds, ", ") + ")"}, nil
	}
	a.kind = kinds[0]
	return a, nil, nil
}

// look lists a tarball to see what made it.
func (i *installer) look(ctx context.Context, file string) (string, *Failure, error) {
	line := "tar -tzf " + file
	kind := &kinds{}
	stderr := bound.NewBuffer(keepHead, keepTail)
	exit, err := i.exec(ctx, line, kind, stderr, "tar", "-tzf", file)
	switch {
	case err != nil:
		return "", nil, err
	case exit.Cause == sandbox.CauseOutput: // a long list: what npm or Python made shows at its beginning
	case !exit.Exited() || exit.Code != 0:
		return "", explain(line, "tar", exit, nil, stderr.Bytes()), nil
	}
	return kind.found(), nil, nil
}

// kinds reads the list of a tarball's members.
type kinds struct {
	held        []byte
	npm, python bool
}

var pkgInfo = pattern.Regexp(`^[^/]+/PKG-INFO$`)

func (k *kinds) Write(p []byte) (int, error) {
	for _, c := range p {
		if c != '\n' {
			if len(k.held) < 4096 {
				k.held = append(k.held, c)
			}
			continue
		}
		name := bytes.TrimPrefix(k.held, []byte("./"))
		k.npm = k.npm || string(name) == "package/package.json"
		k.python = k.python || pkgInfo().Match(name)
		k.held = k.held[:0]
	}
	return len(p), nil
}

func (k *kinds) found() string {
	switch {
	case k.npm:
		return KindNpm
	case k.python:
		return KindPython
	}
	return KindArchive
}
