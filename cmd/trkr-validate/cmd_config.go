package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/trkr-dev/trkr-validate/config"
	"github.com/trkr-dev/trkr-validate/ticket"
	"github.com/trkr-dev/trkr-validate/verdict"
)

func (a *app) configCommand() *cobra.Command {
	box, where := boxOptions{}, ticketOptions{}
	cmd := &cobra.Command{
		Use:   "config [issue]",
		Short: "Print every setting, its value and where it comes from",
		Long: `Print every setting, its value and where it comes from.

A setting comes from the defaults, the file .trkr/config.json, the environment or a flag; the last one that says
something wins. The digest at the end is what a record is bound to. It does not bind what may
differ from machine to machine: issue.*, loop.*, ticket.base, validate.engine, validate.limits.cpus, validate.commit, the values
of variables, and where a value comes from.

With an issue it is what that ticket is judged by. The file never comes from the ticket's own branch: where the checkout
stands on it, the file counts as it is committed where the branch leaves the default one.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			issue, err := "", error(nil)
			if len(args) > 0 {
				issue, err = ticket.ParseIssue(args[0])
			}
			if err != nil {
				return err
			}
			s, err := a.settingsFor(cmd, where, issue)
			if err != nil {
				return err
			}
			return a.printConfig(s)
		},
	}
	box.flags(cmd)
	where.reading(cmd)
	return cmd
}

type configJSON struct {
	SchemaVersion int           `json:"schemaVersion"`
	Path          string        `json:"path"`   // empty: there is no file
	Commit        string        `json:"commit"` // that the file was read from; empty: from the disk
	Note          string        `json:"note"`   // how the ticket's own file differs
	Digest        string        `json:"digest"`
	Settings      []settingJSON `json:"settings"`
}

type settingJSON struct {
	Key    string        `json:"key"`
	Value  any           `json:"value"`
	Source config.Source `json:"source"`
	At     string        `json:"at"`
}

func (a *app) printConfig(s settings) error {
	doc := configJSON{SchemaVersion: 1, Path: cmp.Or(s.path, s.file.Path), Commit: s.commit, Note: s.note, Digest: s.Digest()}
	for _, v := range s.values {
		k, _ := config.Lookup(v.Key)
		doc.Settings = append(doc.Settings, settingJSON{Key: v.Key, Value: k.Value(s.Config), Source: v.Source, At: v.At})
	}
	if a.json {
		return a.writeJSON(doc)
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, v := range doc.Settings {
		value, err := oneLine(v.Value)
		if err != nil {
			return err
		}
		at := v.At
		if at == "" {
			at = string(v.Source)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", v.Key, visible(value), at)
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	from := "none"
	if doc.Path != "" {
		from = a.shown(doc.Path)
	}
	if doc.Commit != "" {
		from += " at " + short(doc.Commit)
	}
	if s.branch {
		from += ", " + verdict.TrustedBranch
	}
	if doc.Note != "" {
		say(a.err, "note: ", doc.Note)
	}
	return a.printf("\nfile   %s\ndigest %s\n", visible(from), doc.Digest)
}

// oneLine is a value as a file would hold it.
func oneLine(v any) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}
