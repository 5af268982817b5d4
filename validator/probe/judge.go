package probe

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/trkr-dev/trkr-validate/internal/bound"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// Of each stream this much is looked at, and of each file. What lies beyond can make an outcome unverified, never met.
const (
	outputHead = 16 << 20
	outputTail = 4 << 10
	fileHead   = 1 << 20
)

// ended is what is known of any command after its end.
type ended struct {
	exit    sandbox.Exit
	hurried bool // the run's time limit cut its own short
	stdout  *bound.Buffer
	stderr  *bound.Buffer
}

// seen is what is known of the command of an assertion after its end.
type seen struct {
	ended
	shell         bool  // /bin/sh ran it
	simple        bool  // it is one command
	direct        bool  // a program of the artifact is in it; else one ran in the setup,
	ran           bool  // and that is known to have run there
	wrapped       bool  // a program such as timeout ran it
	shows         shows // what its end says about the artifact's programs in it: about one at least,
	least         shows // and about each
	decoys        bool  // a decoy can show whether its end is the artifact's
	codes         bool  // the assertion names an exit code
	end           bool  // the assertion says how it ends
	before, after map[string]sandbox.File
	earlier       *ended   // the last command of the setup
	listBefore    []string // below the directory, where the outcomes ask for it
	listAfter     []string
	listing       string // why there is no list
	replies       map[string]reply
	stopped       bool // by us, after it had answered
}

// judgement of one outcome. why says what was seen where it is met, beside how the command ended, and what was expected
// where it is not.
type judgement struct {
	status verdict.Status
	why    string
}

func met(format string, args ...any) judgement {
	return judgement{verdict.Met, fmt.Sprintf(format, args...)}
}
func unmet(format string, args ...any) judgement {
	return judgement{verdict.Unmet, fmt.Sprintf(format, args...)}
}
func blocked(format string, args ...any) judgement {
	return judgement{verdict.Blocked, fmt.Sprintf(format, args...)}
}
func unverified(format string, args ...any) judgement {
	return judgement{verdict.Unverified, fmt.Sprintf(format, args...)}
}

// judge decides all outcomes together: the worst of them counts.
func (s *seen) judge(outcomes []Clause) judgement {
	if !s.exit.Exited() && !s.stopped {
		return s.endedBadly(outcomes)
	}
	return s.worst(outcomes)
}

var weight = map[verdict.Status]int{verdict.Met: 0, verdict.Unverified: 1, verdict.Blocked: 2, verdict.Unmet: 3}

func (s *seen) worst(outcomes []Clause) judgement {
	all := judgement{status: verdict.Met}
	for i, c := range outcomes {
		j := c.Outcome.judge(s)
		if s.stopped {
			j = s.unended(outcomes, i, j)
		}
		switch {
		case weight[j.status] > weight[all.status]:
			all = j
		case j.status != all.status || j.why == "":
		case all.why == "":
			all.why = j.why
		case !strings.Contains(all.why, j.why):
			all.why += "; " + j.why
		}
	}
	return all
}

// endedBadly decides where the command did not end by itself with an exit code. It then meets nothing. Where we ended it
// and everything that was asked had already come about, nobody can say whether that is what was meant.
func (s *seen) endedBadly(outcomes []Clause) judgement {
	how := describe(s.exit)
	switch s.exit.Cause {
	case sandbox.CauseNotFound:
		return blocked("%s: it never ran", how)
	case sandbox.CauseKilled:
		return blocked("%s: the run was being stopped", how)
	case sandbox.CauseDeadline, sandbox.CauseOutput:
		if s.exit.Cause == sandbox.CauseDeadline && s.hurried {
			return blocked("%s: the run's time was used up", how)
		}
		for _, c := range outcomes {
			if !early(c.Outcome) {
				return unmet("%s", how)
			}
		}
		j := s.worst(outcomes)
		if j.status != verdict.Met {
			return judgement{j.status, how + "; " + j.why}
		}
		return unverified("%s, after %s; a program that is meant to go on is not checked here", how, j.why)
	default:
		return unmet("%s: a command that does not end by itself meets nothing", how)
	}
}

// early reports whether an outcome can come about before the command's end and then stands.
func early(o Outcome) bool {
	switch o := o.(type) {
	case Prints, PrintsOneOf, PrintsInOrder, PrintsLine, PrintsLineMatching, PrintsSomething, PrintsVersion, UsageMessage, ErrorMessage,
		Creates, Removes, Exists, Answers:
		return true
	case Within:
		return !o.Ends
	}
	return false
}

// doubt says why a code that nobody asked for by its number may be no answer of the program's own.
func (s *seen) doubt() (judgement, bool) {
	code, how := s.exit.Code, ""
	switch {
	case code == 127:
		how = "something was not found"
	case code == 126:
		how = "something could not be run"
	case code > 128 && code <= 192:
		how = fmt.Sprintf("signal %d ended something", code-128)
	case s.wrapped && (code == 124 || code == 125):
		return unmet("exit code %d, by which timeout and its like tell of themselves", code), true
	default:
		return judgement{}, false
	}
	switch {
	case !s.shell:
		return unverified("exit code %d, which scripts pass on where %s; if it is meant, say so: \"exits %d\"", code, how, code), true
	case code == 127:
		return blocked("exit code 127: in a shell that means that %s", how), true
	default:
		return unmet("exit code %d: in a shell that means that %s", code, how), true
	}
}

// own tells whether the exit code is that of the artifact's programs. A code other than 0 may be of a part of the text
// that kept them from running; a decoy in their place then ends in the same way.
func (s *seen) own() (judgement, bool) {
	if s.shows == always || s.shows == ifZero && (s.exit.Code == 0 || s.decoys) {
		return judgement{}, true
	}
	return unverified("exit code %d, but in this shell text that may be another program's", s.exit.Code), false
}

// leans tells whether what was met need not be the artifact's doing. A code other than 0 may be of what kept it from
// running; a word or a file may come from whatever else the text runs; a look at what the setup left may find what it
// would find anyhow. Then only a decoy tells.
func (s *seen) leans(tree *Assertion) bool {
	if !s.direct && !(s.simple && s.ran) || s.shows != always && demandsFailure(tree) {
		return true
	}
	own := s.simple && (s.shows == always || s.shows == ifZero && s.exit.Code == 0)
	return !own && slices.ContainsFunc(tree.Outcomes, func(c Clause) bool { return positive(c.Outcome) })
}

// positive reports whether an outcome is something that came about, beside an end.
func positive(o Outcome) bool {
	switch o := o.(type) {
	case DoesNotPrint, PrintsNothing, NoLineMatching, Unchanged, Keeps, Missing, DoesNotCreate, CreatesNothing:
		return false
	case Output:
		return !o.Not
	case Holds:
		return !o.Not
	}
	return !isEnd(o)
}

// failed decides "fails" and "exits non-zero": a code of the program's own that is not 0.
func (s *seen) failed() judgement {
	if s.exit.Code == 0 {
		return unmet("expected a failure, got exit code 0")
	}
	if j, doubt := s.doubt(); doubt {
		return j
	}
	if j, own := s.own(); !own {
		return j
	}
	return met("")
}

// absent passes a negative outcome only where the program ran to an end of its own: what crashed prints nothing either.
func (s *seen) absent(j judgement) judgement {
	if d, doubt := s.doubt(); doubt && !s.codes {
		return d
	}
	if s.least == hidden || s.least == ifZero && s.exit.Code != 0 {
		return unverified("%s, but this shell text hides whether the program ran to its end", j.why)
	}
	return j
}

func (o Exits) judge(s *seen) judgement {
	if !slices.Contains(o.Codes, s.exit.Code) {
		return unmet("expected exit code %s, got %d", strings.TrimPrefix(o.String(), "exits "), s.exit.Code)
	}
	if j, own := s.own(); !own {
		return j
	}
	return met("")
}

func (ExitsNonZero) judge(s *seen) judgement { return s.failed() }
func (Fails) judge(s *seen) judgement        { return s.failed() }
func (Succeeds) judge(s *seen) judgement     { return Exits{[]int{0}}.judge(s) }

// judge passes any code that the program ended with by itself, unless what it said could be a runtime's last words.
func (DoesNotCrash) judge(s *seen) judgement {
	if list := s.streams(AnyStream); s.exit.Code != 0 && len(list[0].data)+len(list[1].data) > 0 {
		return unverified("exit code %d, which may be a crash that its runtime reports (say the code that is meant): %s", s.exit.Code, show(list))
	}
	return s.absent(met(""))
}

func (o Within) judge(s *seen) judgement {
	took := s.exit.Elapsed.Round(time.Millisecond)
	switch {
	case s.exit.Elapsed <= o.Limit && o.Ends && !s.end && s.exit.Code != 0:
		return unverified("after %s, but with exit code %d, and it is open whether it has to succeed", took, s.exit.Code)
	case s.exit.Elapsed <= o.Limit:
		return met("after %s", took)
	case o.Ends:
		return unmet("expected within %s, took %s", limit(o.Limit), took)
	default:
		return unverified("it ended after %s, which does not show whether that came within %s", took, limit(o.Limit))
	}
}
