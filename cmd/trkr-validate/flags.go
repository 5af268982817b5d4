package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/internal/pattern"
	"github.com/trkr-dev/trkr-validate/ticket"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// boxOptions are the flags that set a key of the configuration; their values are read through it.
type boxOptions struct {
	engine string
	image  string
	agents []string
	trials trialOptions
}

func (o *boxOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.engine, "engine", "", "what makes the box: `engine` auto, docker or gvisor")
	f.StringVar(&o.image, "image", "", "the box's userland: host, or an image's `name` (docs/images.md)")
	f.StringArrayVar(&o.agents, "agent", nil, "who judges: `agent` probe, or the JSON that the config would hold; repeatable")
}

// ticketOptions say where a ticket's code stands.
type ticketOptions struct {
	branch   string
	worktree string
	ref      string
}

func (o *ticketOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.branch, "branch", "", "the ticket's `branch`, whatever ticket.branch says")
	f.StringVar(&o.worktree, "worktree", "", "the worktree `folder` to build in")
	f.StringVar(&o.ref, "ref", "", "judge this `revision`; commits nothing")
}

// reading are the flags of a command that builds and commits nothing.
func (o *ticketOptions) reading(cmd *cobra.Command) {
	o.flags(cmd)
	cmd.Flags().Lookup("worktree").Usage = "the ticket stands in this worktree `folder`"
	cmd.Flags().Lookup("ref").Usage = "look at this `revision` instead of the branch"
}

// buildOptions say what is built where the worktree is not as committed.
type buildOptions struct {
	clean      bool
	allowDirty bool
}

func (o *buildOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.BoolVar(&o.clean, "clean", false, "build in a temporary worktree of the commit, whatever stands in the branch's own")
	f.BoolVar(&o.allowDirty, "allow-dirty", false, "build what stands in the worktree, committed or not; commits nothing")
}

func (o buildOptions) check(cmd *cobra.Command) error {
	if o.clean && o.allowDirty {
		return usage(cmd, errors.New("--clean builds the commit and --allow-dirty the worktree: give one of them"))
	}
	return nil
}

// agreedOptions name the contract that was agreed, where the branch's history is not to be asked.
type agreedOptions struct {
	pinned   string
	accepted string
}

func (o *agreedOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.pinned, "contract-digest", "", "the contract that was agreed, by its `digest` (contract show prints it); any other is refused")
	f.StringVar(&o.accepted, "accept-contract", "", "accept the contract of this `digest` though it changed after the code; the record says so")
}

var digestForm = pattern.Regexp(`^sha256:[0-9a-f]{64}$`)

// agreed is what the flags say.
func (o agreedOptions) agreed(cmd *cobra.Command) (ticket.Agreed, error) {
	given := ticket.Agreed{Digest: o.pinned, By: verdict.AcceptedByDigest}
	flag := "contract-digest"
	if cmd.Flags().Changed("accept-contract") {
		if cmd.Flags().Changed(flag) {
			return ticket.Agreed{}, usage(cmd, errors.New("--contract-digest pins a contract and --accept-contract accepts one: give one of them"))
		}
		given, flag = ticket.Agreed{Digest: o.accepted, By: verdict.AcceptedByPerson}, "accept-contract"
	}
	if !cmd.Flags().Changed(flag) {
		return ticket.Agreed{}, nil
	}
	if !digestForm().MatchString(given.Digest) {
		return ticket.Agreed{}, fault.Usagef("flag", []string{"trkr-validate contract show ISSUE prints it"}, "--%s: %q is no digest: that is sha256: and 64 hex digits", flag, given.Digest)
	}
	return given, nil
}

// signOptions name the key that signs a record.
type signOptions struct {
	key  string
	host bool
}

func (o *signOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.key, "sign-key", "", "sign the record with the private key in this `file`, or in a variable: env:NAME")
	f.BoolVar(&o.host, "sign-host-build", false, "sign also what was built on this machine, where the build could have read the key")
}

func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage(cmd, fmt.Errorf("%s takes no arguments, got %q", cmd.Name(), args[0]))
	}
	return nil
}

// exactly demands n arguments, named as in the command's use line.
func exactly(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usage(cmd, fmt.Errorf("%s takes %d argument(s), got %d", cmd.CommandPath(), n, len(args)))
		}
		return nil
	}
}

func usage(cmd *cobra.Command, err error) error {
	return fault.Usage("usage", err, cmd.CommandPath()+" --help")
}
