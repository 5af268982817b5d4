package stage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/trkr-dev/trkr-validate/attest"
	"github.com/trkr-dev/trkr-validate/ticket"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// keep writes the record to the run folder and commits validation.md to the ticket's branch, unless the last one there
// already says the same. The run folder comes first: whatever happens to the commit, the record is not lost.
func (r *run) keep(ctx context.Context) error {
	if err := r.sign(); err != nil {
		return err
	}
	if err := r.writeRecord(); err != nil {
		return err
	}
	if r.req.NoCommit || r.req.AllowDirty || !r.req.Config.Validate.Commit || r.ticket.Branch == "" || len(r.req.Only) > 0 {
		return nil
	}
	where := path.Join(r.ticket.Dir, "validation.md")
	switch last, err := r.repo.File(ctx, r.ticket.Commit, where); {
	case err == nil:
		if rec, err := verdict.ParseMarkdown(last); err == nil && rec.SaysTheSame(r.record) && r.signedAlready(rec) {
			r.recorded = &Recorded{Path: where}
			return nil
		}
	case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ticket.ErrNotRegular): // a link there is no verdict; it is replaced
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

// sign puts the caller's signature to the record. What a build on this machine may have read signs nothing, unless the
// caller says so.
func (r *run) sign() error {
	if r.req.Signer == nil {
		return nil
	}
	if r.record.Build.Where != "container" && !r.req.SignHost {
		r.hints = append(r.hints, "the record is not signed: the build ran on this machine, where it could have read the key; --sign-host-build signs it all the same")
		return nil
	}
	envelope, err := r.req.Signer.Sign(r.record)
	if err != nil {
		return err
	}
	r.record.Attestation = envelope
	return nil
}

// signedAlready reports whether a record that says the same need not be replaced: where this one is signed, that one
// has to be signed by the same key.
func (r *run) signedAlready(last verdict.Record) bool {
	if r.record.Attestation == nil {
		return true
	}
	_, err := attest.Keys{r.req.Signer.Public()}.Check(last)
	return err == nil
}
