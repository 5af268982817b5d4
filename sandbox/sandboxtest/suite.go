//go:build unix

package sandboxtest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/sandbox"
)

// Traits say what of the suite an engine is held to.
type Traits struct {
	// Isolates: commands have uids, a network, a root and limits of their own. False for Fake alone.
	Isolates bool
	// Image is the spec's; "host" where it is empty. The suite's programs are static: an empty image will do.
	Image string
	// Filters: the engine keeps commands from more system calls than the init does.
	Filters bool
	// Memory and Pids tell whether the engine keeps that limit here; false where this machine does not let it.
	Memory, Pids bool
	// Kill ends the box of a run from outside, as a crash of it would. Nil: that is not tested.
	Kill func(t *testing.T, runID string)
	// Gone fails the test where anything of a closed box is left on the machine. Nil: that is not tested.
	Gone func(t *testing.T, runID string)
}

// Limits are those of the suite's boxes: small enough to be met quickly, with room for an init and Go programs.
var Limits = sandbox.Limits{Memory: 192 << 20, CPUs: 2, Pids: 128, Output: 24 << 20, Tmp: 32 << 20}

// suite is one engine under test.
type suite struct {
	engine  sandbox.Engine
	traits  Traits
	input   string
	planted *planted
	score   score
}

// program is the subject's path in every box.
const program = sandbox.Artifact + "/bin/subject"

// Run holds an engine to what package sandbox promises. newEngine is called once.
func Run(t *testing.T, newEngine func(t *testing.T) sandbox.Engine, traits Traits) {
	s := &suite{engine: newEngine(t), traits: traits, planted: plant(t)}
	s.input = s.planted.input
	makeInput(t, s.input, traits.Isolates)
	s.planted.environment(t) // after the go command ran, which has its cache in HOME
	s.do(t, cause, "Check", s.check)

	box := s.start(t, Limits)
	in := func(f func(*testing.T, sandbox.Sandbox)) func(*testing.T) { return func(t *testing.T) { f(t, box) } }
	for name, f := range map[string]func(*testing.T, sandbox.Sandbox){
		"Info": s.info, "Inputs": s.inputs, "Exit": s.exit, "NeverRan": s.neverRan, "Streams": s.streams, "BigOutput": s.bigOutput,
		"OutputLimit": s.outputLimit, "Deadline": s.deadline, "Cancel": s.cancel, "Observe": s.observe, "LookPath": s.lookPath,
		"Decoys": s.decoys, "Terminal": s.terminal, "Writers": s.writers, "Talk": s.talk, "Listen": s.listen,
	} {
		s.do(t, cause, name, in(f))
	}
	for name, f := range map[string]func(*testing.T, sandbox.Sandbox){
		"Sessions": s.sessions, "Environment": s.environment, "Install": s.install, "TwoSessions": s.twoSessions, "Services": s.services,
	} {
		s.do(t, escape, name, in(f))
	}
	s.do(t, leftover, "Leftovers", in(s.leftovers))
	if traits.Isolates {
		for name, f := range map[string]func(*testing.T, sandbox.Sandbox){
			"Network": s.network, "Sockets": s.sockets, "Privileges": s.privileges, "Regain": s.regain, "Setuid": s.setuid, "ReadOnly": s.readOnly,
			"Attack": s.attack, "Meddle": s.meddle, "Markers": s.markers, "Host": s.host, "Isolation": s.isolation, "Starve": s.starve,
		} {
			s.do(t, escape, name, in(f))
		}
		for name, f := range map[string]func(*testing.T, sandbox.Sandbox){"Comets": s.comets, "Remains": s.remains, "Freeze": s.freeze} {
			s.do(t, leftover, name, in(f))
		}
		s.do(t, cause, "TmpLimit", in(s.tmpLimit))
		s.do(t, cause, "Descriptors", s.descriptors)
	}
	if traits.Filters {
		s.do(t, escape, "Keys", in(s.keys))
	}
	if traits.Pids {
		s.do(t, cause, "PidsLimit", s.pidsLimit)
	}
	s.do(t, leftover, "Close", in(s.closing))
	if traits.Memory {
		s.do(t, cause, "MemoryLimit", s.memoryLimit)
		s.do(t, cause, "Inodes", s.inodes)
	}
	if traits.Kill != nil {
		s.do(t, leftover, "Lost", s.lost)
	}
	t.Log(&s.score)
}

// makeInput makes what a box gets, with all that may stand in an artifact set.
func makeInput(t *testing.T, dir string, linux bool) {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	art := filepath.Join(dir, "artifact")
	must(os.MkdirAll(filepath.Join(art, "bin"), 0o755))
	must(os.WriteFile(filepath.Join(dir, "contract.md"), []byte("VAL-1: it works\n"), 0o644))
	must(os.WriteFile(filepath.Join(art, "empty"), nil, 0o644))
	must(os.WriteFile(filepath.Join(art, ".hidden"), []byte("x"), 0o644))
	must(os.WriteFile(filepath.Join(art, "a name\nwith \"all\" sorts"), []byte("odd"), 0o644))
	must(os.WriteFile(filepath.Join(art, "script.txt"), []byte("no program"), 0o644))
	must(os.WriteFile(filepath.Join(art, "broken"), []byte("#!/no/such/interpreter\n"), 0o755))
	must(os.WriteFile(filepath.Join(art, "large"), bytes.Repeat([]byte("0123456789abcdef"), 5<<16), 0o644)) // 5 MiB
	must(os.Symlink("bin/subject", filepath.Join(art, "link")))
	must(os.Symlink("nowhere", filepath.Join(art, "dangling")))
	must(os.MkdirAll(filepath.Join(art, "deep/er"), 0o755))
	if runtime.GOOS == "linux" { // other systems do not take such names
		must(os.WriteFile(filepath.Join(art, "not-utf8-\xff\xfe"), []byte("bytes"), 0o644))
	}
	c := exec.Command("go", "build", "-o", filepath.Join(art, "bin/subject"),
		"github.com/trkr-dev/trkr-validate/sandbox/sandboxtest/testdata/subject")
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath")
	if linux {
		c.Env = append(c.Env, "GOOS=linux", "GOARCH="+runtime.GOARCH)
	}
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("building the subject: %v\n%s", err, out)
	}
	// Exact modes, whatever the umask; the root of it all is opened for engines without rights of ours.
	must(filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.Type()&os.ModeSymlink != 0 {
			return err
		}
		if i, err := d.Info(); err == nil && (i.IsDir() || i.Mode()&0o100 != 0) {
			return os.Chmod(p, 0o755)
		}
		return os.Chmod(p, 0o644)
	}))
	must(os.Chmod(filepath.Join(art, "script.txt"), 0o444))
	// Modes that would let everybody write, were the whole of it not read-only.
	must(os.WriteFile(filepath.Join(art, "deep/open"), nil, 0o644))
	must(os.Chmod(filepath.Join(art, "deep/open"), 0o666))
	must(os.Chmod(filepath.Join(art, "deep/er"), 0o777))
}

// id makes the id of a run that no other test of this machine has.
func id(t *testing.T) string {
	return "test-" + strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name())) + "-" + time.Now().Format("150405.000000")
}

func (s *suite) start(t *testing.T, limits sandbox.Limits) sandbox.Sandbox {
	t.Helper()
	box, _ := s.startNamed(t, limits)
	return box
}

func (s *suite) startNamed(t *testing.T, limits sandbox.Limits) (sandbox.Sandbox, string) {
	t.Helper()
	image := s.traits.Image
	if image == "" {
		image = "host"
	}
	spec := sandbox.Spec{RunID: id(t), Input: s.input, Image: image, Limits: limits}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	box, err := s.engine.Start(ctx, spec)
	if err != nil {
		t.Fatalf("starting a box: %v", err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Errorf("closing the box: %v", err)
		}
		if s.traits.Gone != nil {
			s.traits.Gone(t, spec.RunID)
		}
	})
	return box, spec.RunID
}

// timeout bounds what a test waits for; it is met only where something hangs.
func timeout(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func open(t *testing.T, box sandbox.Sandbox, spec sandbox.SessionSpec) sandbox.Session {
	t.Helper()
	if spec.Role == "" {
		spec.Role = sandbox.RoleSubject
	}
	se, err := box.Open(timeout(t), spec)
	if err != nil {
		t.Fatalf("opening a session: %v", err)
	}
	t.Cleanup(func() {
		if err := se.Close(); err != nil {
			if _, lost := errors.AsType[*sandbox.LostError](err); !lost {
				t.Errorf("closing a session: %v", err)
			}
		}
	})
	return se
}

// result is what a command did.
type result struct {
	sandbox.Exit
	out, err string
}

func run(t *testing.T, se sandbox.Session, c sandbox.Command) result {
	t.Helper()
	var out, errw bytes.Buffer
	if c.Stdout == nil {
		c.Stdout = &out
	}
	if c.Stderr == nil {
		c.Stderr = &errw
	}
	e, err := se.Run(timeout(t), c)
	if err != nil {
		t.Fatalf("running %q: %v", c.Args, err)
	}
	return result{e, out.String(), errw.String()}
}

// subject runs one verb of the suite's program.
func subject(t *testing.T, se sandbox.Session, words ...string) result {
	t.Helper()
	return run(t, se, sandbox.Command{Args: append([]string{program}, words...)})
}

// says is subject for a verb that must succeed; it returns what came on stdout.
func says(t *testing.T, se sandbox.Session, words ...string) string {
	t.Helper()
	r := subject(t, se, words...)
	if !r.Exited() || r.Code != 0 {
		t.Fatalf("%q: %s\n%s%s", words, r.Exit, r.out, r.err)
	}
	return r.out
}
