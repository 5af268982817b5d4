package enginetest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/internal/install"
	"github.com/trkr-dev/trkr-validate/internal/testengine"
	"github.com/trkr-dev/trkr-validate/sandbox"
	"github.com/trkr-dev/trkr-validate/sandbox/docker"
	"github.com/trkr-dev/trkr-validate/sandbox/gvisor"
	"github.com/trkr-dev/trkr-validate/validator/probe"
	"github.com/trkr-dev/trkr-validate/verdict"
)

const hello = "package main\n\nimport \"os\"\n\nfunc main() { os.Stdout.WriteString(\"hello\\n\") }\n"

// batch is how many assertions are checked before the bare starts have their turn.
const batch = 50

// BenchmarkAssertionsAgainstStarts measures assertions against bare starts of the same program in one session of the
// same box, in turns of 50. "x-starts" is to be at most 1.3. b.N is the number of turns: 20 are 1,000 assertions, which
// on gVisor would be too many starts a minute for the host, so that there it is run for fewer.
func BenchmarkAssertionsAgainstStarts(b *testing.B) {
	source, program := filepath.Join(b.TempDir(), "main.go"), filepath.Join(b.TempDir(), "tool")
	if err := os.WriteFile(source, []byte(hello), 0o644); err != nil {
		b.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", program, source).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	tool, err := os.ReadFile(program)
	if err != nil {
		b.Fatal(err)
	}
	for _, e := range []sandbox.Engine{gvisor.New(gvisor.Options{}), docker.New(docker.Options{})} {
		b.Run(e.Name(), func(b *testing.B) {
			_, err := e.Check(b.Context())
			testengine.Require(b, e.Name(), err)
			s := start(b, e, artifact{"tool!": tool})
			session, err := s.box.Open(b.Context(), sandbox.SessionSpec{Role: sandbox.RoleSubject})
			if err != nil {
				b.Fatal(err)
			}
			defer session.Close()
			texts := slices.Repeat([]string{"`tool` exits 0 and prints exactly `hello` to stdout"}, batch)
			var own, bare time.Duration
			for i := 0; b.Loop(); i++ {
				began := time.Now()
				report := s.ask(b, probe.New(probe.Options{}), install.Result{}, texts...)
				took := time.Since(began)
				for _, c := range report.Criteria {
					if c.Status != verdict.Met {
						b.Fatal(c)
					}
				}
				began = time.Now()
				for range batch {
					var stdout, stderr bytes.Buffer
					exit, err := session.Run(b.Context(), sandbox.Command{Args: []string{"/validate/artifact/tool"}, Stdout: &stdout, Stderr: &stderr})
					if err != nil || exit.Code != 0 || stdout.String() != "hello\n" {
						b.Fatal(exit, err)
					}
				}
				own, bare = own+took, bare+time.Since(began)
			}
			n := float64(b.N * batch)
			b.ReportMetric(n, "assertions")
			b.ReportMetric(own.Seconds()*1000/n, "ms/assertion")
			b.ReportMetric(bare.Seconds()*1000/n, "ms/start")
			b.ReportMetric(own.Seconds()/bare.Seconds(), "x-starts")
		})
	}
}
