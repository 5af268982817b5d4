package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by release builds.
var version = ""

// toolVersion is the release, else what the go tool knows of where this was built from.
func toolVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if revision == "" {
		return "devel"
	}
	return "devel-" + revision + dirty
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  noArgs,
		RunE: func(*cobra.Command, []string) error {
			platform := runtime.GOOS + "/" + runtime.GOARCH
			if a.json {
				return a.writeJSON(struct {
					SchemaVersion int    `json:"schemaVersion"`
					Version       string `json:"version"`
					Go            string `json:"go"`
					Platform      string `json:"platform"`
				}{1, toolVersion(), runtime.Version(), platform})
			}
			return a.printf("trkr-validate %s (%s, %s)\n", toolVersion(), runtime.Version(), platform)
		},
	}
}
