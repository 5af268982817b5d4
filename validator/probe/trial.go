package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/trkr-dev/trkr-validate/internal/bound"
	"github.com/trkr-dev/trkr-validate/internal/service"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/validator"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// ownTimeout is a command's own; one with a "within" that is longer gets that and a little more.
const ownTimeout = time.Minute

// trial is one assertion in one session.
type trial struct {
	*checker
	id      string
	tree    *Assertion
	decoy   bool
	code    int // of the decoys
	inside  sandbox.Session
	mine    []program // the artifact's programs among those that are run
	places  []string  // where they are
	ran     bool      // one of them has run to a good end in the setup
	earlier *ended    // the last one
	words   []string  // what other programs are given: one that the artifact has on PATH may be run by them
}

// result of a trial.
type result struct {
	status      verdict.Status
	evidence    string
	replaceable bool // a decoy can take the place of what was run
	leans       bool // it is met only if a decoy in its place does not meet it
	simple      bool // the command is one, and nothing runs beside it
}

// run decides the assertion. The error is about the box alone.
func (t *trial) run(ctx context.Context) (r result, err error) {
	spec := t.checker.session()
	if t.decoy {
		spec.Decoys, spec.DecoyExit = t.task.Programs, t.code
	}
	services, why, err := service.Start(ctx, t.box, t.task, t.id)
	defer func() {
		if closeErr := services.Close(); closeErr != nil && err == nil {
			r, err = spoiled(ctx, r, closeErr)
		}
	}()
	if err != nil {
		return trouble(ctx, err)
	}
	if why != "" {
		return result{status: verdict.Blocked, evidence: why}, nil
	}
	if t.inside, err = t.box.Open(ctx, spec); err != nil {
		return trouble(ctx, err)
	}
	defer func() {
		if closeErr := t.inside.Close(); closeErr != nil && err == nil {
			r, err = spoiled(ctx, r, closeErr)
		}
	}()
	for _, g := range t.tree.Given {
		if j, err := t.put(ctx, g); err != nil {
			return trouble(ctx, err)
		} else if j.status != verdict.Met {
			return result{status: j.status, evidence: j.why}, nil
		}
	}
	for _, c := range t.tree.Setup {
		j, err := t.prepare(ctx, c)
		if err != nil {
			return trouble(ctx, err)
		}
		if j.status != verdict.Met {
			return result{status: verdict.Blocked, evidence: j.why}, nil
		}
	}
	if j, err := t.ground(ctx); err != nil {
		return trouble(ctx, err)
	} else if j.status != verdict.Met {
		return result{status: j.status, evidence: j.why}, nil
	}
	s, j, err := t.look(ctx)
	if err != nil {
		return trouble(ctx, err)
	}
	if gone := services.Ended(); gone != "" && j.status != verdict.Met {
		j.why = gone + "; " + j.why
	}
	return result{
		status: j.status, evidence: j.why, replaceable: replaceable(t.mine, t.task.Programs), leans: s.leans(t.tree), simple: s.simple,
	}, nil
}

// spoiled is the result of a trial whose session could not be closed. What the artifact did wrong it did before that.
func spoiled(ctx context.Context, r result, closing error) (result, error) {
	t, err := trouble(ctx, closing)
	if weight[r.status] >= weight[verdict.Blocked] {
		return r, err
	}
	return t, err
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
	e, err := t.exec(ctx, c, p, sandbox.Command{}, ownTimeout)
	if err != nil {
		return judgement{}, err
	}
	t.earlier = &e
	t.note(p, places)
	if !e.exit.Exited() || e.exit.Code != 0 {
		return blocked("setup %s did not succeed: %s; %s", name(c), describe(e.exit), show(e.streams(AnyStream))), nil
	}
	most, _, found := t.shown(p, places)
	t.ran = t.ran || found && most != hidden && p.opaque == ""
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

// belongs reports whether a program is the artifact's: where the image is, every one is.
func (t *trial) belongs(place string) bool {
	return belongs(place) || t.product && path.IsAbs(place)
}

// note remembers which of the programs are the artifact's.
func (t *trial) note(p plan, places []string) {
	for i, place := range places {
		if !t.belongs(place) {
			t.words = append(t.words, p.programs[i].words...)
		} else if p.opaque == "" {
			t.mine = append(t.mine, p.programs[i])
			if !slices.Contains(t.places, place) {
				t.places = append(t.places, place)
			}
		}
	}
}

// look runs the command itself and judges what it did.
func (t *trial) look(ctx context.Context) (*seen, judgement, error) {
	c, s := t.tree.Command, &seen{}
	p, places, j, err := t.find(ctx, c)
	if err != nil || j.status != verdict.Met {
		return s, j, err
	}
	t.note(p, places)
	starts := p.argv == nil || t.decoy || places[0] != ""
	switch {
	case t.tree.Dir != "" && slices.ContainsFunc(p.programs, func(p program) bool { return !lasting(p.name) }):
		return s, unverified("%s: a program named by a relative path is not looked up in another directory", name(c)), nil
	case p.opaque != "":
		return s, unverified("%s: it cannot be told which programs run: %s", name(c), p.opaque), nil
	case starts && !t.decoy && len(t.mine) == 0:
		return s, unverified("%s: only the image's programs were exercised", name(c)), nil
	}
	if t.product && (p.argv == nil || len(p.programs) > 1) {
		return s, unverified("%s: the image is the product, so the shell and every other program beside it would be its own judge: name one program of it, with its arguments", name(c)), nil
	}
	if j, err := t.umpire(ctx); err != nil || j.status != verdict.Met {
		return s, j, err
	}
	s = &seen{
		shell: p.argv == nil, wrapped: p.wrapped, simple: p.simple, ran: t.ran, decoys: t.decoy || replaceable(t.mine, t.task.Programs),
		earlier: t.earlier, replies: map[string]reply{},
	}
	s.shows, s.least, s.direct = t.shown(p, places)
	own, paths, listing := t.needs(s)
	if s.before, err = t.files(ctx, paths); err != nil {
		return s, judgement{}, err
	}
	if listing {
		if s.listBefore, s.listing, err = t.list(ctx); err != nil {
			return s, judgement{}, err
		}
	}
	if len(requests(t.tree)) > 0 {
		err = t.serve(ctx, c, p, s)
	} else {
		s.ended, err = t.exec(ctx, c, p, t.around(), own)
	}
	if err != nil {
		return s, judgement{}, err
	}
	if !starts && s.exit.Ran() {
		return s, unverified("%s: it cannot be told which program ran", name(c)), nil
	}
	if s.after, err = t.files(ctx, paths); err != nil {
		return s, judgement{}, err
	}
	if listing && s.listing == "" {
		if s.listAfter, s.listing, err = t.list(ctx); err != nil {
			return s, judgement{}, err
		}
	}
	j = s.judge(t.tree.Outcomes)
	j.why = t.evidence(c, s, j)
	return s, j, nil
}

// needs tells how much time the command gets, and what is looked at before and after it.
func (t *trial) needs(s *seen) (own time.Duration, paths []string, listing bool) {
	own = ownTimeout
	for _, clause := range t.tree.Outcomes {
		s.end = s.end || isEnd(clause.Outcome)
		switch o := clause.Outcome.(type) {
		case Within:
			own = max(own, o.Limit+10*time.Second)
		case Exits:
			s.codes = true
		case CreatesNothing:
			listing = true
		default:
			if p := pathOf(o); p != "" && !slices.Contains(paths, p) {
				paths = append(paths, p)
			}
		}
	}
	return own, paths, listing
}

// umpire looks for a program of the artifact that stands before one of the image's of the same name. Beside another
// one of the artifact it would be the artifact that decides on itself. Met: there is none.
func (t *trial) umpire(ctx context.Context) (judgement, error) {
	names := map[string]bool{}
	for _, p := range t.mine {
		names[p.name] = true
	}
	for _, w := range t.words {
		if slices.Contains(t.task.Programs, w) {
			names[w] = true
		}
	}
	if t.decoy || len(names) < 2 {
		return met(""), nil
	}
	over, err := t.lookup.hides(ctx, t.inside, slices.Sorted(maps.Keys(names)))
	if err != nil || over == "" {
		return met(""), err
	}
	return unverified("the artifact's own %s would decide: it stands in front of the image's program of that name", quote([]byte(over), 80)), nil
}

// shown tells what the command's end says about the artifact's programs in it: about the one that it says most of, and
// the one that it says least of. Where none is found, the artifact ran in the setup only, and the command is a look at
// what that left, by programs that are trusted.
func (t *trial) shown(p plan, places []string) (most, least shows, found bool) {
	most, least = hidden, always
	looks := always
	for i, prog := range p.programs {
		if t.belongs(places[i]) {
			most, least, found = max(most, prog.shows), min(least, prog.shows), true
		}
		if prog.shows == ifZero {
			looks = ifZero
		}
	}
	if found {
		return most, least, true
	}
	return looks, looks, false
}

func (t *trial) files(ctx context.Context, paths []string) (map[string]sandbox.File, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	places := make([]string, len(paths))
	for i, p := range paths {
		places[i] = path.Join(t.tree.Dir, p)
	}
	files, err := t.inside.Observe(ctx, fileHead, places...)
	if err != nil {
		return nil, err
	}
	m := map[string]sandbox.File{}
	for i, f := range files {
		m[paths[i]] = f
	}
	return m, nil
}

// around is what the assertion says of the command itself: its input, variables and directory.
func (t *trial) around() (cmd sandbox.Command) {
	for _, e := range t.tree.Env {
		if strings.Contains(e, "=") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	if t.tree.Dir != "" {
		cmd.Dir = path.Join(t.inside.Dir(), t.tree.Dir)
	}
	if t.tree.Input.Given {
		cmd.Stdin = strings.NewReader(t.tree.Input.Text)
	}
	return cmd
}

// exec runs one command to its end.
func (t *trial) exec(ctx context.Context, c Command, p plan, cmd sandbox.Command, own time.Duration) (ended, error) {
	s := ended{stdout: bound.NewBuffer(outputHead, outputTail), stderr: bound.NewBuffer(outputHead, outputTail)}
	left := time.Until(t.until)
	if left <= 0 {
		s.hurried, s.exit = true, sandbox.Exit{Code: -1, Cause: sandbox.CauseDeadline, Detail: "it was not started"}
		return s, nil
	}
	s.hurried = left < own
	cmd.Args, cmd.Stdout, cmd.Stderr, cmd.Timeout = p.argv, s.stdout, s.stderr, min(own, left)
	if cmd.Args == nil {
		cmd.Args = []string{"/bin/sh", "-c", c.Text}
	}
	var err error
	if s.exit, err = t.inside.Run(ctx, cmd); err != nil {
		s.exit.Code, s.exit.Cause = -1, sandbox.CauseKilled // whatever it was, it is no end of its own
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
	if s.stopped {
		ran += ": stopped by us after " + s.exit.Elapsed.Round(time.Millisecond).String()
	} else {
		ran += ": " + describe(s.exit)
	}
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
