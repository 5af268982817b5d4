package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/stage"
	"github.com/trkr-dev/trkr-validate/ticket"
)

type shellOptions struct {
	box       boxOptions
	ticket    ticketOptions
	build     buildOptions
	agreed    agreedOptions
	issueBody string
}

func (a *app) shellCommand() *cobra.Command {
	o := shellOptions{}
	cmd := &cobra.Command{
		Use:   "shell <issue>",
		Short: "Open a terminal in the box that the ticket would be judged in",
		Long: `Open a terminal in the box that the ticket would be judged in: built, boxed and installed by the same steps, under
the uid of a program under test. Nothing is judged or recorded, and the box goes when the shell ends.`,
		Args: exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.shell(cmd, o, args[0]) },
	}
	o.box.flags(cmd)
	o.ticket.flags(cmd)
	o.build.flags(cmd)
	o.agreed.flags(cmd)
	cmd.Flags().StringVar(&o.issueBody, "issue-body", "", "read the issue's body from this `file` instead of asking issue.command")
	return cmd
}

func (a *app) shell(cmd *cobra.Command, o shellOptions, arg string) error {
	issue, err := ticket.ParseIssue(arg)
	if err != nil {
		return err
	}
	if a.json {
		return usage(cmd, errors.New("a terminal has no JSON document"))
	}
	if o.issueBody == "-" {
		return usage(cmd, errors.New("stdin belongs to the shell: give --issue-body a file"))
	}
	if err := o.build.check(cmd); err != nil {
		return err
	}
	agreed, err := o.agreed.agreed(cmd)
	if err != nil {
		return err
	}
	req, err := a.request(cmd, o.box, o.ticket, o.issueBody, issue)
	if err != nil {
		return err
	}
	req.Agreed = agreed
	req.Clean, req.AllowDirty = o.build.clean, o.build.allowDirty
	p := a.progress()
	req.Sinks = append(req.Sinks, p)
	entered := false
	r := stage.Shell(cmd.Context(), req, func(ctx context.Context, in stage.Inside) error {
		if err := p.Close(); err != nil {
			return err
		}
		entered = true
		if in.NotInstalled != "" {
			say(a.err, "warning: ", in.NotInstalled)
		}
		return a.enter(ctx, issue, in.Box, in.Path)
	})
	if !entered {
		if err := p.Close(); err != nil {
			return err
		}
	}
	if f := failureOf(r); f != nil {
		f.print(a.err)
		return exitWith{f.exit}
	}
	return nil
}

// enter runs an interactive shell in the box until it ends.
func (a *app) enter(ctx context.Context, issue string, box sandbox.Sandbox, path []string) error {
	info := box.Info()
	session, err := box.Open(ctx, sandbox.SessionSpec{
		Role: sandbox.RoleSubject,
		Env:  []string{"PATH=" + strings.Join(append(path, info.Path), ":")},
	})
	if err != nil {
		return err
	}
	defer session.Close()
	shells, err := session.LookPath(ctx, "bash", "sh")
	if err != nil {
		return err
	}
	command := sandbox.Command{Stdin: a.in, Stdout: a.out, Stderr: a.err}
	switch {
	case shells[0] != "":
		command.Args, command.Env = []string{shells[0], "--norc", "--noprofile"}, []string{"PS1=[" + issue + "] \\W \\$ "}
	case shells[1] != "":
		command.Args, command.Env = []string{shells[1]}, []string{"PS1=[" + issue + "] $ "}
	default:
		return fault.Envf("no_shell", []string{"choose an --image that has one"}, "the image %q has no shell", info.Image)
	}
	if terminal(a.in) && terminal(a.out) {
		fmt.Fprintf(a.err, "in the box of issue %s (%s, image %s); the artifact is in %s; exit ends the box\n", issue, info.Engine, info.Image, sandbox.Artifact)
		restore, tty, err := a.raw(ctx)
		if err != nil {
			return err
		}
		defer restore()
		command.TTY, command.Env = tty, append(command.Env, "TERM="+termName())
	}
	// The shell's own exit code says nothing about the ticket.
	_, err = session.Run(ctx, command)
	return err
}

func termName() string {
	if t := os.Getenv("TERM"); t != "" {
		return t
	}
	return "xterm"
}

// raw hands every key to the box and follows the window's size until restore is called.
func (a *app) raw(ctx context.Context) (restore func(), tty *sandbox.TTY, err error) {
	in, out := int(a.in.(*os.File).Fd()), int(a.out.(*os.File).Fd())
	cols, rows, err := term.GetSize(out)
	if err != nil {
		return nil, nil, fault.Env("terminal", fmt.Errorf("asking the terminal for its size: %w", err))
	}
	old, err := term.MakeRaw(in)
	if err != nil {
		return nil, nil, fault.Env("terminal", fmt.Errorf("making the terminal raw: %w", err))
	}
	sizes := make(chan [2]uint16)
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, syscall.SIGWINCH)
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-changed:
			}
			cols, rows, err := term.GetSize(out)
			if err != nil {
				continue
			}
			select {
			case <-ctx.Done():
				return
			case sizes <- [2]uint16{uint16(rows), uint16(cols)}:
			}
		}
	}()
	return func() {
		signal.Stop(changed)
		cancel()
		_ = term.Restore(in, old) // nothing better can be done about it
	}, &sandbox.TTY{Rows: uint16(rows), Cols: uint16(cols), Resize: sizes}, nil
}
