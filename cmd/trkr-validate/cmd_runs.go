package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/stage"
	"github.com/trkr-dev/trkr-validate/ticket"
	"github.com/trkr-dev/trkr-validate/verdict"
)

func (a *app) runsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List the runs that are kept here, or show one",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		&cobra.Command{
			Use:   "list",
			Short: "List the runs that are kept here, the oldest first",
			Args:  noArgs,
			RunE:  func(cmd *cobra.Command, _ []string) error { return a.runsList(cmd) },
		},
		&cobra.Command{
			Use:   "show <run>",
			Short: "Show one run; the exit code is 0 whatever its outcome was",
			Args:  exactly(1),
			RunE:  func(cmd *cobra.Command, args []string) error { return a.runsShow(cmd, args[0]) },
		},
	)
	return cmd
}

type runJSON struct {
	RunID     string          `json:"runId"`
	Issue     string          `json:"issue"`
	Outcome   verdict.Outcome `json:"outcome"`
	StartedAt time.Time       `json:"startedAt"`
	Path      string          `json:"path"`
}

func (a *app) runsList(cmd *cobra.Command) error {
	repo, err := ticket.Open(cmd.Context(), a.directory)
	if err != nil {
		return err
	}
	runs, err := readRuns(repo.Root())
	if err != nil {
		return err
	}
	listed := make([]runJSON, 0, len(runs))
	for _, r := range runs {
		listed = append(listed, runJSON{RunID: r.RunID, Issue: r.Issue, Outcome: r.Outcome, StartedAt: r.Record.StartedAt, Path: r.RunDir})
	}
	if a.json {
		return a.writeJSON(struct {
			SchemaVersion int       `json:"schemaVersion"`
			Runs          []runJSON `json:"runs"`
		}{1, listed})
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, r := range listed {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", visible(r.RunID), visible(r.Issue), visible(string(r.Outcome)), r.StartedAt.Local().Format(time.DateTime))
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return nil
}

func (a *app) runsShow(cmd *cobra.Command, id string) error {
	repo, err := ticket.Open(cmd.Context(), a.directory)
	if err != nil {
		return err
	}
	runs, err := readRuns(repo.Root())
	if err != nil {
		return err
	}
	i := slices.IndexFunc(runs, func(r stage.Result) bool { return r.RunID == id })
	if i < 0 {
		return fault.Usagef("unknown_run", []string{"trkr-validate runs list"}, "no run is called %q", id)
	}
	if a.json {
		return a.writeJSON(documentOf(runs[i:i+1], exitClear))
	}
	if err := a.report(runs[i]); err != nil || a.quiet {
		return err
	}
	names, err := os.ReadDir(runs[i].RunDir)
	if err != nil {
		return fault.Env("folder", err)
	}
	for _, n := range names {
		if err := a.printf("              %s\n", visible(n.Name())); err != nil {
			return err
		}
	}
	return nil
}

// maxRecord bounds what one record may cost to read: a manifest of 100,000 files stays below.
const maxRecord = 64 << 20

// readRuns reads what the run folders of a repository say, the oldest run first. A folder without a record is a run
// that was cut short: it is listed as an error. A record that cannot be read is passed over in the same way.
func readRuns(root string) ([]stage.Result, error) {
	dir, err := os.OpenRoot(filepath.Join(root, ".trkr", "runs"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Env("folder", fmt.Errorf("reading the runs: %w", err))
	}
	defer dir.Close()
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return nil, fault.Env("folder", fmt.Errorf("reading the runs: %w", err))
	}
	var runs []stage.Result
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		r := stage.Result{RunID: e.Name(), RunDir: filepath.Join(dir.Name(), e.Name()), Outcome: verdict.Error}
		record, err := readRecord(dir, e.Name())
		if err != nil {
			record = cutShort(e)
			r.Failure = &stage.Failure{Code: "no_record", Message: "the run was cut short: " + err.Error()}
		} else {
			r.Outcome, r.Refusals = record.Outcome, record.Refusals
		}
		r.Issue, r.Record = record.Issue, &record
		runs = append(runs, r)
	}
	slices.SortStableFunc(runs, func(a, b stage.Result) int { return a.Record.StartedAt.Compare(b.Record.StartedAt) })
	return runs, nil
}

func readRecord(dir *os.Root, run string) (verdict.Record, error) {
	f, err := dir.Open(filepath.Join(run, "record.json"))
	if err != nil {
		return verdict.Record{}, err
	}
	defer f.Close()
	var record verdict.Record
	if err := json.NewDecoder(io.LimitReader(f, maxRecord)).Decode(&record); err != nil {
		return verdict.Record{}, fmt.Errorf("reading its record: %w", err)
	}
	if record.SchemaVersion != verdict.SchemaVersion {
		return verdict.Record{}, fmt.Errorf("its record has version %d, this program reads %d", record.SchemaVersion, verdict.SchemaVersion)
	}
	return record, nil
}

// cutShort is what a run folder's name and date tell of a run that left no record.
func cutShort(e fs.DirEntry) verdict.Record {
	record := verdict.Record{SchemaVersion: verdict.SchemaVersion, RunID: e.Name(), Outcome: verdict.Error}
	if first, last := strings.Index(e.Name(), "-"), strings.LastIndex(e.Name(), "-"); first >= 0 && last > first {
		record.Issue = e.Name()[first+1 : last]
		if t, err := time.Parse("20060102T150405", e.Name()[:first]); err == nil {
			record.StartedAt = t
		}
	}
	return record
}
