package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/trkr-dev/trkr-validate/config"
)

func (a *app) configCommand() *cobra.Command {
	box := boxOptions{}
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print every setting, its value and where it comes from",
		Long: `Print every setting, its value and where it comes from.

A setting comes from the defaults, the file .trkr/config.json, the environment or a flag; the last one that says
something wins. The digest at the end is what a record is bound to.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.settings(cmd)
			if err != nil {
				return err
			}
			return a.printConfig(s)
		},
	}
	box.flags(cmd)
	return cmd
}

type configJSON struct {
	SchemaVersion int           `json:"schemaVersion"`
	Path          string        `json:"path"`
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
	doc := configJSON{SchemaVersion: 1, Path: s.path, Digest: s.Digest()}
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
	return a.printf("\ndigest %s\n", doc.Digest)
}

// oneLine is a value as a file would hold it.
func oneLine(v any) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}
