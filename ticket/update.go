package ticket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// update brings the file of a change and its index entry up to date in a worktree whose lock is held, and releases the
// lock, also when it fails. shared is what was just read of the repository's configuration; it is the main worktree's.
func (r *Repo) update(ctx context.Context, l lock, shared configured, c change) error {
	err := r.updateLocked(ctx, l, shared, c)
	if err != nil {
		err = fault.Env("worktree_stale", fmt.Errorf("the commit %s is made, but %q is not up to date: %w", short(c.commit), l.at.dir, err),
			"git -C "+shellQuote(l.at.dir)+" restore --source=HEAD --staged --worktree -- "+shellQuote(c.file))
	}
	return errors.Join(err, l.release())
}

func (r *Repo) updateLocked(ctx context.Context, l lock, conf configured, c change) (err error) {
	if l.at.gitDir != r.common {
		if conf, err = r.configured(ctx, l.at); err != nil {
			return err
		}
	}
	skip := false
	if conf.isTrue("core.sparsecheckout") {
		if skip, err = r.skips(ctx, l.at, c.file); err != nil {
			return err
		}
	}
	// A new entry: flags of the old one (assume-unchanged) would keep it as it was.
	args := []string{"update-index", "--add", "--cacheinfo", modeFile + "," + c.blob + "," + c.file}
	if skip {
		args = append(args, "--skip-worktree", "--", c.file)
	} else {
		same, err := r.putFile(ctx, l.at, conf.off, c)
		if err != nil {
			return err
		}
		if same {
			// With the file's times and size, so that the next git status need not read it.
			args = append(args, "--info-only", "--", c.file)
		}
	}
	return r.swapIndex(ctx, l, conf.off, args)
}

// putFile writes the file as a checkout would (line ends, encoding), without any filter program, and reports whether
// git would read it back as the committed one.
func (r *Repo) putFile(ctx context.Context, at place, off []string, c change) (same bool, err error) {
	content, err := r.git.output(ctx, call{at: at, env: off, args: []string{"cat-file", "--filters", "--path=" + c.file, c.blob}})
	if err != nil {
		return false, err
	}
	back, err := r.git.line(ctx, call{at: at, env: off, stdin: bytes.NewReader(content), args: []string{"hash-object", "--stdin", "--path=" + c.file}})
	if err != nil {
		return false, err
	}
	return back == c.blob, put(at.dir, c.file, content)
}

// swapIndex lets git change a copy of the index and puts that in the index's place. The lock that is held is ours, so
// no git has seen another index in between.
func (r *Repo) swapIndex(ctx context.Context, l lock, off, args []string) (err error) {
	index := filepath.Join(l.at.gitDir, "index")
	aside := filepath.Join(l.at.gitDir, scratchName())
	defer func() {
		if err != nil {
			_ = os.Remove(aside)
		}
	}()
	info, err := os.Lstat(index)
	switch {
	case errors.Is(err, fs.ErrNotExist): // nothing was ever checked out there
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%q is no regular file", index)
	default:
		if err := copyFile(index, aside); err != nil {
			return err
		}
		if err := os.Chmod(aside, info.Mode().Perm()); err != nil {
			return err
		}
	}
	env := append([]string{"GIT_INDEX_FILE=" + aside}, off...)
	if _, err := r.git.output(ctx, call{at: l.at, env: env, args: args}); err != nil {
		return err
	}
	return os.Rename(aside, index)
}

// skips reports whether the file belongs to the part that a sparse checkout leaves out: it does when everything else
// in its folder does.
func (r *Repo) skips(ctx context.Context, at place, file string) (bool, error) {
	out, err := r.git.output(ctx, call{at: at, args: []string{"ls-files", "-z", "-t", "--", path.Dir(file) + "/"}})
	if err != nil {
		return false, err
	}
	entries := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	for _, e := range entries {
		if !strings.HasPrefix(e, "S ") {
			return false, nil
		}
	}
	return true, nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
