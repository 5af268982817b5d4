package wire

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/trkr-dev/trkr-validate/sandbox"
)

// maxResult bounds a BuildResult: the command may have written it.
const maxResult = 1 << 20

// ReadBuilt turns a BuildResult into what an engine answers.
func ReadBuilt(from io.Reader) (sandbox.Built, error) {
	var res BuildResult
	if err := json.NewDecoder(io.LimitReader(from, maxResult)).Decode(&res); err != nil {
		return sandbox.Built{}, fmt.Errorf("reading what became of the build: %w", err)
	}
	b := sandbox.Built{Leftovers: res.Leftovers, Exit: sandbox.Exit{
		Code: res.Code, Signal: res.Signal, Cause: sandbox.Cause(res.Cause), Detail: res.Detail, Elapsed: time.Duration(res.Elapsed),
	}}
	if res.Failure != "" {
		b.Exit = sandbox.Exit{Code: -1, Cause: sandbox.CauseNotFound, Detail: res.Failure}
	}
	return b, nil
}

// OrderOf is the order for a build in an image with that PATH. The engine adds what is its own.
func OrderOf(b sandbox.Build, path string) BuildOrder {
	o := BuildOrder{Script: []byte(b.Script), Dir: sandbox.BuildTree, Pids: b.Limits.Pids, Timeout: int64(b.Timeout)}
	if !slices.ContainsFunc(b.Env, func(v string) bool { return strings.HasPrefix(v, "PATH=") }) {
		o.Env = append(o.Env, []byte("PATH="+path))
	}
	for _, v := range b.Env {
		o.Env = append(o.Env, []byte(v))
	}
	return o
}
