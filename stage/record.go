package stage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/trkr-dev/trkr-validate/attest"
	"github.com/trkr-dev/trkr-validate/config"
	"github.com/trkr-dev/trkr-validate/gate"
	"github.com/trkr-dev/trkr-validate/internal/fault"
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
		if r.saysSoAlready(last) {
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

// Signable says whether runs of a configuration may be signed: what a build on this machine may have read signs nothing,
// unless the caller says so with host. The error is a fault.Usage.
func Signable(c config.Config, host bool) error {
	if c.Validate.BuildImage != "" || host {
		return nil
	}
	return fault.Usagef("key_exposed", []string{
		"--sign-host-build signs all the same: where the build's user cannot read the key",
		"validate.build_image names the image of a container to build in, which never sees the key",
	}, "--sign-key signs nothing that is built on this machine, where the build could read the key")
}

// sign puts the caller's signature to the record. That it may was settled before the build.
func (r *run) sign() error {
	if r.req.Signer == nil {
		return nil
	}
	envelope, err := r.req.Signer.Sign(r.record)
	if err != nil {
		return err
	}
	r.record.Attestation = envelope
	return nil
}

// saysSoAlready reports whether the validation.md that the branch holds need not be replaced: it says what this run says,
// and the gate takes it for a record of what was judged now, signed by the same key where this one is signed. Otherwise
// the gate would refuse it for ever, whatever a run says.
func (r *run) saysSoAlready(last []byte) bool {
	rec, err := verdict.ParseMarkdown(last)
	if err != nil || r.req.RecordAnew || !rec.SaysTheSame(r.record) {
		return false
	}
	now := gate.Now{
		Issue: r.req.Issue, Tree: r.ticket.Tree, Contract: r.contract, ConfigDigest: r.record.Config.Digest, OwnConfig: r.record.Config.OfBranch(),
		Inside:   true, // the same agents judged
		Manifest: r.record.Subject.Manifest, ImageDigest: r.record.Environment.ImageDigest, Time: r.record.StartedAt,
	}
	if r.req.Signer != nil {
		now.Keys = attest.Keys{r.req.Signer.Public()}
	}
	return len(gate.Judge(last, now).Refusals) == 0
}
