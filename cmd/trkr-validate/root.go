package main

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/trkr-dev/trkr-validate/config"
	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// rootCommand builds the command line anew, so that a test can run as many as it likes.
func (a *app) rootCommand() *cobra.Command {
	root := a.runCommand()
	root.Use = "trkr-validate <issue>..."
	root.Version = toolVersion()
	root.PersistentPreRunE = a.setup
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(flagError)

	f := root.PersistentFlags()
	f.StringVarP(&a.directory, "directory", "C", ".", "run as if called in `folder`")
	f.StringVar(&a.config, "config", "", "read this `file` instead of the checkout's .trkr/config.json")
	f.StringVar(&a.configRef, "config-ref", "", "read the configuration as committed at this `revision`")
	f.BoolVar(&a.trustBranch, "trust-branch-config", false, "take the configuration of the ticket's own branch; the record says so")
	f.BoolVar(&a.json, "json", false, "print one JSON document on stdout")
	f.BoolVarP(&a.quiet, "quiet", "q", false, "print no progress")
	f.StringVar(&a.logLevel, "log-level", "warn", "what goes to the log on stderr: `level` trace, debug, info, warn, error, disabled")
	f.StringVar(&a.logFormat, "log-format", "text", "how the log is written: `format` text or json")

	run := a.runCommand()
	run.Use = "run <issue>..."
	root.AddCommand(
		run,
		a.initCommand(),
		a.contractCommand(),
		a.handoffCommand(),
		a.reportCommand(),
		a.loopCommand(),
		a.activityCommand(),
		a.schemaCommand(),
		a.probeCommand(),
		a.showCommand(),
		a.gateCommand(),
		a.attestCommand(),
		a.keysCommand(),
		a.shellCommand(),
		a.runsCommand(),
		a.configCommand(),
		a.doctorCommand(),
		a.sweepCommand(),
		a.versionCommand(),
	)
	return root
}

// flagError adds what a person needs to go on to what the flag library says.
func flagError(cmd *cobra.Command, err error) error {
	hints := []string{cmd.CommandPath() + " --help"}
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && unknown.GetSpecifiedShortnames() == "" {
		var names []string
		collect := func(f *pflag.Flag) { names = append(names, f.Name) }
		cmd.Flags().VisitAll(collect)
		cmd.InheritedFlags().VisitAll(collect)
		if near := config.Nearest(unknown.GetSpecifiedName(), names); near != "" {
			hints = append([]string{"did you mean --" + near + "?"}, hints...)
		}
	}
	return fault.Usage("flag", err, hints...)
}
