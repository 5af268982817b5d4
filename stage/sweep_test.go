package stage_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/trkr-dev/trkr-validate/sandbox/sandboxtest"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// littered is an engine that counts sweeps.
type littered struct {
	*sandboxtest.Fake
	wet, dry atomic.Int32
	err      error
}

func (l *littered) Sweep(_ context.Context, dryRun bool) ([]string, error) {
	if dryRun {
		l.dry.Add(1)
	} else {
		l.wet.Add(1)
	}
	return []string{"a box"}, l.err
}

// Each run removes what killed ones left, once; that it could not is no reason not to judge.
func TestEachRunSweeps(t *testing.T) {
	for name, err := range map[string]error{"it works": nil, "it fails": errors.New("a container does not go")} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t, scripted(allMet))
			engine := &littered{Fake: &sandboxtest.Fake{}, err: err}
			k.req.Engine = engine
			k.run(verdict.Clear)
			if engine.wet.Load() != 1 || engine.dry.Load() != 0 {
				t.Errorf("%d sweeps, %d dry ones", engine.wet.Load(), engine.dry.Load())
			}
		})
	}
	k := newKit(t, scripted(allMet))
	engine := &littered{Fake: &sandboxtest.Fake{CheckError: errors.New("no engine here")}}
	k.req.Engine = engine
	k.run(verdict.Error)
	if engine.wet.Load() != 0 {
		t.Error("an engine that cannot be used was asked to sweep")
	}
}
