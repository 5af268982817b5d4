package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"github.com/trkr-dev/trkr-validate/config"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// flagKeys are the flags that set a key of the configuration.
var flagKeys = map[string]string{
	"validate.engine": "engine",
	"validate.image":  "image",
	"validate.agent":  "agent",
}

// settings is the configuration in force and where each value comes from.
type settings struct {
	config.Config
	file   config.File      // without a Path: there is none
	commit string           // that the file was read from; empty: from the disk
	path   string           // of the file in that commit
	branch bool             // the file is the ticket's own, accepted with --trust-branch-config
	note   string           // how the ticket's own file differs; empty where it does not
	values []config.Setting // every key, in order
}

// ref binds a record to the settings.
func (s settings) ref(root string) verdict.ConfigRef {
	ref := verdict.ConfigRef{Digest: s.Digest(), Source: "defaults", Ref: s.commit}
	switch {
	case s.commit != "":
		ref.Source = s.path
	case s.file.Path != "":
		ref.Source = s.file.Path
		if rel, err := filepath.Rel(root, s.file.Path); root != "" && err == nil && filepath.IsLocal(rel) {
			ref.Source = filepath.ToSlash(rel)
		}
	}
	if s.branch {
		ref.Ref = strings.TrimPrefix(s.commit+", "+verdict.TrustedBranch, ", ")
	}
	return ref
}

// settings reads the configuration of no ticket in particular: that of the invoking checkout.
func (a *app) settings(cmd *cobra.Command) (settings, error) {
	file, err := a.configFile()
	if err != nil {
		return settings{}, err
	}
	return a.layer(cmd, file)
}

// layer makes settings of the defaults, what the CI service says, a file, the environment, the flags that cmd has; the last one that says
// something wins. The error is an *config.Error.
func (a *app) layer(cmd *cobra.Command, file config.File) (settings, error) {
	v := viper.New()
	ci, said := ciBase(os.Getenv)
	for _, k := range config.Keys() {
		v.SetDefault(k.Name, k.Default)
		if k.Name == baseKey && ci != "" {
			v.SetDefault(k.Name, ci)
		}
		if err := v.BindEnv(k.Name, k.Env()); err != nil {
			return settings{}, err
		}
		if f := cmd.Flags().Lookup(flagKeys[k.Name]); f != nil {
			if err := v.BindPFlag(k.Name, f); err != nil {
				return settings{}, err
			}
		}
	}
	if err := v.MergeConfigMap(nested(file.Values)); err != nil {
		return settings{}, err
	}
	s := settings{file: file}
	for _, k := range config.Keys() {
		value := a.origin(k, v.Get(k.Name), file, cmd.Flags().Lookup(flagKeys[k.Name]))
		if k.Name == baseKey && ci != "" && value.Source == config.FromDefault {
			value.Source, value.At = config.FromEnv, said
		}
		s.values = append(s.values, value)
	}
	problems, others := config.UnknownEnv(os.Environ())
	for _, name := range others {
		if !a.warned {
			a.log.Warn().Str("variable", name).Msg("sets nothing that this version knows")
		}
	}
	a.warned = true
	c, err := config.Resolve(s.values)
	if found, ok := errors.AsType[*config.Error](err); ok {
		problems = append(problems, found.Problems...)
	} else if err != nil {
		return settings{}, err
	}
	if c.Issue.Source == "github" && c.Issue.Command != "" {
		at := s.values[slices.IndexFunc(s.values, func(v config.Setting) bool { return v.Key == "issue.command" })].At
		problems = append(problems, config.Problem{Where: at, Key: "issue.command", Text: "is not asked where issue.source is github", Hint: "remove one of them"})
	}
	if len(problems) > 0 {
		return settings{}, &config.Error{Problems: problems}
	}
	s.Config = c
	return s, nil
}

// origin tells which layer won, which the library does not say.
func (a *app) origin(k config.Key, value any, file config.File, flag *pflag.Flag) config.Setting {
	s := config.Setting{Key: k.Name, Value: value, Source: config.FromDefault}
	switch {
	case flag != nil && flag.Changed:
		s.Source, s.At = config.FromFlag, "--"+flag.Name
	case os.Getenv(k.Env()) != "":
		s.Source, s.At = config.FromEnv, k.Env()
	case file.Line(k.Name) > 0:
		s.Source, s.At = config.FromFile, fmt.Sprintf("%s:%d", a.shown(file.Path), file.Line(k.Name))
	}
	return s
}

// configFile loads the file that --config names, else the invoking checkout's. Without either it is empty.
func (a *app) configFile() (config.File, error) {
	name := a.config
	if name == "" {
		found, err := config.Find(a.directory)
		if err != nil {
			return config.File{}, during("config", fault.Env("config_unreadable", err))
		}
		if found == "" {
			return config.File{}, nil
		}
		name = found
	} else {
		name = a.path(name)
	}
	file, err := config.Load(name)
	if bad, ok := errors.AsType[*config.Error](err); ok {
		for i := range bad.Problems {
			bad.Problems[i].Where = a.shown(name)
		}
		return config.File{}, bad
	}
	if errors.Is(err, fs.ErrNotExist) {
		return config.File{}, during("config", fault.Usage("config_not_found", err, "trkr-validate init writes one"))
	}
	if err != nil {
		return config.File{}, during("config", fault.Usage("config_unreadable", err))
	}
	return file, nil
}

// nested turns dotted names into the maps that the library takes.
func nested(values map[string]any) map[string]any {
	top := map[string]any{}
	for name, value := range values {
		parts := strings.Split(name, ".")
		at := top
		for _, p := range parts[:len(parts)-1] {
			next, ok := at[p].(map[string]any)
			if !ok {
				next = map[string]any{}
				at[p] = next
			}
			at = next
		}
		at[parts[len(parts)-1]] = value
	}
	return top
}
