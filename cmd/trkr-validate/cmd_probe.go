package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/trkr-dev/trkr-validate/config"
	"github.com/trkr-dev/trkr-validate/contract"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/validator/probe"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// trialOptions say how much the probe tries.
type trialOptions struct {
	repeat int
	prove  bool
}

func (o *trialOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&o.repeat, "repeat", 1, "try each assertion so many `times`; one whose results differ is flaky, and not met")
	f.BoolVar(&o.prove, "prove", false, "try what is met also on a program that does nothing and fails")
}

func (o trialOptions) check(cmd *cobra.Command) error {
	if o.repeat < 1 || o.repeat > 1000 {
		return usage(cmd, fmt.Errorf("--repeat %d: a number from 1 to 1000", o.repeat))
	}
	return nil
}

// options are those of the probe; severity is validate.prove.
func (o trialOptions) options(severity string) probe.Options {
	return probe.Options{Repeat: o.repeat, Prove: o.prove, Blocking: severity == "blocking"}
}

type probeOptions struct {
	box     boxOptions
	explain bool
}

func (a *app) probeCommand() *cobra.Command {
	o := probeOptions{}
	cmd := &cobra.Command{
		Use:   "probe CONTRACT DIR",
		Short: "Check a contract on a folder of artifacts, without a ticket",
		Long: `Check a contract on a folder of artifacts, without a ticket, a repository or a commit.

CONTRACT is a file like contract.md (- is stdin). Everything in DIR is sealed, put into a box, installed as a run would,
and probed. Nothing is recorded. The configuration of a checkout is not read; --config FILE names one.

With --explain nothing runs and no DIR is needed: each assertion is said back in the words that it is understood in, and
where it is not, a caret points at the first word that was not understood.

With --json it is one object: schemaVersion, outcome, exitCode, criteria, findings, diagnostics; with --explain
schemaVersion and assertions.

Exit codes: those of a run.`,
		Example: `  trkr-validate probe contract.md dist
  trkr-validate probe --explain contract.md`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.explain && len(args) == 1 {
				return nil
			}
			return exactly(2)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.probe(cmd, o, args) },
	}
	f := cmd.Flags()
	f.StringVar(&o.box.engine, "engine", "", "what makes the box: `engine` auto, docker or gvisor")
	f.StringVar(&o.box.image, "image", "", "the box's userland: host, or an image's `reference`")
	f.BoolVar(&o.explain, "explain", false, "say how each assertion is understood, and run nothing")
	o.box.trials.flags(cmd)
	return cmd
}

func (a *app) probe(cmd *cobra.Command, o probeOptions, args []string) error {
	if err := o.box.trials.check(cmd); err != nil {
		return err
	}
	c, err := a.readContract(args[0])
	if err != nil {
		return during("contract", err)
	}
	if o.explain {
		return a.understanding(c)
	}
	file := config.File{}
	if a.config != "" {
		if file, err = a.configFile(); err != nil {
			return err
		}
	}
	s, err := a.layer(cmd, file)
	if err != nil {
		return err
	}
	r, err := a.probeFolder(cmd.Context(), s, o, c, a.path(args[1]))
	if err != nil {
		return err
	}
	return a.probed(r)
}

// readContract reads contract.md from a file or stdin.
func (a *app) readContract(name string) (contract.Contract, error) {
	in := a.in
	if name != "-" {
		f, err := os.Open(a.path(name))
		if err != nil {
			return contract.Contract{}, fault.Usage("contract_not_found", err, "the first argument is a file with lines like VAL-1: `tool --version` exits 0")
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, contract.MaxSize+1))
	if err != nil {
		return contract.Contract{}, fault.Usage("contract_unreadable", err)
	}
	c, err := contract.Parse(data)
	if err != nil {
		return c, &verdict.Refusal{Reason: verdict.ContractInvalid, Detail: err.Error(), Hints: []string{"each assertion is one line: VAL-1: what can be seen"}}
	}
	return c, nil
}

// explained is how one assertion is understood.
type explained struct {
	ID         string `json:"id"`
	Text       string `json:"text"`
	Understood bool   `json:"understood"`
	Canonical  string `json:"canonical,omitempty"` // where it is
	Column     int    `json:"column,omitempty"`    // where it is not: of the first word, in bytes, from 1
	Expected   string `json:"expected,omitempty"`
	Nearest    string `json:"nearest,omitempty"`
	caret      string
}

func explain(c contract.Contract) []explained {
	list := make([]explained, len(c.Assertions))
	for i, one := range c.Assertions {
		e := explained{ID: one.ID, Text: one.Text}
		tree, err := probe.Parse(one.Text)
		if not, ok := errors.AsType[*probe.NotUnderstood](err); ok {
			e.Column, e.Expected, e.Nearest, e.caret = not.Span.Pos+1, not.Wanted, not.Nearest, not.Caret()
		} else {
			e.Understood, e.Canonical = true, tree.String()
		}
		list[i] = e
	}
	return list
}

func (a *app) understanding(c contract.Contract) error {
	list := explain(c)
	if a.json {
		return a.writeJSON(struct {
			SchemaVersion int         `json:"schemaVersion"`
			Assertions    []explained `json:"assertions"`
		}{1, list})
	}
	var b strings.Builder
	explanation(&b, list)
	return a.printf("%s", b.String())
}

// explanation writes it for people: the canonical words, or the assertion with a caret.
func explanation(b *strings.Builder, list []explained) {
	understood := 0
	for _, e := range list {
		if e.Understood {
			understood++
			say(b, e.ID+": ", e.Canonical)
		} else {
			say(b, e.ID+"? ", e.caret)
		}
	}
	fmt.Fprintf(b, "%d of %d understood\n", understood, len(list))
}
