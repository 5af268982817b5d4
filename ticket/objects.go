package ticket

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// object is what the repository holds of a name; without a kind it holds nothing.
type object struct {
	name, id, kind string
	data           []byte
}

const (
	codeObjects = "objects_missing"
	codeDamaged = "objects_damaged"
)

// lacking is the fault of an object that should be there.
func (o object) lacking() error {
	return fault.Envf(codeObjects, []string{"in a partial clone, check the ticket's branch out first, or make a full clone; git fsck tells more"},
		"the repository lacks %s", o.name)
}

// damaged is the fault of an object that is not what its name says.
func (o object) damaged() error {
	return fault.Envf(codeDamaged, []string{"git fsck tells more; make a fresh clone"}, "the repository's object %s is damaged", o.name)
}

// reader reads objects with one git program, which is started when the first is asked for and kept for the next ones.
type reader struct {
	git program
	at  place

	mu  sync.Mutex
	run *reading // nil: none runs
}

// reading is the program of a reader.
type reading struct {
	cmd    *exec.Cmd
	kill   func()
	in     io.WriteCloser
	out    *bufio.Reader
	stderr *bounded
}

// objects reads what names stand for.
func (r *reader) objects(ctx context.Context, names []string) ([]object, error) {
	for _, name := range names {
		if strings.Contains(name, "\n") {
			return nil, fmt.Errorf("%q has a line end", name) // git is asked line by line
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := r.run != nil
	objects, err := r.ask(ctx, names)
	if kept && err != nil && r.run == nil && ctx.Err() == nil {
		return r.ask(ctx, names) // it may have been killed since the last question
	}
	return objects, err
}

func (r *reader) ask(ctx context.Context, names []string) ([]object, error) {
	c := call{at: r.at, args: []string{"cat-file", "--batch"}}
	ctx, cancel := context.WithTimeoutCause(ctx, c.limit(), errTooSlow)
	defer cancel()
	if r.run == nil {
		var err error
		if r.run, err = r.git.read(c); err != nil {
			return nil, err
		}
	}
	run := r.run
	alive := context.AfterFunc(ctx, run.kill)
	go io.WriteString(run.in, strings.Join(names, "\n")+"\n") //nolint:errcheck // a program that takes no question gives no answer
	objects, err := run.answers(names, r.git.limit)
	if alive() && err == nil {
		return objects, nil
	}
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		run.kill()
	}
	r.run = nil
	ended := run.end()
	if errors.Is(err, io.ErrUnexpectedEOF) || err == nil {
		err = c.failure(ctx, ended, run.stderr)
	}
	return nil, err
}

// rest ends the program. It is idempotent; the next question starts another one.
func (r *reader) rest() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.run != nil {
		r.run.kill()
		_ = r.run.end()
		r.run = nil
	}
}

func (p program) read(c call) (*reading, error) {
	life, kill := context.WithCancel(context.Background())
	r := &reading{cmd: p.command(life, c), kill: kill, stderr: &bounded{limit: stderrLimit}}
	r.cmd.Stderr = r.stderr
	in, err := r.cmd.StdinPipe()
	var out io.ReadCloser
	if err == nil {
		out, err = r.cmd.StdoutPipe()
	}
	if err == nil {
		err = r.cmd.Start()
	}
	if err != nil {
		kill()
		return nil, fault.Env(codeFailed, fmt.Errorf("git %s: %w", c.args[0], err))
	}
	r.in, r.out = in, bufio.NewReader(out)
	return r, nil
}

// answers reads one object for each name, all of them at most limit bytes, and makes sure that each is what its id says:
// git itself does not look. The error is io.ErrUnexpectedEOF where the program ended before.
func (r *reading) answers(names []string, limit int) ([]object, error) {
	objects := make([]object, len(names))
	for i, name := range names {
		head, err := r.out.ReadString('\n')
		if err != nil {
			return nil, io.ErrUnexpectedEOF
		}
		head = strings.TrimSuffix(head, "\n")
		o := object{name: name}
		var size int
		if head != name+" missing" {
			if _, err := fmt.Sscan(head, &o.id, &o.kind, &size); err != nil || size < 0 {
				return nil, fmt.Errorf("git printed %q", head)
			}
			if limit -= size; limit < 0 {
				return nil, tooMuch("cat-file", size)
			}
			o.data = make([]byte, size+1) // and a line end
			if _, err := io.ReadFull(r.out, o.data); err != nil {
				return nil, io.ErrUnexpectedEOF
			}
			o.data = o.data[:size]
			if objectID(o.kind, o.data, len(o.id)) != o.id {
				return nil, o.damaged()
			}
		}
		objects[i] = o
	}
	return objects, nil
}

// end waits for the end of a program that was killed, or that ended by itself, and tells how.
func (r *reading) end() error {
	_ = r.in.Close()
	err := r.cmd.Wait()
	r.kill()
	return err
}

// objects reads what names stand for.
func (r *Repo) objects(ctx context.Context, names []string) ([]object, error) {
	return r.reader.objects(ctx, names)
}

// Rest ends the git program that is kept for reading objects. Call it before anything of a ticket runs, which could
// lay hands on it, and when done with the repository. It is idempotent; the repository can be used on.
func (r *Repo) Rest() { r.reader.rest() }
