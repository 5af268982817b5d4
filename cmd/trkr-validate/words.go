package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/trkr-dev/trkr-validate/config"
	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/internal/plain"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// failure is an error in words: what a person reads as error: and hint: lines, and a program as the document's error.
type failure struct {
	code    string
	step    string
	reasons []reason
	exit    exitCode
}

// reason is one error: line and the hint: lines that belong to it.
type reason struct {
	text  string
	hints []string
}

// message is all reasons in one text.
func (f failure) message() string {
	lines := make([]string, len(f.reasons))
	for i, r := range f.reasons {
		lines[i] = r.text
	}
	return strings.Join(lines, "\n")
}

// hints are those of all reasons, each once.
func (f failure) hints() []string {
	all := []string{}
	for _, r := range f.reasons {
		for _, h := range r.hints {
			if !slices.Contains(all, h) {
				all = append(all, h)
			}
		}
	}
	return all
}

// describe chooses the words for an error. It is the only place that does. command is the subcommand that failed: the
// step of an error that happened in none.
func describe(err error, command string) failure {
	f := failure{step: command, exit: exitError}
	said, known := errors.AsType[*stepError](err)
	if known {
		f.step = said.step
	}
	if c, ok := errors.AsType[*config.Error](err); ok {
		f.code, f.step, f.exit = "config_invalid", "config", exitUsage
		for _, p := range c.Problems {
			r := reason{text: p.String()}
			if p.Hint != "" {
				r.hints = []string{p.Hint}
			}
			f.reasons = append(f.reasons, r)
		}
		return f
	}
	if refusals := verdict.Refusals(err); len(refusals) > 0 {
		f.code, f.exit = string(refusals[0].Reason), exitRefused
		for _, r := range refusals {
			f.reasons = append(f.reasons, reason{r.Error(), r.Hints})
		}
		return f
	}
	of := fault.Of(err)
	f.code, f.reasons = of.Code, []reason{{of.Error(), of.Hints}}
	if of.Usage {
		f.exit = exitUsage
		if !known {
			f.step = "call"
		}
	}
	return f
}

// stepError says during which step of a run something went wrong that kept all of them from starting.
type stepError struct {
	step string
	err  error
}

func (e *stepError) Error() string { return e.err.Error() }
func (e *stepError) Unwrap() error { return e.err }

// during gives an error the step that it happened in, unless it has one; nil stays nil.
func during(step string, err error) error {
	if _, known := errors.AsType[*stepError](err); known || err == nil {
		return err
	}
	return &stepError{step, err}
}

// print writes the error: and hint: lines. A hint that several reasons share stands once, after the last of them.
func (f failure) print(w io.Writer) {
	for i, r := range f.reasons {
		say(w, "error: ", r.text)
		for _, hint := range r.hints {
			again := slices.ContainsFunc(f.reasons[i+1:], func(later reason) bool { return slices.Contains(later.hints, hint) })
			if !again {
				say(w, "hint: ", hint)
			}
		}
	}
}

// say writes text behind a prefix, further lines indented below it.
func say(w io.Writer, prefix, text string) {
	text = strings.TrimRight(visible(text), "\n")
	fmt.Fprintln(w, prefix+strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", len(prefix))))
}

// visible makes text safe for a terminal and for a CI's log: what it holds may come from the product, whose escape
// sequences must not move a cursor or hide a line, and whose words are no commands. Tabs and newlines stay.
func visible(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = defuse(string(plain.Escape([]byte(line))))
	}
	return strings.Join(lines, "\n")
}

// commandWords begin what GitHub Actions, Azure Pipelines and TeamCity take for a command to them wherever it stands.
var commandWords = []string{"##[", "##vso[", "##teamcity["}

// defuse keeps a line from being a command to the CI service that reads the log.
func defuse(line string) string {
	if text := strings.TrimLeft(line, " \t"); strings.HasPrefix(text, "::") {
		line = line[:len(line)-len(text)] + `\x3a` + text[1:]
	}
	for _, w := range commandWords {
		line = strings.ReplaceAll(line, w, `#\x23`+w[2:])
	}
	return line
}

// defuseJSON does the same to a document, which still says the same.
func defuseJSON(document []byte) []byte {
	for _, w := range commandWords {
		document = bytes.ReplaceAll(document, []byte(w), []byte(`#\u0023`+w[2:]))
	}
	return document
}

// defused is a writer of whole lines of a log.
type defused struct{ to io.Writer }

func (d defused) Write(p []byte) (int, error) {
	lines := strings.Split(string(p), "\n")
	for i := range lines {
		lines[i] = defuse(lines[i])
	}
	if _, err := io.WriteString(d.to, strings.Join(lines, "\n")); err != nil {
		return 0, err
	}
	return len(p), nil
}
