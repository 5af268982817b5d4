package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trkr-dev/trkr-validate/attest"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/ticket"
)

// maxKey is far more than any key's file holds.
const maxKey = 64 << 10

// signer reads the key that signs records, nil where none is named. A variable is taken out of the environment: nothing
// that is started later is given it.
func (a *app) signer(cmd *cobra.Command, o signOptions) (*attest.Signer, error) {
	if o.key == "" {
		if o.host {
			return nil, usage(cmd, errors.New("--sign-host-build goes with --sign-key"))
		}
		return nil, nil
	}
	text, err := a.keyText(o.key)
	if err != nil {
		return nil, fault.Usage("key_unreadable", fmt.Errorf("reading the key: %w", err), "--sign-key names a file that trkr-validate keys new made, or env:NAME")
	}
	s, err := attest.ParseSigner(text)
	if err != nil {
		return nil, fault.Usage("key_invalid", fmt.Errorf("reading the key %q: %w", o.key, err), "trkr-validate keys new FILE makes one, and so does openssl genpkey -algorithm ed25519")
	}
	return s, nil
}

func (a *app) keyText(name string) ([]byte, error) {
	if variable, ok := strings.CutPrefix(name, "env:"); ok {
		text := os.Getenv(variable)
		if text == "" {
			return nil, fmt.Errorf("the variable %q is not set", variable)
		}
		return []byte(text), os.Unsetenv(variable)
	}
	return readWhole(a.path(name), maxKey)
}

// readWhole reads a file that somebody named.
func readWhole(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s holds more than %d bytes", name, most)
	}
	return text, err
}

const trustedHint = "name a folder outside of the repository, or one as it is committed elsewhere: --trusted-keys origin/main:.trkr/keys"

// trusted reads the public keys (*.pub) of a folder: on the disk, or REV:DIR as committed. Whoever writes the ticket's
// branch must not choose them: a folder of a checkout is refused, and so is a commit that holds work of the ticket. t is
// nil where no ticket is meant. Without a folder there are none.
func (a *app) trusted(ctx context.Context, folder string, t *ticket.Ticket) (attest.Keys, error) {
	if folder == "" {
		return nil, nil
	}
	files, err := a.keyFiles(ctx, folder, t)
	if err != nil {
		return nil, err
	}
	keys := attest.Keys{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Ext(name) != ".pub" {
			continue
		}
		key, err := attest.ParsePublic(name, files[name])
		if err != nil {
			return nil, fault.Usage("key_invalid", fmt.Errorf("reading the trusted key %q: %w", name, err), "trkr-validate keys new FILE makes FILE.pub")
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, fault.Usagef("keys_missing", []string{"put FILE.pub there, as trkr-validate keys new FILE makes it"}, "%q holds no public key (*.pub)", folder)
	}
	return keys, nil
}

func (a *app) keyFiles(ctx context.Context, folder string, t *ticket.Ticket) (map[string][]byte, error) {
	dir := a.path(folder)
	info, err := os.Stat(dir)
	rev, in, committed := strings.Cut(folder, ":")
	switch {
	case err != nil && committed:
		return a.committedKeys(ctx, rev, in, t)
	case err != nil:
		return nil, fault.Usage("keys_missing", fmt.Errorf("reading the trusted keys: %w", err), trustedHint)
	case !info.IsDir():
		return nil, fault.Usagef("keys_missing", []string{trustedHint}, "%q is no folder", folder)
	}
	if t != nil {
		if err := a.outside(ctx, dir, t); err != nil {
			return nil, err
		}
	}
	entries, err := os.ReadDir(dir)
	files := map[string][]byte{}
	for _, e := range entries {
		if path.Ext(e.Name()) == ".pub" && err == nil {
			files[e.Name()], err = readWhole(filepath.Join(dir, e.Name()), maxKey)
		}
	}
	if err != nil {
		return nil, fault.Usage("keys_missing", fmt.Errorf("reading the trusted keys: %w", err))
	}
	return files, nil
}

// outside makes sure that a folder lies in no checkout that the ticket may have filled.
func (a *app) outside(ctx context.Context, dir string, t *ticket.Ticket) error {
	repo, err := ticket.Open(ctx, a.directory)
	if err != nil {
		return err
	}
	defer repo.Rest()
	_, inside := repo.Inside(dir)
	if t.Worktree != "" && !inside {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return fault.Usage("keys_missing", err)
		}
		rel, err := filepath.Rel(t.Worktree, real)
		inside = err == nil && filepath.IsLocal(rel)
	}
	if inside {
		return fault.Usagef("keys_untrusted", []string{trustedHint}, "%q lies in the checkout, where the ticket's branch may decide whose signature counts", dir)
	}
	return nil
}

func (a *app) committedKeys(ctx context.Context, rev, dir string, t *ticket.Ticket) (map[string][]byte, error) {
	repo, err := ticket.Open(ctx, a.directory)
	if err != nil {
		return nil, err
	}
	defer repo.Rest()
	commit, err := repo.Commit(ctx, rev)
	if err != nil {
		return nil, err
	}
	if t != nil {
		if own, err := repo.Holds(ctx, t, commit); err != nil || own {
			return nil, cmp.Or(err, fault.Usagef("keys_untrusted", []string{trustedHint}, "%q holds work of the ticket, which must not decide whose signature counts", rev))
		}
	}
	files, err := repo.Folder(ctx, commit, path.Clean(dir))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		return nil, fault.Usage("keys_missing", err, trustedHint)
	}
	return files, err
}
