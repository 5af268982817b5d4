package stage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/trkr-dev/trkr-validate/verdict"
)

// keep commits validation.md to the ticket's branch, unless the last one there already says the same.
func (r *run) keep(ctx context.Context) error {
	if r.req.NoCommit || !r.req.Config.Validate.Commit || r.ticket.Branch == "" || len(r.req.Only) > 0 {
		return nil
	}
	where := path.Join(r.ticket.Dir, "validation.md")
	switch last, err := r.repo.File(ctx, r.ticket.Commit, where); {
	case err == nil:
		if rec, err := verdict.ParseMarkdown(last); err == nil && same(rec, r.record) {
			r.recorded = &Recorded{Path: where}
			return nil
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	content, err := r.record.Markdown()
	if err != nil {
		return fmt.Errorf("rendering validation.md: %w", err)
	}
	commit, err := r.repo.Record(ctx, r.ticket, content, fmt.Sprintf("validation of %s: %s", r.req.Issue, r.record.Outcome))
	if commit != "" { // also where only the worktree could not be brought up to date
		r.recorded = &Recorded{Commit: commit, Path: where}
	}
	if err != nil {
		return fmt.Errorf("committing %s: %w", where, err)
	}
	return nil
}

// same reports whether two records say the same of the same subject. Evidence may differ: it holds times.
func same(a, b verdict.Record) bool {
	return a.Issue == b.Issue && a.Outcome == b.Outcome &&
		a.Subject.Tree == b.Subject.Tree && a.Subject.ContractDigest == b.Subject.ContractDigest && a.Subject.ManifestDigest == b.Subject.ManifestDigest &&
		a.Config.Digest == b.Config.Digest &&
		slices.EqualFunc(a.Criteria, b.Criteria, func(x, y verdict.Criterion) bool { return x.ID == y.ID && x.Text == y.Text && x.Status == y.Status })
}
