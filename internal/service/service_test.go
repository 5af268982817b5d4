package service_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/internal/service"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/sandboxtest"
	"github.com/trkr-dev/trkr-validate/validator"
)

func start(t *testing.T) (*sandboxtest.Fake, sandbox.Sandbox) {
	t.Helper()
	input := t.TempDir()
	if err := os.WriteFile(filepath.Join(input, "contract.md"), []byte("VAL-1: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	fake := &sandboxtest.Fake{}
	box, err := fake.Start(t.Context(), sandbox.Spec{RunID: "r", Input: input, Limits: sandbox.Limits{Output: 1 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { box.Close() })
	return fake, box
}

// ran is what was told of services.
type ran struct {
	log bytes.Buffer
	all []validator.Ran
}

func (r *ran) task(within time.Duration, services ...validator.Service) validator.Task {
	return validator.Task{
		Services: services, Timeout: within, Transcript: &r.log, Ran: func(c validator.Ran) { r.all = append(r.all, c) },
	}
}

// Services are started in order, each when the one before is ready, and all of it is over when the group is closed.
func TestServicesInOrder(t *testing.T) {
	_, box := start(t)
	dir := t.TempDir()
	up := func(name string) string { return filepath.Join(dir, name) }
	var r ran
	g, why, err := service.Start(t.Context(), box, r.task(time.Minute,
		validator.Service{Command: fmt.Sprintf("echo one; sleep 0.2; touch %s; sleep 60 & sleep 60", up("a")), Ready: "test -e " + up("a")},
		validator.Service{Command: fmt.Sprintf("test -e %s && touch %s; exec sleep 60", up("a"), up("b")), Ready: "test -e " + up("b")},
	), "VAL-1")
	if why != "" || err != nil {
		t.Fatalf("%q, %v", why, err)
	}
	if gone := g.Ended(); gone != "" {
		t.Errorf("%q", gone)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	if len(r.all) != 2 || r.all[0].Criterion != "VAL-1" || !strings.HasPrefix(r.all[1].Command, "service: echo one") || r.all[1].Exit.Cause != sandbox.CauseKilled {
		t.Errorf("%+v", r.all)
	}
	if log := r.log.String(); !strings.Contains(log, "; sleep 60 & sleep 60\n  svc| one\n  killed by us") {
		t.Errorf("transcript %q", log)
	}
}

// A port and a page of the box tell that a service is ready; a page that says otherwise does not.
func TestPortAndPage(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	status := "503 Service Unavailable"
	go func() {
		for n := 0; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if n >= 3 {
				status = "204 No Content"
			}
			fmt.Fprintf(c, "HTTP/1.1 %s\r\nConnection: close\r\n\r\n", status)
			c.Close()
		}
	}()
	_, box := start(t)
	port := l.Addr().(*net.TCPAddr).Port
	for _, sign := range []string{fmt.Sprintf("tcp:%d", port), fmt.Sprintf("http://localhost:%d/health", port)} {
		var r ran
		g, why, err := service.Start(t.Context(), box, r.task(20*time.Second, validator.Service{Command: "exec sleep 60", Ready: sign}), "")
		if why != "" || err != nil {
			t.Errorf("%s: %q, %v", sign, why, err)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	}
	if status != "204 No Content" {
		t.Error("a page that answers with 503 was taken for ready")
	}
}

// A service that does not get ready is told of with what it printed: at once where it ends, else when its time is over.
func TestServiceThatDoesNotGetReady(t *testing.T) {
	_, box := start(t)
	for name, c := range map[string]struct {
		service validator.Service
		within  time.Duration
		says    []string
	}{
		"ends":       {validator.Service{Command: "echo no disk >&2; exit 3", Ready: "false"}, time.Minute, []string{"`echo no disk", "ended before it was ready (exit 3", "it printed: no disk"}},
		"never":      {validator.Service{Command: "echo waiting; exec sleep 60", Ready: "false"}, 400 * time.Millisecond, []string{"was not ready (false) within 400ms", "it printed: waiting"}},
		"sign hangs": {validator.Service{Command: "exec sleep 60", Ready: "sleep 60"}, 400 * time.Millisecond, []string{"was not ready (sleep 60) within 400ms"}},
		"shut port":  {validator.Service{Command: "exec sleep 60", Ready: "tcp:1"}, 300 * time.Millisecond, []string{"was not ready (tcp:1) within 300ms"}},
	} {
		t.Run(name, func(t *testing.T) {
			var r ran
			g, why, err := service.Start(t.Context(), box, r.task(c.within, c.service), "")
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range c.says {
				if !strings.Contains(why, want) {
					t.Errorf("%q does not say %q", why, want)
				}
			}
			if err := g.Close(); err != nil || len(r.all) != 1 {
				t.Errorf("%v, %+v", err, r.all)
			}
		})
	}
}

// The end of the box and of the caller's patience are no words about a service.
func TestLossIsNotTheService(t *testing.T) {
	fake, box := start(t)
	var r ran
	ctx, cancel := context.WithCancel(t.Context())
	up := filepath.Join(t.TempDir(), "up")
	go func() {
		for {
			if _, err := os.Stat(up); err == nil {
				cancel()
				return
			}
			time.Sleep(time.Millisecond)
		}
	}()
	g, why, err := service.Start(ctx, box, r.task(time.Minute, validator.Service{Command: "touch " + up + "; exec sleep 60", Ready: "false"}), "")
	if why != "" || !errors.Is(err, context.Canceled) {
		t.Errorf("%q, %v", why, err)
	}
	if err := g.Close(); err != nil {
		t.Error(err)
	}
	g, why, err = service.Start(t.Context(), box, r.task(time.Minute, validator.Service{Command: "exec sleep 60", Ready: "true"}), "")
	if why != "" || err != nil {
		t.Fatalf("%q, %v", why, err)
	}
	fake.Kill("r")
	if _, ok := errors.AsType[*sandbox.LostError](g.Close()); !ok {
		t.Error("the loss of the box is not told")
	}
}
