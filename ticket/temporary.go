package ticket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/internal/owner"
)

// A temporary worktree stands in a private folder of its own, TMPDIR/trkr-git-N/NAME. Beside the folder stands
// TMPDIR/trkr-git-N.owner, a symbolic link that leads nowhere: its target is the owner and the repository. A link is
// made with its content in one step, before the folder, and goes last; so whenever the program is killed, what is left
// can be found and told from what a live one uses. The other temporary folders of this package are made the same way.
const (
	temporaryPrefix = "trkr-git-"
	ownerSuffix     = ".owner"
)

// makeTemporary checks the ticket's commit out, detached, and makes that its worktree.
func (r *Repo) makeTemporary(ctx context.Context, t *Ticket) (err error) {
	folder, err := r.claim()
	if err != nil {
		return err
	}
	t.temp = folder
	defer func() {
		if err != nil {
			err = errors.Join(err, t.Close())
		}
	}()
	tree := filepath.Join(folder, filepath.Base(r.Root()))
	if t.gitDir, err = r.checkOut(ctx, tree, t.Commit); err != nil {
		return fmt.Errorf("making a temporary worktree of %s: %w", t.Commit, err)
	}
	t.Worktree, t.Temporary = tree, true
	return nil
}

// checkOut registers a worktree and then fills it: the configuration may say more there than it said before there was
// one (includeIf), and so it is asked in between. It returns the worktree's git directory.
func (r *Repo) checkOut(ctx context.Context, tree, commit string) (string, error) {
	conf, err := r.configured(ctx, r.shared())
	if err != nil {
		return "", err
	}
	_, err = r.git.output(ctx, call{at: r.shared(), env: conf.off, args: []string{
		"worktree", "add", "--quiet", "--detach", "--no-checkout", "--end-of-options", tree, commit,
	}})
	if err != nil {
		return "", err
	}
	at, err := r.inWorktree(ctx, tree)
	if err != nil {
		return "", err
	}
	if conf, err = r.configured(ctx, at); err != nil {
		return "", err
	}
	_, err = r.git.output(ctx, call{at: at, env: conf.off, slow: true, args: []string{
		"-c", "core.sparseCheckout=false", "-c", "core.sparseCheckoutCone=false", "reset", "--quiet", "--hard", "--no-recurse-submodules",
	}})
	return at.gitDir, err
}

// claim makes a temporary folder, and the link that says whose it is.
func (r *Repo) claim() (string, error) {
	folder, err := claimIn(os.TempDir(), r.common)
	if err != nil {
		return "", fault.Env("temporary_folder", fmt.Errorf("making a temporary folder: %w", err), "set TMPDIR to a folder that can be written")
	}
	return folder, nil
}

func claimIn(parent, common string) (string, error) {
	parent, err := filepath.Abs(parent)
	if err != nil {
		return "", err
	}
	if parent, err = filepath.EvalSymlinks(parent); err != nil {
		return "", err
	}
	for range 1000 {
		folder := filepath.Join(parent, fmt.Sprintf("%s%08x", temporaryPrefix, rand.Uint32()))
		err := os.Symlink(owner.Self().String()+common, folder+ownerSuffix)
		if errors.Is(err, fs.ErrExist) {
			continue
		} else if err != nil {
			return "", err
		}
		if err = os.Mkdir(folder, 0o700); err == nil {
			return folder, nil
		}
		if err := errors.Join(err, os.Remove(folder+ownerSuffix)); !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
	return "", errors.New("no free name")
}

// unclaim removes a temporary folder that holds no worktree.
func unclaim(folder string) error {
	return errors.Join(os.RemoveAll(folder), os.Remove(folder+ownerSuffix))
}

// removeTemporary removes a temporary worktree, first its files, then its registration, then the claim; a second try
// goes on where the first stopped.
func (r *Repo) removeTemporary(ctx context.Context, folder string) error {
	wrong := func(err error) error {
		return fault.Env("temporary_worktree", fmt.Errorf("removing the temporary worktree in %q: %w", folder, err), "remove the folder by hand, then: git worktree prune")
	}
	if err := removeAll(folder); err != nil {
		return wrong(err)
	}
	all, err := r.checkouts(ctx)
	if err != nil {
		return wrong(err)
	}
	for _, c := range all {
		if filepath.Dir(c.path) != folder {
			continue
		}
		// Twice: also where somebody locked it.
		if _, err := r.git.output(ctx, call{at: r.shared(), args: []string{"worktree", "remove", "--force", "--force", "--end-of-options", c.path}}); err != nil {
			return wrong(err)
		}
	}
	if err := os.Remove(folder + ownerSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return wrong(err)
	}
	return nil
}

// removeAll is os.RemoveAll for folders that a build made unwritable (module caches). It follows no link.
func removeAll(folder string) error {
	if err := os.RemoveAll(folder); err == nil {
		return nil
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	_ = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = root.Chmod(name, 0o700) // best effort: what stays shut is named below
			if err != nil {
				return nil
			}
		}
		return nil
	})
	if err := root.Close(); err != nil {
		return err
	}
	return os.RemoveAll(folder)
}

// Sweep removes what programs that no longer run left of this repository: temporary worktrees, and records that were
// cut short between the branch and its worktree, which it completes. It returns what it dealt with, one line each, and
// goes on after an error. It touches nothing of a live program or of another user.
func (r *Repo) Sweep(ctx context.Context) ([]string, error) {
	return r.sweep(ctx, os.TempDir())
}

func (r *Repo) sweep(ctx context.Context, temp string) ([]string, error) {
	var done []string
	var errs []error
	claims, err := filepath.Glob(filepath.Join(globQuote(temp), temporaryPrefix+"*"+ownerSuffix))
	if err != nil {
		errs = append(errs, err)
	}
	for _, claim := range claims {
		if !r.abandoned(claim) {
			continue
		}
		folder := strings.TrimSuffix(claim, ownerSuffix)
		if real, err := filepath.EvalSymlinks(filepath.Dir(folder)); err == nil {
			folder = filepath.Join(real, filepath.Base(folder))
		}
		if err := r.removeTemporary(ctx, folder); err != nil {
			errs = append(errs, err)
			continue
		}
		done = append(done, "temporary folder "+folder)
	}
	recovered, err := r.finishRecords(ctx)
	return append(done, recovered...), errors.Join(append(errs, err)...)
}

// abandoned reports whether the claim is ours, of this repository or of one that is no more, and its program is gone.
func (r *Repo) abandoned(claim string) bool {
	info, err := os.Lstat(claim)
	if err != nil {
		return false
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Getuid() {
		return false
	}
	target, err := os.Readlink(claim)
	if err != nil {
		return false
	}
	slash := strings.IndexByte(target, '/')
	if slash < 0 {
		return false
	}
	if common := target[slash:]; common != r.common {
		if _, err := os.Lstat(common); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	o, err := owner.Parse(target[:slash])
	return err == nil && !o.Alive()
}

func globQuote(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}
