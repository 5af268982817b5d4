//go:build unix

package sandboxtest

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/sandbox"
)

// services: what runs beside a check has a uid that nobody else has, is reached by all, can be neither read nor ended by
// the subject, and is gone with everything that it started when it is stopped.
func (s *suite) services(t *testing.T, box sandbox.Sandbox) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	service := open(t, box, sandbox.SessionSpec{Role: sandbox.RoleService, Env: []string{"MARK=of-the-service"}})
	subject := open(t, box, sandbox.SessionSpec{})
	if s.traits.Isolates {
		uids := map[string]sandbox.Role{}
		for _, role := range []sandbox.Role{sandbox.RoleService, sandbox.RoleSubject, sandbox.RoleAgent, sandbox.RoleInstall} {
			se := service
			if role != sandbox.RoleService {
				se = open(t, box, sandbox.SessionSpec{Role: role})
			}
			uid := says(t, se, "ids")
			if other, taken := uids[uid]; taken {
				t.Errorf("%s and %s are both %q", role, other, uid)
			}
			uids[uid] = role
			if role == sandbox.RoleInstall {
				se.Close()
			}
		}
	}
	ctx, stop := context.WithCancel(timeout(t))
	defer stop()
	var serving sync.WaitGroup
	serving.Go(func() {
		e, err := service.Run(ctx, sandbox.Command{Args: []string{program, "serve", address, "hello"}, Env: []string{"KEY=of-the-service"}})
		if !errors.Is(err, context.Canceled) || e.Cause != sandbox.CauseKilled {
			t.Errorf("the service: %s, %v", e, err)
		}
	})
	ask := sandbox.Talk{Address: address, Request: []byte("x"), Most: 100, Within: 20 * time.Second}
	for range 2 { // it outlives the commands of others
		if r, err := subject.Talk(timeout(t), ask); err != nil || string(r.Data) != "hello 1" {
			t.Errorf("%q, %v", r.Data, err)
		}
		if s.traits.Isolates {
			if got := says(t, subject, "others"); strings.Contains(got, "of-the-service") || strings.Contains(got, "ended") {
				t.Errorf("the subject reached it: %q", got)
			}
			if r := run(t, subject, sandbox.Command{Args: []string{program, "ls", service.Dir()}}); strings.TrimSpace(r.out) != "" {
				t.Errorf("the subject sees its files: %q", r.out)
			}
		}
	}
	stop()
	serving.Wait()
	if err := service.Close(); err != nil {
		t.Error(err)
	}
	ask.Within = time.Millisecond
	if r, err := subject.Talk(timeout(t), ask); err != nil || r.Connected {
		t.Errorf("after its end: %+v, %v", r, err)
	}
}
