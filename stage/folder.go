package stage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/trkr-dev/trkr-validate/internal/bound"
	"github.com/trkr-dev/trkr-validate/internal/event"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/internal/ownfolder"
	"github.com/trkr-dev/trkr-validate/internal/redact"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// Where a run keeps things, below the repository's main worktree. Both ignore themselves.
const (
	runsDir  = ".trkr/runs"
	boxesDir = ".trkr/validate"
)

// logLimit bounds build.log and transcript.log each; the verdict never depends on what is beyond.
const logLimit = 64 << 20

const folderHint = ownfolder.Hint

// folder is the run folder. Its files belong to this program: they are made new and never followed.
type folder struct {
	path       string
	root       *os.Root
	events     *event.File
	transcript io.Writer
	build      io.Writer
	closers    []func() error
}

func newFolder(root *os.Root, id string, secrets *redact.Redactor) (*folder, error) {
	dir := path.Join(runsDir, id)
	if err := root.Mkdir(dir, 0o755); err != nil {
		return nil, fault.Env("folder", fmt.Errorf("making the run folder: %w", err), folderHint)
	}
	own, err := root.OpenRoot(dir)
	if err != nil {
		return nil, fault.Env("folder", fmt.Errorf("opening the run folder: %w", err), folderHint)
	}
	f := &folder{path: filepath.Join(root.Name(), filepath.FromSlash(dir)), root: own}
	if err := f.open(secrets); err != nil {
		return nil, errors.Join(fault.Env("folder", err, folderHint), f.Close())
	}
	return f, nil
}

func (f *folder) open(secrets *redact.Redactor) error {
	events, err := f.root.OpenFile("events.jsonl", os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if f.events, err = event.OpenFile(events, secrets); err != nil {
		return err
	}
	for name, to := range map[string]*io.Writer{"build.log": &f.build, "transcript.log": &f.transcript} {
		file, err := f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		limited := bound.NewWriter(file, logLimit)
		w := secrets.Writer(limited)
		f.closers = append(f.closers, func() error {
			err := w.Close()
			if n := limited.Dropped(); n > 0 {
				_, ferr := fmt.Fprintf(file, "\n[%d more bytes were left out]\n", n)
				err = errors.Join(err, ferr)
			}
			return errors.Join(err, file.Close())
		})
		*to = &locked{w: w}
	}
	return nil
}

// stands makes sure that the folder is still where it was made: a build may have removed all that git does not track.
func (f *folder) stands() error {
	own, err := f.root.Stat(".")
	if err != nil {
		return fault.Env("folder", err, folderHint)
	}
	if named, err := os.Lstat(f.path); err != nil || !os.SameFile(own, named) {
		return fault.Envf("run_folder_gone", []string{"let the build leave .trkr alone, for example: git clean -fdx -e .trkr"}, "the build removed or moved the run folder %s", f.path)
	}
	return nil
}

// write puts one whole file into the folder.
func (f *folder) write(name string, content []byte) error {
	if err := f.root.WriteFile(name, content, 0o644); err != nil {
		return fault.Env("folder", fmt.Errorf("writing %s: %w", filepath.Join(f.path, name), err), folderHint)
	}
	return nil
}

// writeRecord keeps the record and what is rendered from it, and returns the names of the acceptance reviews.
func (f *folder) writeRecord(rec verdict.Record) (reviews []string, err error) {
	raw, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return nil, err
	}
	if err := f.write("record.json", append(raw, '\n')); err != nil {
		return nil, err
	}
	if rec.Attestation != nil {
		envelope, err := json.MarshalIndent(rec.Attestation, "", "  ")
		if err != nil {
			return nil, err
		}
		if err := f.write("attestation.json", append(envelope, '\n')); err != nil {
			return nil, err
		}
	}
	junit, err := rec.JUnit()
	if err != nil {
		return nil, err
	}
	if err := f.write("junit.xml", junit); err != nil {
		return nil, err
	}
	texts, err := rec.Reviews()
	if err != nil {
		return nil, err
	}
	for i, text := range texts {
		name := fmt.Sprintf("acceptance-review-%d.json", i+1)
		if err := f.write(name, text); err != nil {
			return reviews, err
		}
		reviews = append(reviews, name)
	}
	return reviews, nil
}

// Close flushes and closes everything. What could not be written is an error.
func (f *folder) Close() error {
	var errs []error
	for _, closer := range f.closers {
		errs = append(errs, closer())
	}
	if f.events != nil {
		errs = append(errs, f.events.Close())
	}
	return errors.Join(append(errs, f.root.Close())...)
}

// lock takes a lock below boxesDir, waiting at most Wait for the run that holds it. No issue id begins with a dot, so
// the name meets no ticket's folder. what says whose lock it is. A branch or a build may have put anything there: a link
// is not followed, and a pipe not waited for.
func (r *run) lock(ctx context.Context, name, what string) error {
	name = filepath.Join(filepath.Dir(r.input), ".lock."+name)
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return fault.Envf("unsafe_folder", []string{"remove it; the program keeps its own files there"}, "%s is no regular file", name)
	}
	l := flock.New(name)
	ctx, cancel := context.WithTimeout(ctx, r.req.Wait)
	defer cancel()
	got, err := l.TryLock()
	if err == nil && !got && r.req.Wait > 0 {
		r.log.Warn().Stringer("wait", r.req.Wait).Msgf("another run of %s is going on; waiting", what)
		got, err = l.TryLockContext(ctx, 100*time.Millisecond)
	}
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fault.Env("lock", fmt.Errorf("locking %s: %w", name, err))
	}
	if !got {
		return fault.Envf("busy", []string{"wait for it to end, or give --wait 10m"}, "another run of %s is going on", what)
	}
	r.onClose(l.Close)
	return nil
}
