package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/stage"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// streams are what the program talks through. The result goes to out, everything else to err.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

func system() streams { return streams{in: os.Stdin, out: os.Stdout, err: os.Stderr} }

// terminal tells whether a stream is a terminal.
func terminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// app is what every subcommand shares: streams, the flags of all commands, the log.
type app struct {
	streams
	interrupted *interruption

	directory   string
	config      string
	configRef   string
	trustBranch bool
	json        bool
	quiet       bool
	logLevel    string
	logFormat   string

	reports *reporting // what is to be written for CI; nil: nothing

	engines map[[2]string]chosen // by name and image
	warned  bool                 // of variables that set nothing

	log zerolog.Logger
	// logTo is where the log goes, and what else is said while runs go on; live progress moves it above its own lines.
	logTo *switchWriter
}

// switchWriter can be pointed elsewhere while it is in use.
type switchWriter struct {
	mu sync.Mutex
	to io.Writer
}

func (w *switchWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(p)
}

func (w *switchWriter) point(to io.Writer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.to = to
}

// execute runs one command line to its end and returns how the program ends.
func execute(args []string, s streams) exitCode {
	a := &app{streams: s, log: zerolog.Nop(), logTo: &switchWriter{to: s.err}, engines: map[[2]string]chosen{}}
	ctx, interrupted, stop := interruptible(a.logTo)
	defer stop()
	a.interrupted = interrupted
	root := a.rootCommand()
	root.SetArgs(args)
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	called, err := root.ExecuteContextC(ctx)
	if !a.json && wantsJSON(args) { // the command line was wrong before the flag was reached
		a.json = true
	}
	return a.end(called.Name(), err)
}

// wantsJSON looks for --json where flags could not be read.
func wantsJSON(args []string) bool {
	for _, arg := range args {
		switch arg {
		case "--":
			return false
		case "--json", "--json=true", "--json=1":
			return true
		}
	}
	return false
}

// end says what went wrong, in words or as the JSON document, and returns the exit code.
func (a *app) end(command string, err error) exitCode {
	code := exitClear
	if said, ok := errors.AsType[exitWith](err); ok {
		code = said.code
	} else if err != nil {
		f := describe(err, command)
		code = f.exit
		if interrupted := a.interrupted.exit(); interrupted != 0 {
			code = interrupted
		}
		if a.json {
			if werr := a.writeJSON(document{SchemaVersion: 1, ExitCode: code, Error: f.json(), Results: []resultJSON{}}); werr != nil {
				fmt.Fprintln(a.err, "error:", werr)
				return exitError
			}
		} else {
			f.print(a.err)
		}
		unstarted := stage.Result{Outcome: verdict.Error, Failure: &stage.Failure{Code: f.code, Step: f.step, Message: f.message(), Hints: f.hints()}}
		if werr := a.writeReports([]result{{Result: unstarted}}, code); werr != nil {
			say(a.err, "error: ", werr.Error())
		}
	}
	if interrupted := a.interrupted.exit(); interrupted != 0 {
		return interrupted
	}
	return code
}

// setup reads the flags that all commands share. It runs before the command does.
func (a *app) setup(*cobra.Command, []string) error {
	level, err := zerolog.ParseLevel(a.logLevel)
	if err != nil || a.logLevel == "" {
		return fault.Usagef("flag", []string{"known are trace, debug, info, warn, error, disabled"}, "--log-level: %q is no level", a.logLevel)
	}
	var to io.Writer = defused{a.logTo}
	switch a.logFormat {
	case "json":
	case "text":
		to = zerolog.ConsoleWriter{Out: to, NoColor: !terminal(a.err), TimeFormat: "15:04:05"}
	default:
		return fault.Usagef("flag", []string{"known are text, json"}, "--log-format: %q is no format", a.logFormat)
	}
	a.log = zerolog.New(to).Level(level).With().Timestamp().Logger()
	dir, err := filepath.Abs(a.directory)
	if err != nil {
		return err
	}
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return fault.Usage("directory", fmt.Errorf("changing to %q: %w", a.directory, err))
	case !info.IsDir():
		return fault.Usagef("directory", nil, "changing to %q: not a folder", a.directory)
	}
	a.directory = dir
	return nil
}

// path is a path that the caller named, seen from where -C points.
func (a *app) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(a.directory, name)
}

// shown is a path as the caller would write it.
func (a *app) shown(name string) string {
	if rel, err := filepath.Rel(a.directory, name); err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return rel
	}
	return name
}

// printf writes to stdout. A result that nobody got is an error.
func (a *app) printf(format string, args ...any) error {
	if _, err := fmt.Fprintf(a.out, format, args...); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return nil
}
