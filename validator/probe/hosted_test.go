package probe

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/internal/scriptbox"
	"github.com/trkr-dev/trkr-validate/sandbox"
)

// hosted is a box whose one program really runs, as a process of this machine: what is not isolated here is our own.
type hosted struct {
	*scriptbox.Box
	t       *testing.T
	program string // its file on this machine
}

type hostedSession struct {
	sandbox.Session
	box  hosted
	spec sandbox.SessionSpec
	dir  string
}

func host(t *testing.T, program string) hosted {
	name := filepath.Base(program)
	return hosted{&scriptbox.Box{Path: "/usr/bin:/bin", Programs: map[string]string{name: sandbox.Artifact + "/" + name}}, t, program}
}

func (b hosted) Open(ctx context.Context, spec sandbox.SessionSpec) (sandbox.Session, error) {
	s, err := b.Box.Open(ctx, spec)
	return &hostedSession{s, b, spec, b.t.TempDir()}, err
}

func (s *hostedSession) Dir() string { return s.dir }

func (s *hostedSession) Run(ctx context.Context, c sandbox.Command) (sandbox.Exit, error) {
	name := c.Args[0]
	switch {
	case slices.Contains(s.spec.Decoys, name):
		return scriptbox.Exit(s.spec.DecoyExit), nil
	case name == filepath.Base(s.box.program):
		name = s.box.program
	case len(c.Args) == 3:
		return sandbox.Exit{}, errors.New("the shell would not find the program here")
	}
	cmd := exec.CommandContext(ctx, name, c.Args[1:]...)
	cmd.Env = append([]string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "HOME=" + s.dir}, c.Env...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = s.dir, c.Stdin, c.Stdout, c.Stderr
	began := time.Now()
	err := cmd.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended {
		return sandbox.Exit{}, err
	}
	return sandbox.Exit{Code: cmd.ProcessState.ExitCode(), Elapsed: time.Since(began)}, nil
}

func (s *hostedSession) Observe(_ context.Context, content int64, paths ...string) ([]sandbox.File, error) {
	files := make([]sandbox.File, len(paths))
	for i, p := range paths {
		files[i].Path = p
		info, err := os.Lstat(filepath.Join(s.dir, p))
		if errors.Is(err, os.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		f := &files[i]
		f.Mode, f.Type = uint32(info.Mode().Perm()), "file"
		if info.IsDir() {
			f.Type = "dir"
			continue
		}
		data, err := os.ReadFile(filepath.Join(s.dir, p))
		if err != nil {
			return nil, err
		}
		f.Size, f.Content = int64(len(data)), bytes.Clone(data[:min(int64(len(data)), content)])
	}
	return files, nil
}
