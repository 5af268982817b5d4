package stage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/ticket"
)

const (
	// settleLimit bounds putting files back after a run that failed or was interrupted.
	settleLimit = time.Minute
	// replacedDir is where the run folder keeps what files held that were put back.
	replacedDir = "replaced"
	// replacedLimit bounds it, in bytes. A file that finds no room there is left as it is.
	replacedLimit = 256 << 20
)

// settle puts the worktree back to its commit after a build that changed tracked files, and names them. It does so
// once, after the artifacts are sealed, or when nothing came of them. A worktree that no longer stands on the ticket's commit
// is an error and left alone: what was built is not what the verdict would be about. The change may be a person's, who
// worked there meanwhile: what the files held is kept. changed tells what is not as committed.
func (r *run) settle(ctx context.Context, changed func() ([]string, error)) error {
	if r.settled {
		return nil
	}
	err := r.repo.Unmoved(ctx, r.ticket)
	var changes []string
	if err == nil {
		changes, err = changed()
	}
	if err != nil && ctx.Err() != nil {
		return err // there is another chance
	}
	r.settled = true
	if err != nil && fault.Of(err).Code == ticket.CodeMoved {
		r.hints = append(r.hints, fmt.Sprintf("what the build changed in %q was not put back: git status there shows it", r.ticket.Worktree))
	}
	if err != nil {
		return err
	}
	var tracked, left []string
	for _, c := range changes {
		if _, was := slices.BinarySearch(r.dirty, c); was { // sorted, and long in a sparse checkout
			continue // somebody's work, whatever the build made of it
		}
		if r.artifacts.Tracked(c) {
			tracked = append(tracked, c)
		} else {
			left = append(left, c)
		}
	}
	if len(left) > 0 && !r.ticket.Temporary {
		r.hints = append(r.hints, fmt.Sprintf("the build left %s, which git does not ignore: list them in a .gitignore that is committed, or the next run is refused", some(left)))
	}
	if len(tracked) == 0 {
		return nil
	}
	if !r.ticket.Temporary {
		if tracked, err = r.keepReplaced(tracked); err != nil {
			return err
		}
	}
	r.note("validate.build", "the build changed tracked files, which were put back: "+some(tracked))
	return r.repo.Restore(ctx, r.ticket, tracked)
}

// keepReplaced copies what files hold into the run folder, and returns those that may be put back now.
func (r *run) keepReplaced(names []string) ([]string, error) {
	from, err := os.OpenRoot(r.ticket.Worktree)
	if err != nil {
		return nil, fmt.Errorf("keeping what the build changed: %w", err)
	}
	defer from.Close()
	room := int64(replacedLimit)
	var kept, stay []string
	any := false
	for _, name := range names {
		n, err := r.folder.keep(from, name, room)
		switch {
		case errors.Is(err, errNoRoom):
			stay = append(stay, name)
			continue
		case err != nil:
			return nil, fmt.Errorf("keeping what the build changed: %w", err)
		}
		room -= max(n, 0)
		any = any || n >= 0
		kept = append(kept, name)
	}
	if any {
		r.hints = append(r.hints, fmt.Sprintf("tracked files were put back after the build; what they held is kept in %s", filepath.Join(r.folder.path, replacedDir)))
	}
	if len(stay) > 0 {
		r.hints = append(r.hints, fmt.Sprintf("the build changed %s and left more than is kept: git restore puts them back", some(stay)))
	}
	return kept, nil
}

var errNoRoom = errors.New("more than is kept")

// keep copies a file or a link of a worktree into the folder and returns its bytes; -1 where nothing is there to keep.
func (f *folder) keep(from *os.Root, name string, room int64) (int64, error) {
	info, err := from.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir() {
		return -1, nil
	}
	if err != nil {
		return 0, err
	}
	to := path.Join(replacedDir, filepath.ToSlash(name))
	if err := f.root.MkdirAll(path.Dir(to), 0o755); err != nil {
		return 0, err
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := from.Readlink(name)
		if err != nil {
			return 0, err
		}
		return 0, f.root.WriteFile(to+".link", []byte(target), 0o644) // a link is not made anew: it may lead anywhere
	case !info.Mode().IsRegular():
		return -1, nil
	case info.Size() > room:
		return 0, errNoRoom
	}
	in, err := from.Open(name)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	out, err := f.root.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(out, io.LimitReader(in, room+1))
	if err = errors.Join(err, out.Close()); err == nil && n > room {
		err = errNoRoom
	}
	return n, err
}
