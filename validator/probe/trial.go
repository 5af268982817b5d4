package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/trkr-dev/trkr-validate/internal/bound"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/validator"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// ownTimeout is a command's own; one with a "within" that is longer gets that and a little more.
const ownTimeout = time.Minute

// trial is one assertion in one session.
type trial struct {
	*checker
	id     string
	tree   *Assertion
	decoy  bool
	inside sandbox.Session
	mine   []program // the artifact's programs among those that are run
	places []string  // where they are
	shows  shows     // what the end of the command says of them
}

// result of a trial.
type result struct {
	status      verdict.Status
	evidence    string
	replaceable bool // a decoy can take the place of what was run
	leans       bool // it is met only if a decoy does not end in the same way
}

// run decides the assertion. The error is about the box alone.
func (t *trial) run(ctx context.Context) (r result, err error) {
	spec := t.checker.session()
	if t.decoy {
		spec.Decoys = t.task.Programs
	}
	if t.inside, err = t.box.Open(ctx, spec); err != nil {
		return trouble(ctx, err)
	}
	defer func() {
		if closeErr := t.inside.Close(); closeErr != nil && err == nil {
			r, err = trouble(ctx, closeErr)
		}
	}()
	for _, c := range t.tree.Setup {
		j, err := t.prepare(ctx, c)
		if err != nil {
			return trouble(ctx, err)
		}
		if j.status != verdict.Met {
			return result{status: verdict.Blocked, evidence: j.why}, nil
		}
	}
	j, err := t.look(ctx)
	if err != nil {
		return trouble(ctx, err)
	}
	return result{
		status: j.status, evidence: j.why, replaceable: replaceable(t.mine, t.task.Programs), leans: t.shows != always && demandsFailure(t.tree),
	}, nil
}

// trouble tells a box that is lost from one that could not do one thing: that prevents this assertion only.
func trouble(ctx context.Context, err error) (result, error) {
	var lost *sandbox.LostError
	if errors.As(err, &lost) || ctx.Err() != nil {
		return result{}, err
	}
	return result{status: verdict.Blocked, evidence: "the box could not do what the check needs: " + safe(err.Error(), 400)}, nil
}

// prepare runs a setup command, which has to succeed.
func (t *trial) prepare(ctx context.Context, c Command) (judgement, error) {
	p, places, j, err := t.find(ctx, c)
	if err != nil || j.status != verdict.Met {
		j.why = "setup " + j.why
		return j, err
	}
	e, err := t.exec(ctx, c, p, Input{}, ownTimeout)
	if err != nil {
		return judgement{}, err
	}
	t.note(p, places)
	if !e.exit.Exited() || e.exit.Code != 0 {
		return blocked("setup %s did not succeed: %s; %s", name(c), describe(e.exit), show(e.streams(AnyStream))), nil
	}
	return met(""), nil
}

// find resolves the programs of a command. Met: all are there.
func (t *trial) find(ctx context.Context, c Command) (plan, []string, judgement, error) {
	p, err := read(c.Text)
	if err != nil { // Parse has read it before
		return p, nil, judgement{}, err
	}
	if t.decoy {
		return p, t.lookup.known(p.programs), met(""), nil
	}
	places, err := t.lookup.find(ctx, t.inside, p.programs)
	if err != nil {
		return p, nil, judgement{}, err
	}
	for i, place := range places {
		if place == "" && (i > 0 || p.argv == nil) { // without a shell, its end tells why it cannot be run
			return p, nil, blocked("%s: %s was not found, so it never ran", name(c), quote([]byte(p.programs[i].name), 120)), nil
		}
	}
	return p, places, met(""), nil
}

// note remembers which of the programs are the artifact's.
func (t *trial) note(p plan, places []string) {
	for i, place := range places {
		if p.opaque == "" && belongs(place) {
			t.mine = append(t.mine, p.programs[i])
			if !slices.Contains(t.places, place) {
				t.places = append(t.places, place)
			}
		}
	}
}

// look runs the command itself and judges what it did.
func (t *trial) look(ctx context.Context) (judgement, error) {
	c := t.tree.Command
	p, places, j, err := t.find(ctx, c)
	if err != nil || j.status != verdict.Met {
		return j, err
	}
	t.note(p, places)
	starts := p.argv == nil || t.decoy || places[0] != ""
	if starts && !t.decoy && len(t.mine) == 0 {
		why := "only the image's programs were exercised"
		if p.opaque != "" {
			why = "it cannot be told which programs run: " + p.opaque
		}
		return unverified("%s: %s", name(c), why), nil
	}
	s, own := &seen{shell: p.argv == nil, wrapped: p.wrapped, decoys: t.decoy || replaceable(t.mine, t.task.Programs)}, ownTimeout
	s.shows, s.least = shown(p, places)
	t.shows = s.shows
	var paths []string
	for _, clause := range t.tree.Outcomes {
		switch o := clause.Outcome.(type) {
		case Creates:
			paths = append(paths, o.Path)
		case Removes:
			paths = append(paths, o.Path)
		case Unchanged:
			paths = append(paths, o.Path)
		case Within:
			own = max(own, o.Limit+10*time.Second)
		case Exits:
			s.codes = true
		}
	}
	if s.before, err = t.files(ctx, paths); err != nil {
		return judgement{}, err
	}
	if s.ended, err = t.exec(ctx, c, p, t.tree.Input, own); err != nil {
		return judgement{}, err
	}
	if !starts && s.exit.Ran() {
		return unverified("%s: it cannot be told which program ran", name(c)), nil
	}
	if s.after, err = t.files(ctx, paths); err != nil {
		return judgement{}, err
	}
	j = s.judge(t.tree.Outcomes)
	j.why = t.evidence(c, s, j)
	return j, nil
}

// shown tells what the command's end says about the artifact's programs in it: about the one that it says most of, and
// the one that it says least of. Where the artifact ran in the setup only, the command is a look at what that left, by
// programs that are trusted.
func shown(p plan, places []string) (most, least shows) {
	most, least = hidden, always
	looks, found := always, false
	for i, prog := range p.programs {
		if belongs(places[i]) {
			most, least, found = max(most, prog.shows), min(least, prog.shows), true
		}
		if prog.shows == ifZero {
			looks = ifZero
		}
	}
	if found {
		return most, least
	}
	return looks, looks
}

func (t *trial) files(ctx context.Context, paths []string) (map[string]sandbox.File, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	files, err := t.inside.Observe(ctx, fileHead, paths...)
	if err != nil {
		return nil, err
	}
	m := map[string]sandbox.File{}
	for i, f := range files {
		m[paths[i]] = f
	}
	return m, nil
}

// exec runs one command to its end.
func (t *trial) exec(ctx context.Context, c Command, p plan, in Input, own time.Duration) (ended, error) {
	s := ended{stdout: bound.NewBuffer(outputHead, outputTail), stderr: bound.NewBuffer(outputHead, outputTail)}
	left := time.Until(t.until)
	if left <= 0 {
		s.hurried, s.exit = true, sandbox.Exit{Code: -1, Cause: sandbox.CauseDeadline, Detail: "it was not started"}
		return s, nil
	}
	s.hurried = left < own
	cmd := sandbox.Command{Args: p.argv, Stdout: s.stdout, Stderr: s.stderr, Timeout: min(own, left)}
	if cmd.Args == nil {
		cmd.Args = []string{"/bin/sh", "-c", c.Text}
	}
	if in.Given {
		cmd.Stdin = strings.NewReader(in.Text)
	}
	var err error
	if s.exit, err = t.inside.Run(ctx, cmd); err != nil {
		return s, err
	}
	what := c.Text
	if t.decoy {
		what = "decoy: " + what
	}
	if t.task.Ran != nil {
		t.task.Ran(validator.Ran{Criterion: t.id, Command: what, Exit: s.exit})
	}
	transcribe(t.task.Transcript, t.id, what, s)
	return s, nil
}

// evidence tells what ran, how it ended and what shows the judgement, most telling first.
func (t *trial) evidence(c Command, s *seen, j judgement) string {
	ran := name(c)
	if len(t.places) > 0 {
		ran += " ran " + safe(strings.Join(t.places, ", "), 160)
	}
	ran += ": " + describe(s.exit)
	switch {
	case j.status == verdict.Met && j.why == "":
		return ran
	case j.status == verdict.Met:
		return ran + "; " + j.why
	}
	out := ""
	for _, x := range s.streams(AnyStream) {
		if len(x.data) > 0 && !strings.Contains(j.why, x.name+" ") {
			out += fmt.Sprintf("; %s %s", x.name, quote(x.data, 120))
		}
	}
	return j.why + "; " + ran + out
}

func name(c Command) string { return "`" + safe(c.Text, 120) + "`" }

// transcribe writes what a command did for people: each line of output marked and made safe.
func transcribe(w io.Writer, id, command string, s ended) {
	fmt.Fprintf(w, "%s $ %s\n", id, safe(command, 2000))
	for _, x := range s.streams(AnyStream) {
		data := x.data[:min(len(x.data), 64<<10)]
		for line := range strings.Lines(string(data)) {
			fmt.Fprintf(w, "  %s| %s\n", x.name[3:], safe(strings.TrimSuffix(line, "\n"), 4000))
		}
		if rest := x.cut + int64(len(x.data)-len(data)); rest > 0 {
			fmt.Fprintf(w, "  %s| [%d bytes more]\n", x.name[3:], rest)
		}
	}
	fmt.Fprintf(w, "  %s\n", describe(s.exit))
}
