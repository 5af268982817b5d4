package stage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/trkr-dev/trkr-validate/artifact"
	"github.com/trkr-dev/trkr-validate/build"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/internal/ownfolder"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/ticket"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// resolve finds the repository and the ticket, opens the run folder and takes the ticket's lock.
func (r *run) resolve(ctx context.Context) error {
	r.askEngine(ctx)
	repo, err := ticket.Open(ctx, r.req.Dir)
	if err != nil {
		return err
	}
	r.repo = repo
	r.onClose(func() error { repo.Rest(); return nil })
	root, err := os.OpenRoot(repo.Root())
	if err != nil {
		return fault.Env("folder", err)
	}
	r.onClose(root.Close)
	r.root = root
	if err := r.ownDirs(); err != nil {
		return err
	}
	if r.folder, err = newFolder(root, r.record.RunID, r.redact); err != nil {
		return err
	}
	r.events.Add(r.folder.events)
	r.input = filepath.Join(repo.Root(), filepath.FromSlash(boxesDir), r.req.Issue)
	if err := r.lock(ctx, r.req.Issue, "issue "+r.req.Issue); err != nil {
		return err
	}
	if swept, err := repo.Sweep(ctx); err != nil {
		r.log.Warn().Err(err).Msg("removing worktrees that were left behind")
	} else if len(swept) > 0 {
		r.log.Info().Strs("worktrees", swept).Msg("removed what was left behind")
	}
	cfg := r.req.Config.Ticket
	t, err := repo.Resolve(ctx, ticket.Query{
		Issue: r.req.Issue, Branch: r.req.Branch, Worktree: r.req.Worktree, Ref: r.req.Ref, Clean: r.req.Clean,
		BranchTemplate: cfg.Branch, DirTemplate: cfg.Dir, Base: cfg.Base,
	})
	if err != nil {
		return err
	}
	r.ticket = t
	r.onClose(t.Close)
	r.record.Subject.Branch, r.record.Subject.Commit, r.record.Subject.Tree = t.Branch, t.Commit, t.Tree
	if !t.Temporary { // two tickets may share a worktree, and would collect each other's artifacts
		sum := sha256.Sum256([]byte(t.Worktree))
		if err := r.lock(ctx, "worktree-"+hex.EncodeToString(sum[:8]), fmt.Sprintf("a ticket in %q", t.Worktree)); err != nil {
			return err
		}
	}
	return r.checkClean(ctx)
}

// ownDirs makes sure that the program's folders are folders. It is asked again after the build, which could put links
// there.
func (r *run) ownDirs() error {
	for _, dir := range []string{runsDir, boxesDir} {
		if err := ownfolder.Make(r.root, dir); err != nil {
			return err
		}
	}
	return nil
}

// passedThrough are the values that the build gets from the caller by name: they may be secrets.
func passedThrough(names, environ []string) []string {
	var values []string
	for _, n := range names {
		if strings.Contains(n, "=") {
			continue
		}
		for _, e := range environ {
			if v, ok := strings.CutPrefix(e, n+"="); ok {
				values = append(values, v)
			}
		}
	}
	return values
}

// checkClean refuses a worktree that does not hold what its commit holds: the verdict would be about something else.
// Where the caller allows it, the record says so instead.
func (r *run) checkClean(ctx context.Context) error {
	changes, err := r.repo.Changes(ctx, r.ticket)
	if err != nil {
		return err
	}
	if len(changes) == 0 {
		return nil
	}
	if r.req.AllowDirty {
		r.dirty, r.record.Subject.Dirty = changes, true
		r.log.Warn().Str("step", stepResolve).Msg("the worktree has changes that are not committed: " + some(changes))
		return nil
	}
	hints := append(r.tidy(changes),
		"--clean builds the commit in a temporary worktree instead",
		"--allow-dirty judges what stands there and commits nothing",
	)
	for _, glob := range r.req.Config.Validate.Artifacts {
		for _, c := range changes {
			if ok, _ := doublestar.Match(glob, c); ok {
				hints = append(hints, fmt.Sprintf("%q is what validate.artifacts matches: ignore it in .gitignore", c))
				break
			}
		}
	}
	return &verdict.Refusal{Reason: verdict.DirtyWorktree, Detail: fmt.Sprintf("%s has changes that are not committed: %s", r.ticket.Worktree, some(changes)), Hints: hints}
}

// some names the first few of a list.
func some(names []string) string {
	const most = 10
	quoted := make([]string, 0, most)
	for _, n := range names[:min(len(names), most)] {
		quoted = append(quoted, fmt.Sprintf("%q", n))
	}
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(quoted, ", "), more)
	}
	return strings.Join(quoted, ", ")
}

// checkConfig refuses what cannot be built, boxed or collected with any ticket.
func (r *run) checkConfig(ctx context.Context) error {
	if r.req.Signer != nil {
		if err := Signable(r.req.Config, r.req.SignHost); err != nil {
			return err
		}
	}
	v := r.req.Config.Validate
	used := []string{v.Image}
	if v.BuildImage != "" {
		used = append(used, v.BuildImage)
	}
	for _, image := range used {
		if err := r.checkImage(ctx, image); err != nil {
			return err
		}
	}
	if _, err := r.engineWorks(); err != nil { // now, and not after a long build
		return err
	}
	if fetcher, ok := r.req.Engine.(sandbox.Fetcher); ok {
		dir, err := r.imageDir()
		if err != nil {
			return err
		}
		for _, image := range used {
			if err := fetcher.Fetch(ctx, image, dir); err != nil {
				return err
			}
		}
	}
	if err := build.Required(runtime.GOOS+"/"+runtime.GOARCH, boxPlatform(), v.BuildImage, r.ticket.Worktree); err != nil {
		return err
	}
	var errs []error
	if v.Build == "" {
		errs = append(errs, build.Missing(r.ticket.Worktree))
	}
	if len(v.Artifacts) == 0 {
		errs = append(errs, &verdict.Refusal{
			Reason: verdict.ArtifactMissing, Detail: "validate.artifacts names nothing",
			Hints: []string{`name what the build makes, e.g. "artifacts": ["dist/*"]`},
		})
	}
	return errors.Join(errs...)
}

func (r *run) readContract(ctx context.Context) error {
	text, err := r.repo.Contract(ctx, r.ticket, r.issueBody())
	if err != nil {
		return err
	}
	r.contract = text.Contract
	r.record.Subject.ContractDigest, r.record.Subject.ContractSource = text.Contract.Digest(), text.Source
	note, err := r.repo.Fixed(ctx, r.ticket, text, r.req.Agreed)
	if err != nil {
		return err
	}
	if r.req.Agreed.Digest != "" {
		r.record.Subject.ContractAccepted = r.req.Agreed.By
	}
	if note != "" {
		r.note("contract", note)
	}
	for _, w := range text.Warnings {
		r.log.Warn().Str("step", stepContract).Msg(w.String())
	}
	for _, id := range r.req.Only {
		if _, ok := r.contract.Lookup(id); !ok {
			return fault.Usagef("unknown_assertion", []string{"trkr-validate contract show " + r.req.Issue}, "the contract has no %q", id)
		}
	}
	return nil
}

// issueBody is where the issue's body comes from; nil where nobody said.
func (r *run) issueBody() ticket.Body {
	command := r.req.Config.Issue.Command
	switch {
	case r.req.IssueBody != nil:
		return func(context.Context) ([]byte, error) { return r.req.IssueBody, nil }
	case r.req.FetchBody != nil:
		return r.req.FetchBody
	case command != "":
		return func(ctx context.Context) ([]byte, error) {
			return ticket.IssueBody(ctx, command, r.repo.Root(), r.req.Issue)
		}
	default:
		return nil
	}
}

// build makes the artifacts. What an earlier build left where the globs look is out of the way until the set is sealed:
// a build that makes nothing must not pass with it.
func (r *run) build(ctx context.Context) error {
	v := r.req.Config.Validate
	tracked, err := r.repo.Tracked(ctx, r.ticket)
	if err != nil {
		return err
	}
	r.artifacts = artifact.Options{
		Root: r.ticket.Worktree, Globs: v.Artifacts, AllowTracked: v.AllowTracked, Tracked: tracked,
		Staging: filepath.Dir(r.input), MaxBytes: v.Limits.Artifacts, MaxFiles: v.Limits.Files,
		Platform: boxPlatform(),
	}
	place, err := r.place()
	if err != nil {
		return err
	}
	env, err := place.Environment(r.req.Environ, v.Env, r.req.Issue, r.ticket.Branch, r.ticket.Commit)
	if err != nil {
		return err
	}
	aside, err := artifact.SetAside(ctx, r.artifacts)
	if err != nil {
		return err
	}
	r.onClose(aside.Restore)
	if kept := aside.Kept(); len(kept) > 0 {
		r.hints = append(r.hints, fmt.Sprintf("a run was killed here, and the artifacts from before it are back in their place; what stood there since is kept in %q: %s", r.ticket.Worktree, some(kept)))
	}
	r.onClose(func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleLimit)
		defer cancel()
		if err := r.settle(ctx, func() ([]string, error) { return r.repo.Changes(ctx, r.ticket) }); err != nil && fault.Of(err).Code != ticket.CodeMoved { // whoever looks at the commit next is told
			return err
		}
		return nil
	})
	r.artifacts.Stale = aside.Paths()
	r.repo.Rest()
	res, err := place.Run(ctx, build.Request{Dir: r.ticket.Worktree, Command: v.Build, Env: env, Timeout: v.BuildTimeout, Log: r.folder.build, Secrets: r.redact})
	r.record.Build = res.Where
	if len(res.Leftovers) > 0 {
		r.log.Warn().Strs("processes", res.Leftovers).Msg("the build left processes behind; they were ended")
	}
	if err != nil {
		return err
	}
	if len(res.Changed) > 0 {
		r.note("validate.build", "in its container the build changed tracked files, which are as they were in the worktree: "+some(res.Changed))
	}
	return aside.Built()
}

// collect seals what the build made.
func (r *run) collect(ctx context.Context) error {
	if err := r.folder.stands(); err != nil {
		return err
	}
	if err := r.ownDirs(); err != nil {
		return err
	}
	changed := later(r, func() ([]string, error) { return r.repo.Changes(ctx, r.ticket) })
	set, err := artifact.Collect(ctx, r.artifacts)
	if err != nil {
		return err
	}
	r.set = set
	r.onClose(set.Close)
	r.record.Subject.Manifest, r.record.Subject.ManifestDigest = set.Manifest(), set.Digest()
	return r.settle(ctx, changed)
}

func (r *run) materialise(context.Context) error {
	return r.set.Materialise(r.input, r.contract.Format())
}
