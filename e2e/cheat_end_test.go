package e2e

import (
	"testing"
)

var (
	doubtfulCode = &defence{edits: []edit{{"validator/probe/judge.go", "case code == 127:\n\t\thow = ", "case false:\n\t\thow = "}}}
	ownEnd       = &defence{edits: []edit{{"validator/probe/judge.go", "if !s.exit.Exited() && !s.stopped {", "if false {"}}}
	// Both sides of || have run, and what a decoy meets as well is met.
	oneSide = &defence{deep: true, edits: []edit{{"validator/probe/ends.go", "if c.Op != syntax.OrStmt {", "if true {"}, decoys.edits[0]}}
	// A text goes on to its end, whatever stands in it.
	lastCommand = &defence{deep: true, edits: []edit{{"validator/probe/ends.go", "found = found || !args[0].known || slices.Contains(ending, args[0].value)", "found = found && slices.Contains(ending, args[0].value)"}, decoys.edits[0]}}
	wholeOutput = &defence{edits: []edit{{"validator/probe/output.go", "\t\tif x.cut > 0 {\n\t\t\treturn unverified(\"%s is not", "\t\tif false {\n\t\t\treturn unverified(\"%s is not"}}}
	notFound    = &defence{deep: true, edits: []edit{{"validator/probe/judge.go", "case sandbox.CauseNotFound:\n\t\treturn blocked(\"%s: it never ran\", how)", "case sandbox.CauseNotFound:\n\t\treturn met(\"\")"}, ownProgram.edits[1]}}
)

// asserted is a ticket whose product and contract are these.
func asserted(contract, tool string, keys map[string]any) func(t *testing.T) (*repo, []string) {
	return func(t *testing.T) (*repo, []string) {
		return ticketed(t, contract, files{"tool.sh": tool}, keys), nil
	}
}

// The way in which a program ends is taken for what was asked for.
var endCheats = []cheat{
	{
		name: "exit 127 as a failure", tries: "the product runs a program that is not there, where it should refuse its input",
		prepare: asserted("VAL-1: `tool --nope` fails\n", "#!/bin/sh\nno-such-program\n", nil),
		want:    "incomplete", without: doubtfulCode,
	},
	{
		name: "missing program as a failure", tries: "the product is not there at all",
		prepare: func(t *testing.T) (*repo, []string) {
			return ticketed(t, "VAL-1: `tool --nope` fails\n", files{"build.sh": hers + "mv dist/tool dist/other\n"}, nil), nil
		},
		want: "incomplete", without: notFound,
	},
	{
		name: "crash as a failure", tries: "the product dies by a signal, where it should refuse its input",
		prepare: asserted("VAL-1: `tool --nope` fails\n", "#!/bin/sh\nkill -SEGV $$\n", nil),
		want:    "blocking", without: ownEnd,
	},
	{
		name: "crash as silence", tries: "the product dies before it prints what it must not print",
		prepare: asserted("VAL-1: `tool` does not print `secret`\n", "#!/bin/sh\nkill -ABRT $$\necho secret\n", nil),
		want:    "blocking", without: ownEnd,
	},
	{
		name: "no memory as a failure", tries: "the product is ended for the memory that it takes, where it should refuse its input",
		prepare: asserted("VAL-1: `tool --nope` fails\n", "#!/bin/sh\nexec tail /dev/zero\n", map[string]any{"limits": map[string]any{"memory": "128MiB"}}),
		want:    "incomplete", docker: "blocking", without: ownEnd,
	},
	{
		name: "text that runs the product or not", tries: "the assertion is worded so that the product need not run: true || tool",
		prepare: asserted("VAL-1: `true || tool` succeeds\n", "#!/bin/sh\nexit 1\n", nil),
		want:    "incomplete", without: oneSide,
	},
	{
		name: "text that ends before the product", tries: "the assertion is worded so that the shell ends first: exit 0; tool",
		prepare: asserted("VAL-1: `exit 0; tool` succeeds\n", "#!/bin/sh\nexit 1\n", nil),
		want:    "incomplete", without: lastCommand,
	},
	{
		name: "text with a trap", tries: "a trap gives another exit code than the product's",
		prepare: asserted("VAL-1: `trap 'exit 0' EXIT; tool` succeeds\n", "#!/bin/sh\nexit 1\n", nil),
		want:    "incomplete", without: lastCommand,
	},
	{
		name: "text that prints by itself", tries: "the assertion's own echo prints what the product should",
		prepare: asserted("VAL-1: `tool; echo hello` prints `hello`\n", "#!/bin/sh\n", nil),
		want:    "incomplete", without: decoys,
	},
	{
		name: "text beyond what is looked at", tries: "what must not be printed comes behind more output than is looked at",
		prepare: asserted("VAL-1: `tool` does not print `secret`\n", "#!/bin/sh\nyes harmless | head -c 20000000\necho secret\n", map[string]any{"limits": map[string]any{"output": "64MiB"}}),
		want:    "incomplete", without: wholeOutput,
	},
}
