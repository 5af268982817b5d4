package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/trkr-dev/trkr-validate/artifact"
	"github.com/trkr-dev/trkr-validate/config"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/ticket"
)

func (a *app) sweepCommand() *cobra.Command {
	dryRun, images := false, false
	cmd := &cobra.Command{
		Use:   "sweep",
		Short: "Remove what runs that were cut short left behind",
		Long: `Remove what runs that were cut short left behind: boxes of every engine that answers, and temporary worktrees of
this repository. What belongs to a run that still lives, or to another user, is not touched. Artifacts of before such a
run, which it had moved aside, are only named: the next run in their worktree puts them back. With --images also the
images that are kept for later runs: those that this program fetched, unpacked, built or gave to Docker.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.sweep(cmd, engines(), dryRun, images) },
	}
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "only name boxes and, with --images, images; worktrees are neither removed nor named")
	cmd.Flags().BoolVar(&images, "images", false, "also remove the images that this program keeps and no run uses")
	return cmd
}

type sweptJSON struct {
	SchemaVersion int         `json:"schemaVersion"`
	DryRun        bool        `json:"dryRun"`
	Swept         []sweptItem `json:"swept"`
	Error         *errorJSON  `json:"error"`
}

type sweptItem struct {
	Kind string `json:"kind"` // an engine's name, that and " image", or "worktree"
	Name string `json:"name"`
}

func (a *app) sweep(cmd *cobra.Command, all []sandbox.Engine, dryRun, images bool) error {
	ctx := cmd.Context()
	doc := sweptJSON{SchemaVersion: 1, DryRun: dryRun, Swept: []sweptItem{}}
	var errs []error
	add := func(kind string, names []string, err error) {
		for _, n := range names {
			doc.Swept = append(doc.Swept, sweptItem{Kind: kind, Name: n})
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("sweeping %s: %w", kind, err))
		}
	}
	for _, e := range all {
		_, unusable := e.Check(ctx)
		if unusable == nil {
			names, err := e.Sweep(ctx, dryRun)
			add(e.Name(), names, err)
		} else {
			// An engine that cannot start a box has none that we could end through it.
			a.log.Info().Str("engine", e.Name()).Err(unusable).Msg("not swept")
		}
		keeper, ok := e.(sandbox.ImageSweeper)
		if !ok || !images {
			continue
		}
		names, err := keeper.SweepImages(ctx, dryRun) // what it keeps in a folder is there whether or not it can be used
		if err != nil && unusable != nil {
			err = nil
		}
		add(e.Name()+" image", names, err)
	}
	names, left, err := a.sweepWorktrees(ctx, dryRun)
	add("worktree", names, err)
	for _, l := range left {
		a.log.Warn().Msg(l)
	}
	// What is gone is told in any case: nobody can list it again.
	var failed error
	if err := errors.Join(errs...); err != nil {
		failed = fault.Env("sweep", err, "trkr-validate doctor shows what cannot be used here")
	}
	if a.json {
		code := exitClear
		if failed != nil {
			f := describe(failed, cmd.Name())
			doc.Error, code = f.json(), f.exit
		}
		if err := a.writeJSON(doc); err != nil {
			return err
		}
		return exitWith{code}
	}
	verb := "removed"
	if dryRun {
		verb = "would remove"
	}
	for _, s := range doc.Swept {
		if err := a.printf("%s %s %s\n", verb, s.Kind, s.Name); err != nil {
			return err
		}
	}
	if len(doc.Swept) == 0 && len(left) == 0 && failed == nil && !a.quiet {
		return a.printf("nothing was left behind\n")
	}
	return failed
}

// sweepWorktrees does so in the repository that the caller stands in, if any. left is what stays in its worktrees: earlier
// artifacts, which are somebody's.
func (a *app) sweepWorktrees(ctx context.Context, dryRun bool) (swept, left []string, err error) {
	root, err := config.Root(a.directory)
	if err != nil || root == "" {
		return nil, nil, err
	}
	repo, err := ticket.Open(ctx, root)
	if err != nil {
		return nil, nil, err
	}
	if !dryRun {
		swept, err = repo.Sweep(ctx)
	}
	trees, listErr := repo.Worktrees(ctx)
	for _, tree := range trees {
		aside, kept := artifact.Leftovers(tree)
		for _, dir := range aside {
			left = append(left, fmt.Sprintf("%s holds artifacts that a killed run moved aside: the next run in that worktree puts them back", dir))
		}
		for _, dir := range kept {
			left = append(left, fmt.Sprintf("%s holds what stood where a killed run's artifacts were put back: take what is yours, and remove it", dir))
		}
	}
	return swept, left, errors.Join(err, listErr)
}
