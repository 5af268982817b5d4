// Package service runs what a product needs beside it, such as a database: started before a check and ended with it,
// each under a uid of its own. What a service does is never something that the product did.
package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/trkr-dev/trkr-validate/internal/bound"
	"github.com/trkr-dev/trkr-validate/internal/plain"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/validator"
)

// Within is how long one service may take to get ready.
const Within = 30 * time.Second

const keep = 16 << 10 // bytes of output from each end

// Group is the services of one check. They run until it is closed.
type Group struct {
	criterion string
	task      validator.Task
	path      string
	all       []*running
}

type running struct {
	command string
	session sandbox.Session
	stop    context.CancelFunc
	over    chan struct{} // closed when it has ended; what follows is then known
	exit    sandbox.Exit
	err     error
	output  *bound.Buffer
}

// Start starts the task's services one after the other, each when the one before is ready. why is not empty where one
// did not get ready, with what it printed: then nothing can be checked. The error is about the box alone. The caller
// closes the group in any case.
func Start(ctx context.Context, box sandbox.Sandbox, task validator.Task, criterion string) (g *Group, why string, err error) {
	g = &Group{criterion: criterion, task: task, path: strings.Join(append([]string{box.Info().Path}, task.Path...), ":")}
	for _, s := range task.Services {
		if why, err = g.start(ctx, box, s); why != "" || err != nil {
			return g, why, err
		}
	}
	return g, "", nil
}

func (g *Group) start(ctx context.Context, box sandbox.Sandbox, s validator.Service) (string, error) {
	session, err := g.open(ctx, box)
	if err != nil {
		return "", err
	}
	serving, stop := context.WithCancel(ctx)
	r := &running{command: s.Command, session: session, stop: stop, over: make(chan struct{}), output: bound.NewBuffer(keep, keep)}
	g.all = append(g.all, r)
	go func() {
		defer close(r.over)
		r.exit, r.err = session.Run(serving, sandbox.Command{Args: []string{"/bin/sh", "-c", s.Command}, Stdout: r.output, Stderr: r.output})
	}()
	reason, err := g.await(ctx, box, r, s.Ready)
	if reason == "" || err != nil {
		return "", err
	}
	stop()
	<-r.over
	if said := lastWords(r.output); said != "" {
		reason += "; it printed: " + said
	}
	return fmt.Sprintf("the service `%s` %s", plain.Line(s.Command, 120), reason), nil
}

func (g *Group) open(ctx context.Context, box sandbox.Sandbox) (sandbox.Session, error) {
	s, err := box.Open(ctx, sandbox.SessionSpec{Role: sandbox.RoleService, Env: []string{"PATH=" + g.path}})
	if err != nil {
		return nil, fmt.Errorf("opening a session for a service: %w", err)
	}
	return s, nil
}

// await waits until the service is ready, has ended, or has had its time.
func (g *Group) await(ctx context.Context, box sandbox.Sandbox, r *running, sign string) (why string, err error) {
	from, err := g.open(ctx, box)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	limit := min(Within, g.task.Timeout)
	began := time.Now()
	waiting, enough := context.WithTimeout(ctx, limit)
	defer enough()
	go func() {
		select {
		case <-r.over:
			enough()
		case <-waiting.Done():
		}
	}()
	for {
		no, err := ask(waiting, from, sign, limit-time.Since(began))
		select {
		case <-r.over:
			if r.err != nil {
				return "", r.err
			}
			return fmt.Sprintf("ended before it was ready (%s)", r.exit), nil
		default:
		}
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case waiting.Err() != nil:
			return fmt.Sprintf("was not ready (%s) within %s", plain.Line(sign, 120), limit.Round(time.Millisecond)), nil
		case err != nil:
			return "", err
		case no == "":
			return "", nil
		}
		select {
		case <-waiting.Done():
		case <-time.After(pause):
		}
	}
}

// Close ends the services, the last one first, and tells of each what it printed and how it ended.
func (g *Group) Close() error {
	var err error
	log := plain.New(g.task.Transcript)
	for _, r := range slices.Backward(g.all) {
		r.stop()
		<-r.over
		if r.err != nil && !errors.Is(r.err, context.Canceled) {
			err = errors.Join(err, fmt.Errorf("running the service %q: %w", plain.Line(r.command, 120), r.err))
		}
		err = errors.Join(err, r.session.Close(), r.transcribe(log))
		if g.task.Ran != nil {
			g.task.Ran(validator.Ran{Criterion: g.criterion, Command: "service: " + r.command, Exit: r.exit})
		}
	}
	g.all = nil
	return err
}

func (r *running) transcribe(log *plain.Log) error {
	err := log.Printf("service $ %s", r.command)
	out := log.Stream("  svc| ")
	_, werr := out.Write(r.output.Bytes())
	return errors.Join(err, werr, out.Close(), log.Printf("  %s", r.exit))
}

// Ended tells which services have ended although nobody ended them; empty where all run.
func (g *Group) Ended() string {
	var gone []string
	for _, r := range g.all {
		select {
		case <-r.over:
			gone = append(gone, fmt.Sprintf("the service `%s` has ended (%s)", plain.Line(r.command, 120), r.exit))
		default:
		}
	}
	return strings.Join(gone, "; ")
}

// lastWords are the end of what was printed, as one safe line.
func lastWords(b *bound.Buffer) string {
	text := strings.Join(strings.FieldsFunc(b.String(), func(r rune) bool { return r == '\n' || r == '\r' }), " / ")
	const most = 400
	if len(text) > most {
		text = "…" + strings.ToValidUTF8(text[len(text)-most:], "")
	}
	return string(plain.Escape([]byte(text)))
}
