package install

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/trkr-dev/trkr-validate/internal/pattern"
	"github.com/trkr-dev/trkr-validate/internal/plain"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// Missing says what an install lacked that is not the product's to bring.
type Missing string

// What may be missing. The empty one means that the product itself does not install.
const (
	MissingNetwork Missing = "network" // a dependency that would have to be downloaded
	MissingTool    Missing = "tool"    // a tool of the image, or another version of it
	MissingSpace   Missing = "space"   // limits.tmp is too small
	MissingTime    Missing = "time"    // the run's time was used up
	MissingLimit   Missing = "limit"   // room under another limit of the box; Exit.Cause says which
	MissingChoice  Missing = "choice"  // several things could be meant: validate.install has to say which
)

// Failure says why an install failed. All texts are single safe lines.
type Failure struct {
	Command string       // the step that failed; empty where none was run
	Exit    sandbox.Exit // of that step
	Output  string       // the end of what it printed
	Missing Missing      // empty: the product's own fault
	Detail  string       // what failed or is missing; never empty
}

// Evidence tells it all in one line: why no criterion could be checked.
func (f *Failure) Evidence() string {
	if f.Command == "" {
		return "the artifact was not installed: " + f.Detail
	}
	s := fmt.Sprintf("the artifact was not installed: `%s`: %s", plain.Line(f.Command, 160), f.Exit)
	if !strings.Contains(s+f.Output, f.Detail) {
		s += ": " + f.Detail
	}
	if f.Output != "" {
		s += ": " + f.Output
	}
	return s
}

// Finding is the remark about an artifact that does not install. There is none where something was missing that is not
// its own to bring.
func (f *Failure) Finding() (verdict.Finding, bool) {
	if f.Missing != "" {
		return verdict.Finding{}, false
	}
	return verdict.Finding{Severity: verdict.SeverityBlocking, Place: "install", Text: "artifact does not install: " + plain.Line(f.Command, 160)}, true
}

// Hint says what a person can do about it; empty where only the product can.
func (f *Failure) Hint() string {
	switch f.Missing {
	case MissingNetwork:
		return "there is no network in the box but for what validate.install_network names: bundle the dependency with the artifact, use an image that has it, or name the place it comes from"
	case MissingTool:
		return "use an image that has the tool, with validate.image"
	case MissingSpace:
		return "raise validate.limits.tmp"
	case MissingTime:
		return "raise validate.timeout"
	case MissingLimit:
		if key, ok := limits[f.Exit.Cause]; ok {
			return "raise " + key + ", or have the install need less"
		}
		return "run it again: the install was stopped before its end"
	case MissingChoice:
		return "say in validate.install what to install"
	default:
		return ""
	}
}

// limits are the keys of the limits that a step can run into.
var limits = map[sandbox.Cause]string{
	sandbox.CauseMemory: "validate.limits.memory",
	sandbox.CausePids:   "validate.limits.pids",
	sandbox.CauseOutput: "validate.limits.output",
}

// The words of tools that lack something, in the order in which they are looked for. Whoever prints them on purpose
// turns "does not install" into "could not be checked", never into a pass.
var lacks = []struct {
	missing Missing
	words   func() *regexp.Regexp
}{
	{MissingSpace, pattern.Regexp(`ENOSPC|No space left on device|EDQUOT|Disk quota exceeded`)},
	{MissingTool, pattern.Regexp(`ensurepip is not available|No module named '?(venv|ensurepip|pip|wheel|setuptools)\b|BackendUnavailable|Cannot import '[\w.]+'|` +
		`invalid command 'bdist_wheel'|requires a different Python|is not a supported wheel on this platform|Cannot exec: No such file`)},
	{MissingNetwork, pattern.Regexp(`ENOTCACHED|ENOTFOUND|EAI_AGAIN|ENETUNREACH|ECONNREFUSED|No matching distribution found|` +
		`Temporary failure in name resolution|Could not resolve host|Name or service not known|Network is unreachable|` +
		`module lookup disabled by GOPROXY=off|--offline was specified|\boffline mode\b`)},
}

// notFound is how shells and env tell that there is no such program.
var notFound = pattern.Regexp(`(?m)^(?:.*[ :])?['‘]?([^\s:'‘’]+)['’]?: (?:command )?(?:not found|No such file or directory)$`)

// explain tells why a step that ran program failed, from how it ended and what it printed.
func explain(line, program string, e sandbox.Exit, stdout, stderr []byte) *Failure {
	f := &Failure{Command: plain.Line(line, 400), Exit: e, Output: lastLines(stderr)}
	if f.Output == "" {
		f.Output = lastLines(stdout)
	}
	f.Exit.Detail = plain.Line(e.Detail, 160)
	if f.Missing, f.Detail = lacking(program, e, stdout, stderr); f.Detail == "" {
		parts := strings.Split(f.Output, separator)
		f.Detail = plain.Line(parts[len(parts)-1], 240)
	}
	if f.Detail == "" {
		f.Detail = f.Exit.String()
	}
	return f
}

func lacking(program string, e sandbox.Exit, stdout, stderr []byte) (Missing, string) {
	switch {
	case e.Cause == sandbox.CauseDeadline:
		return MissingTime, "the run's time was used up"
	case e.Cause == sandbox.CauseNotFound:
		return MissingTool, "the image has no " + plain.Line(program, 80)
	case limits[e.Cause] != "":
		return MissingLimit, "the box's " + string(e.Cause) + " (" + limits[e.Cause] + ") was reached"
	case e.Cause == sandbox.CauseKilled:
		return MissingLimit, "the install was stopped before its end"
	case !e.Exited():
		return "", ""
	case e.Code == 126 || e.Code == 127:
		// A shell's way to say so. What the artifact itself should hold is not the image's to bring.
		m := notFound().FindSubmatch(stderr)
		if m == nil {
			return MissingTool, ""
		}
		if name := string(m[1]); !strings.Contains(name, "artifact/") && !strings.HasPrefix(name, ".") {
			return MissingTool, "the image has no " + plain.Line(name, 80)
		}
	}
	for _, l := range lacks {
		for _, text := range [][]byte{stderr, stdout} {
			if at := l.words().FindIndex(text); at != nil {
				return l.missing, lineAt(text, at[0])
			}
		}
	}
	return "", ""
}

func lineAt(text []byte, at int) string {
	from := strings.LastIndexByte(string(text[:at]), '\n') + 1
	line, _, _ := strings.Cut(string(text[from:]), "\n")
	return plain.Line(strings.TrimSpace(line), 240)
}

// separator stands for a line end.
const separator = " / "

// lastLines is the end of an output as one line.
func lastLines(b []byte) string {
	const most = 400
	var lines []string
	for line := range strings.Lines(string(b[max(0, len(b)-4*most):])) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	s := string(plain.Escape([]byte(strings.Join(lines, separator))))
	if len(s) > most {
		from := len(s) - most
		for !utf8.RuneStart(s[from]) {
			from++
		}
		s = "…" + s[from:]
	}
	return s
}
