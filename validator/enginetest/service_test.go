package enginetest

import (
	"strings"
	"testing"

	"github.com/trkr-dev/trkr-validate/internal/install"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/validator"
	"github.com/trkr-dev/trkr-validate/validator/command"
	"github.com/trkr-dev/trkr-validate/validator/probe"
	"github.com/trkr-dev/trkr-validate/verdict"
)

// web is a service of the image's.
var web = validator.Service{Command: "exec python3 -m http.server 8123 --bind 127.0.0.1", Ready: "http://127.0.0.1:8123/"}

const request = `import urllib.request; print("got", urllib.request.urlopen("http://127.0.0.1:8123/").status)`

// A product finds its service, each check a new one; what the service does is not what the product did; one that does
// not get ready blocks and is never held against the product, nor for it.
func TestServices(t *testing.T) {
	product := artifact{
		"ask!":   []byte("#!/bin/sh\nexec python3 -c '" + request + "'\n"),
		"http!":  []byte("#!/bin/sh\nexec python3 -m http.server 8124 --bind ::\n"),
		"serve!": []byte("#!/bin/sh\necho from the artifact > /tmp/word\nchmod 644 /tmp/word\nexec sleep 60\n"),
	}
	onEngines(t, func(t *testing.T, e sandbox.Engine) {
		s := start(t, e, product)
		for name, c := range map[string]struct {
			services []validator.Service
			texts    []string
			want     []verdict.Status
			evidence string
		}{
			"each check has it": {
				[]validator.Service{web}, []string{"`ask` prints `got 200`", "`ask` succeeds"}, []verdict.Status{verdict.Met, verdict.Met}, "",
			},
			"without it": {nil, []string{"`ask` prints `got 200`"}, []verdict.Status{verdict.Unmet}, ""},
			"what it does is not the product's": {
				[]validator.Service{{Command: "serve", Ready: "test -s /tmp/word"}}, []string{"`cat /tmp/word` prints `from the artifact`"},
				[]verdict.Status{verdict.Unverified}, "only the image's programs were exercised",
			},
			"one that listens later is not the product": {
				[]validator.Service{{Command: "sleep 3; " + web.Command, Ready: "true"}}, []string{"`serve` answers `GET http://127.0.0.1:8123/x` with 404"},
				[]verdict.Status{verdict.Blocked}, "somebody else",
			},
			"the product answers beside it": {
				[]validator.Service{web}, []string{"`http` answers `GET http://127.0.0.1:8124/x` with 404"}, []verdict.Status{verdict.Met}, "answered 404",
			},
			"it does not get ready": {
				[]validator.Service{{Command: "echo out of order; exit 3", Ready: "tcp:8123"}}, []string{"`ask` prints `got 200`", "`ask` fails"},
				[]verdict.Status{verdict.Blocked, verdict.Blocked}, "ended before it was ready (exit 3",
			},
		} {
			t.Run(name, func(t *testing.T) {
				s.services = c.services
				report := s.ask(t, probe.New(probe.Options{}), install.Result{}, c.texts...)
				if len(report.Criteria) != len(c.want) {
					t.Fatalf("%+v", report)
				}
				for i, r := range report.Criteria {
					if r.Status != c.want[i] || !strings.Contains(r.Evidence, c.evidence) {
						t.Errorf("%s is %s: %s", c.texts[i], r.Status, r.Evidence)
					}
				}
			})
		}
		t.Run("of an agent inside", func(t *testing.T) {
			judge := command.New(command.Options{Argv: []string{"python3", "-c", "print('CRITERION: pass — VAL-1: ', end='')\n" + request + "\nprint('VERDICT: CLEAR')"}})
			s.services = []validator.Service{web}
			if report := s.ask(t, judge, install.Result{}, "works"); len(report.Criteria) != 1 || report.Criteria[0].Evidence != "got 200" {
				t.Errorf("%+v", report)
			}
			s.services = []validator.Service{{Command: "exit 3", Ready: "tcp:8123"}}
			report := s.ask(t, judge, install.Result{}, "works")
			if len(report.Criteria) != 1 || report.Criteria[0].Status != verdict.Blocked || len(report.Findings) != 0 {
				t.Errorf("%+v", report)
			}
		})
	})
}
