package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/trkr-dev/trkr-validate/internal/event"
)

// silent shows nothing: --quiet and --json.
type silent struct{}

func (silent) Emit(event.Event) {}
func (silent) Close() error     { return nil }

// lineByLine writes a line for what a person would want to know in a log.
type lineByLine struct {
	mu sync.Mutex
	to io.Writer
}

func (p *lineByLine) Emit(e event.Event) {
	if line := plainLine(e); line != "" {
		p.mu.Lock()
		defer p.mu.Unlock()
		fmt.Fprintln(p.to, visible(line))
	}
}

func (p *lineByLine) Close() error { return nil }

func plainLine(e event.Event) string {
	switch {
	case e.Type == event.StepFinished && e.Detail == "":
		return fmt.Sprintf("%s: %s, %s", e.Issue, e.Step, milliseconds(e.MS))
	case e.Type == event.StepFinished:
		return fmt.Sprintf("%s: %s, %s, failed", e.Issue, e.Step, milliseconds(e.MS)) // the error: line says why
	case e.Type == event.CriterionReported && e.Criterion != nil:
		return fmt.Sprintf("%s: %s %s", e.Issue, e.Criterion.ID, e.Criterion.Status)
	default:
		return ""
	}
}

func milliseconds(ms int64) string { return (time.Duration(ms) * time.Millisecond).String() }

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// live keeps one line per ticket up to date at the bottom of a terminal.
type live struct {
	mu      sync.Mutex
	to      io.Writer
	width   func() int
	log     *switchWriter
	lines   []*liveLine
	drawn   []string // what stands there now
	stopped chan struct{}
	ended   sync.WaitGroup
}

type liveLine struct {
	issue string
	began time.Time
	text  string
	done  bool
}

// redraw is how often the times on the lines move.
const redraw = 250 * time.Millisecond

func newLive(a *app) *live {
	l := &live{to: a.err, log: a.logTo, stopped: make(chan struct{}), width: func() int {
		if f, ok := a.err.(*os.File); ok {
			if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
				return w
			}
		}
		return 80
	}}
	l.log.point(l)
	l.ended.Go(func() {
		tick := time.NewTicker(redraw)
		defer tick.Stop()
		for {
			select {
			case <-l.stopped:
				return
			case <-tick.C:
				l.mu.Lock()
				l.draw(nil)
				l.mu.Unlock()
			}
		}
	})
	return l
}

// Write puts what others have to say above the lines.
func (l *live) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.draw(p)
	return len(p), nil
}

func (l *live) Emit(e event.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := l.line(e.Issue)
	switch {
	case e.Type == event.StepStarted:
		line.text = e.Step
	case e.Type == event.CriterionReported && e.Criterion != nil:
		line.text = fmt.Sprintf("%s  %s %s", e.Step, e.Criterion.ID, e.Criterion.Status)
	case e.Type == event.RunFinished:
		line.text, line.done = string(e.Outcome), true
	default:
		return
	}
	l.draw(nil)
}

func (l *live) line(issue string) *liveLine {
	for _, line := range l.lines {
		if line.issue == issue {
			return line
		}
	}
	line := &liveLine{issue: issue, began: time.Now()}
	l.lines = append(l.lines, line)
	return line
}

// draw replaces the lines that stand there by above, if any, and the lines as they are now.
func (l *live) draw(above []byte) {
	var now []string
	width := l.width()
	for _, line := range l.lines {
		if line.done {
			continue
		}
		text := []rune(visible(fmt.Sprintf("%s  %4ds  %s", line.issue, int(time.Since(line.began).Seconds()), line.text)))
		now = append(now, string(text[:min(len(text), width-1)]))
	}
	if len(above) == 0 && slices.Equal(now, l.drawn) {
		return
	}
	var b strings.Builder
	if len(l.drawn) > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\x1b[J", len(l.drawn))
	}
	b.Write(above)
	for _, line := range now {
		fmt.Fprintln(&b, line)
	}
	l.drawn = now
	_, _ = io.WriteString(l.to, b.String()) // progress that cannot be shown is no reason to stop
}

// Close takes the lines away: the results say it better.
func (l *live) Close() error {
	close(l.stopped)
	l.ended.Wait()
	l.log.point(l.to)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = nil
	l.draw(nil)
	return nil
}
