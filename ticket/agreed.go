package ticket

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/trkr-dev/trkr-validate/contract"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// unchanged makes sure that the contract is what was agreed: what the default branch holds, and what stood before each of
// the commits that fix it. left are the commits of the default branch where the ticket's history leaves it.
func (r *Repo) unchanged(ctx context.Context, t *Ticket, text Text, left []string, fixers []fixer) error {
	tips := slices.Compact(slices.Sorted(slices.Values(t.tips)))
	asked := append(append([]string{t.Commit}, tips...), left...)
	for _, c := range fixers {
		if c.before != "" {
			asked = append(asked, c.before)
		}
	}
	all, err := r.versions(ctx, asked, path.Join(t.Dir, ContractName))
	if err != nil {
		return partial(err)
	}
	ours, all := all[0], all[1:]
	if err := r.agreedBefore(ctx, t, text, ours, all[:len(tips)], all[len(tips):len(tips)+len(left)]); err != nil {
		return err
	}
	all = all[len(tips)+len(left):]
	for _, c := range fixers {
		var stood version // of a root there is none
		if c.before != "" {
			stood, all = all[0], all[1:]
		}
		if err := unchangedSince(t, text, ours, stood, c); err != nil {
			return err
		}
	}
	return nil
}

// agreedBefore makes sure that the contract, ours, is the one that the default branch holds for the ticket: at its tips,
// and where none of them has one, at the merge base, which is one of left.
func (r *Repo) agreedBefore(ctx context.Context, t *Ticket, text Text, ours version, tips, left []version) error {
	other := func(v version) bool {
		return v.contract != nil && v.contract.Digest() != text.Contract.Digest() || v.err != nil && (v.id != ours.id || text.Source != SourceCommit)
	}
	held, narrow := tips, []string{"merge-base", "--independent"} // a tip that is behind another one says what was agreed once
	if !slices.ContainsFunc(tips, func(v version) bool { return v.id != "" }) {
		held, narrow = left, []string{"merge-base", "--all", t.Commit}
	}
	if !slices.ContainsFunc(held, other) {
		return nil
	}
	if len(held) > 1 {
		out, err := r.git.line(ctx, call{at: r.shared(), args: append(narrow, t.tips...)})
		if err != nil {
			return fmt.Errorf("comparing the tips of the default branch: %w", err)
		}
		count := strings.Fields(out)
		held = slices.DeleteFunc(slices.Clone(held), func(v version) bool { return !slices.Contains(count, v.commit) })
	}
	i := slices.IndexFunc(held, other)
	if i < 0 {
		return nil
	}
	v := held[i]
	if v.err != nil {
		return partial(v.err)
	}
	return &verdict.Refusal{Reason: verdict.ContractChanged,
		Detail: fmt.Sprintf("%s is not what %q, the default branch, holds at %s:\n%s", path.Join(t.Dir, ContractName), t.base, short(v.commit), changes(*v.contract, text.Contract)),
		Hints: []string{
			fmt.Sprintf("begin with what was agreed: merge %q before the code, or bring it back: git checkout %s -- %s, and commit it", t.base, short(v.commit), shellQuote(path.Join(t.Dir, ContractName))),
			acceptHint(text.Contract.Digest()),
		}}
}

// version is a file that may hold a contract, as it is in a commit.
type version struct {
	commit   string
	id       string             // of the blob; empty: there is none
	contract *contract.Contract // nil: none that could be read, which nobody agreed to
	err      error              // the blob is not here
}

// versions reads a file of several commits, in one start of git.
func (r *Repo) versions(ctx context.Context, commits []string, file string) ([]version, error) {
	var asked []string
	names := strings.Split(file, "/")
	for _, c := range commits {
		asked = append(append(asked, chainOf(c, names)...), c+":"+file)
	}
	objects, err := r.objects(ctx, asked)
	if err != nil {
		return nil, err
	}
	all := make([]version, len(commits))
	for i, of := range slices.Collect(slices.Chunk(objects, len(names)+2)) {
		v := version{commit: commits[i]}
		e, data, err := fileOf(of, names)
		v.id = e.id
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, ErrNotRegular):
			v.id = ""
		case err != nil && e.id == "":
			return nil, err
		case err != nil:
			v.err = err
		default:
			if c, err := contract.Parse(data); err == nil {
				v.contract = &c
			}
		}
		all[i] = v
	}
	return all, nil
}
