package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/trkr-dev/trkr-validate/sandbox"
)

// sweeping is an engine that removes what it is told, and may fail at it.
type sweeping struct {
	answering
	removed []string
	err     error
}

func (e sweeping) Sweep(context.Context, bool) ([]string, error) { return e.removed, e.err }

// What is gone cannot be listed again: it is told of though another engine, or the same one, failed.
func TestSweepTellsWhatIsGoneBesideAnError(t *testing.T) {
	all := []sandbox.Engine{
		sweeping{answering{name: "gvisor", check: works}, []string{"one"}, nil},
		sweeping{answering{name: "docker", check: works}, []string{"two"}, errors.New("it broke")},
	}
	var out strings.Builder
	a := &app{streams: streams{out: &out}, log: zerolog.Nop(), directory: t.TempDir()}
	cmd := a.sweepCommand()
	cmd.SetContext(t.Context())
	err := a.sweep(cmd, all, false, false)
	if f := describe(err, "sweep"); f.exit != exitError || !strings.Contains(f.message(), "sweeping docker: it broke") {
		t.Errorf("ended with %v", err)
	}
	if out.String() != "removed gvisor one\nremoved docker two\n" {
		t.Errorf("told %q", out.String())
	}
	out.Reset()
	a.json = true
	code, ended := errors.AsType[exitWith](a.sweep(cmd, all, false, false))
	var doc sweptJSON
	if err := json.Unmarshal([]byte(out.String()), &doc); err != nil {
		t.Fatal(err)
	}
	if !ended || code.code != exitError || len(doc.Swept) != 2 || doc.Error == nil || doc.Error.Step != "sweep" {
		t.Errorf("ended with %v, told %+v", code, doc)
	}
}
