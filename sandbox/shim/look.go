package shim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/internal/wire"
)

// Bounds of what helpers may answer, whatever the box holds.
const (
	maxFiles   = 2_000_000
	maxNames   = 256 << 20 // bytes of the names, link targets and digests of one listing
	maxFacts   = 64
	helperTime = 2 * time.Minute // for looks that read little
)

func (c *Client) Inputs(ctx context.Context, full int64) ([]sandbox.File, error) {
	var files []sandbox.File
	err := c.help(ctx, 0, wire.HelperInputs, wire.Params{Full: full}, maxNames, 0, func(r *wire.Reader) error {
		f, err := readFile(r, 0)
		if err != nil {
			return err
		}
		if len(files) >= maxFiles {
			return fmt.Errorf("more than %d files", maxFiles)
		}
		files = append(files, f)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing the inputs from inside the box: %w", err)
	}
	return files, nil
}

func (c *Client) Isolation(ctx context.Context) (map[string]string, error) {
	facts := map[string]string{}
	err := c.help(ctx, 0, wire.HelperIsolation, wire.Params{}, maxFacts*wire.MaxAnswer, helperTime, func(r *wire.Reader) error {
		var f wire.Fact
		if err := r.ReadJSON(wire.KindMessage, &f, wire.MaxAnswer); err != nil {
			return err
		}
		if len(facts) >= maxFacts {
			return fmt.Errorf("more than %d facts", maxFacts)
		}
		facts[short(f.Key)] = short(f.Value)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("looking at the isolation from inside the box: %w", err)
	}
	return facts, nil
}

// Observe looks at files that the box was made with, for engines: whoever looks follows no link, and before the first
// command there is nothing of the subject's. Bounds and answers are those of Session.Observe.
func (c *Client) Observe(ctx context.Context, content int64, paths ...string) ([]sandbox.File, error) {
	return c.observe(ctx, 0, "/", content, paths)
}

func (s *session) Observe(ctx context.Context, content int64, paths ...string) ([]sandbox.File, error) {
	return s.c.observe(ctx, s.id, s.dir, content, paths)
}

func (c *Client) observe(ctx context.Context, session uint64, dir string, content int64, paths []string) ([]sandbox.File, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	files := make([]sandbox.File, 0, len(paths))
	most := int64(len(paths)) * (content + wire.MaxAnswer)
	err := c.help(ctx, session, wire.HelperObserve, wire.Params{Content: content, Names: wire.Bytes(paths), Dir: []byte(dir)}, most, helperTime,
		func(r *wire.Reader) error {
			f, err := readFile(r, content)
			if err != nil {
				return err
			}
			if len(files) >= len(paths) {
				return errors.New("more files than asked for")
			}
			f.Path = paths[len(files)]
			files = append(files, f)
			return nil
		})
	if err == nil && len(files) != len(paths) {
		err = fmt.Errorf("%d of %d files were seen", len(files), len(paths))
	}
	if err != nil {
		return nil, fmt.Errorf("looking at files in the box: %w", err)
	}
	return files, nil
}

func (s *session) LookPath(ctx context.Context, names ...string) ([]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	found := make([]string, 0, len(names))
	err := s.c.help(ctx, s.id, wire.HelperLookPath, wire.Params{Names: wire.Bytes(names), Dir: []byte(s.dir)}, int64(len(names))*wire.MaxAnswer, helperTime,
		func(r *wire.Reader) error {
			f, err := readFile(r, 0)
			if err != nil {
				return err
			}
			if len(found) >= len(names) {
				return errors.New("more programs than asked for")
			}
			found = append(found, f.Path)
			return nil
		})
	if err == nil && len(found) != len(names) {
		err = fmt.Errorf("%d of %d programs were looked up", len(found), len(names))
	}
	if err != nil {
		return nil, fmt.Errorf("looking for programs in the box: %w", err)
	}
	return found, nil
}

// readFile reads one file of a helper's answer with at most content bytes.
func readFile(r *wire.Reader, content int64) (sandbox.File, error) {
	var f wire.File
	if err := r.ReadJSON(wire.KindMessage, &f, wire.MaxAnswer); err != nil {
		return sandbox.File{}, err
	}
	if f.Bytes < 0 || f.Bytes > content || len(f.Path) > wire.MaxPath || len(f.Target) > wire.MaxPath || len(f.Digest) > 64 {
		return sandbox.File{}, fmt.Errorf("%w: a file beyond its bounds", wire.ErrFrame)
	}
	out := sandbox.File{
		Path: string(f.Path), Type: short(f.Type), Mode: f.Mode, Size: f.Size, Digest: f.Digest, Partial: f.Partial, Target: string(f.Target),
	}
	for int64(len(out.Content)) < f.Bytes {
		k, b, err := r.Next(0)
		if err != nil {
			return sandbox.File{}, err
		}
		if k != wire.KindStdout || int64(len(out.Content)+len(b)) > f.Bytes {
			return sandbox.File{}, fmt.Errorf("%w: content that was not announced", wire.ErrFrame)
		}
		out.Content = append(out.Content, b...)
	}
	return out, nil
}

// help runs a helper in the box, under the uid of a session or the one that looks, and reads its answer item by item.
// A helper that ends badly or says what it cannot is an error about the box. It starts where nothing can go away: a
// command may have removed its session's directory.
func (c *Client) help(ctx context.Context, session uint64, name string, p wire.Params, most int64, timeout time.Duration, item func(*wire.Reader) error) error {
	params, err := json.Marshal(p)
	if err != nil {
		return err
	}
	pr, pw := io.Pipe()
	parsed := make(chan error, 1)
	go func() {
		r := wire.NewReader(pr)
		var err error
		for err == nil {
			err = item(r)
		}
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			err = nil
		}
		pr.CloseWithError(errors.Join(err, io.ErrClosedPipe))
		parsed <- err
	}()
	var words tail
	r := &run{c: c, budget: most, stdin: bytes.NewReader(params), stdout: pw, stderr: &words, timeout: timeout}
	exit, err := r.do(ctx, wire.Run{Session: session, Helper: name, Dir: []byte("/"), Stdin: true, Timeout: int64(timeout)})
	pw.Close()
	bad := <-parsed
	_, lost := errors.AsType[*sandbox.LostError](err)
	switch {
	case bad != nil && !lost:
		return bad
	case err != nil:
		return err
	case exit.Cause == sandbox.CauseDeadline && ctx.Err() != nil:
		return ctx.Err()
	case !exit.Exited() || exit.Code != 0:
		return fmt.Errorf("the helper %q: %s %s", name, exit, words)
	}
	return nil
}

// tail keeps the first words that a helper says on stderr.
type tail string

func (t *tail) Write(p []byte) (int, error) {
	*t += tail(p[:min(len(p), 500-len(*t))])
	return len(p), nil
}
