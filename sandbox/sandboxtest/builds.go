package sandboxtest

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/trkr-dev/trkr-validate/sandbox"
)

// Workshop is an engine's place for builds, under test.
type Workshop struct {
	Builder sandbox.Builder
	Image   string                  // has busybox as /bin/sh and /bin/busybox, and a configuration that nobody may mind
	Left    func(*testing.T) string // what there is of builds that should be gone; empty: nothing
}

// Builds is what every engine that builds must do: the build in it really tries.
func Builds(t *testing.T, w Workshop) {
	t.Run("succeeds", w.succeeds)
	t.Run("fails", w.fails)
	t.Run("sees nothing", w.seesNothing)
	t.Run("caches", w.caches)
	t.Run("takes turns", w.takesTurns)
	t.Run("gives what is wanted", w.wanted)
	t.Run("limits", w.limits)
	t.Run("interrupted", w.interrupted)
	t.Run("supervisor", w.supervisor)
	if left := w.Left(t); left != "" {
		t.Errorf("left: %s", left)
	}
}

// made is what one build gave.
type made struct {
	sandbox.Built
	err   error
	out   string
	files map[string]string // by name; a link's is "-> target", a folder's "/"
	modes map[string]int64
	taken bool
}

// run builds a tree of two files and a link.
func (w Workshop) run(ctx context.Context, script string, with ...func(*sandbox.Build)) (m made) {
	var out safeBuffer
	b := sandbox.Build{
		RunID: "build", Image: w.Image, Cache: "test", Script: script, Timeout: time.Minute, Log: &out,
		Env:    []string{"PATH=/bin", "HOME=" + sandbox.BuildHome, "TMPDIR=" + sandbox.BuildTmp, "ODD=a\nb\xff"},
		Limits: sandbox.Limits{Memory: 256 << 20, CPUs: 1, Pids: 64, Output: 1 << 20, Tmp: 16 << 20},
		Tree: func(_ context.Context, t *tar.Writer, prefix string) error {
			at := time.Unix(1_000_000_000, 0)
			return errors.Join(
				t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: prefix + "sub/", Mode: 0o755, ModTime: at}),
				t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: prefix + "sub/tool", Mode: 0o755, Size: 5, ModTime: at}), write(t, "hello"),
				t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: prefix + "odd \xff\n", Mode: 0o640, Size: 3, ModTime: at, Format: tar.FormatPAX}), write(t, "odd"),
				t.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: prefix + "link", Linkname: "/etc/passwd", ModTime: at}))
		},
		Take: func(_ context.Context, r io.Reader) error {
			m.taken, m.files, m.modes = true, map[string]string{}, map[string]int64{}
			for t := tar.NewReader(r); ; {
				h, err := t.Next()
				if errors.Is(err, io.EOF) {
					return nil
				}
				if err != nil {
					return err
				}
				data, err := io.ReadAll(t)
				if err != nil {
					return err
				}
				name := strings.TrimSuffix(h.Name, "/")
				m.modes[name], m.files[name] = h.Mode&0o777, string(data)
				switch h.Typeflag {
				case tar.TypeDir:
					m.files[name] = "/"
				case tar.TypeSymlink:
					m.files[name] = "-> " + h.Linkname
				case tar.TypeFifo:
					m.files[name] = "|"
				case tar.TypeLink:
					return errors.New("a hard link: " + h.Name)
				}
			}
		},
	}
	for _, f := range with {
		f(&b)
	}
	m.Built, m.err = w.Builder.RunBuild(ctx, b)
	m.out = out.String()
	return m
}

func write(t *tar.Writer, data string) error {
	_, err := t.Write([]byte(data))
	return err
}

// safeBuffer is read while it may still be written.
type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func (m made) want(t *testing.T, code int, cause sandbox.Cause) {
	t.Helper()
	if m.err != nil || m.Exit.Code != code || m.Exit.Cause != cause || m.taken != (code == 0 && cause == "") {
		t.Fatalf("%v: %+v, want %d %q\n%s", m.err, m.Exit, code, cause, m.out)
	}
}

func (w Workshop) succeeds(t *testing.T) {
	m := w.run(t.Context(), `busybox cat sub/tool; echo; echo to stderr >&2; busybox env | busybox grep -c . ; busybox mkdir -p dist/deep; busybox cp -p sub/tool dist/deep/tool; busybox ln dist/deep/tool dist/hard
busybox ln -s deep/tool dist/soft; busybox mkfifo dist/pipe; busybox touch dist/empty; busybox chmod 600 dist/empty; for f in odd*; do echo more > "$f"; done; busybox chmod 700 sub/tool; busybox rm link; busybox touch $TMPDIR/x $HOME/y
busybox sleep 1000 & echo "$ODD"`)
	m.want(t, 0, "")
	for name, want := range map[string]string{
		"dist": "/", "dist/deep/tool": "hello", "dist/hard": "hello", "dist/soft": "-> deep/tool", "dist/empty": "", "odd \xff\n": "more\n", "sub/tool": "hello",
	} {
		if got, ok := m.files[name]; !ok || got != want {
			t.Errorf("%q holds %q, %v", name, got, ok)
		}
	}
	if pipe, ok := m.files["dist/pipe"]; ok && pipe != "|" { // gVisor keeps it to itself
		t.Errorf("a FIFO became %q", pipe)
	}
	if _, ok := m.files["link"]; ok || m.modes["dist/empty"] != 0o600 || m.modes["dist/deep/tool"] != 0o755 || m.modes["sub/tool"] != 0o700 {
		t.Errorf("%q %v", m.files, m.modes)
	}
	for _, words := range []string{"hello\n", "to stderr\n", "a\nb"} {
		if !strings.Contains(m.out, words) {
			t.Errorf("it printed %q, which lacks %q", m.out, words)
		}
	}
	if strings.Join(m.Leftovers, " ") != "busybox" && strings.Join(m.Leftovers, " ") != "sleep" {
		t.Errorf("leftovers %q", m.Leftovers)
	}
	if m.Info.Engine == "" || m.Info.EngineVersion == "" || !strings.HasPrefix(m.Info.ImageDigest, "sha256:") || len(m.Info.Limits) < 4 || m.Exit.Elapsed <= 0 {
		t.Errorf("%+v %+v", m.Info, m.Exit)
	}
}

func (w Workshop) fails(t *testing.T) {
	m := w.run(t.Context(), "echo one; exit 9")
	if m.want(t, 9, ""); m.out != "one\n" {
		t.Errorf("it printed %q", m.out)
	}
	w.run(t.Context(), "no-such-program").want(t, 127, "")
	if m = w.run(t.Context(), "kill -SEGV $$"); m.err != nil || m.Exit.Signal == "" || m.taken {
		t.Errorf("%+v %v", m.Exit, m.err)
	}
	if m = w.run(t.Context(), "busybox rm -rf ../src"); m.err != nil || !m.taken || len(m.files) > 0 {
		t.Errorf("without a tree: %+v %v", m, m.err)
	}
	wrong := errors.New("not readable")
	m = w.run(t.Context(), "true", func(b *sandbox.Build) {
		b.Tree = func(context.Context, *tar.Writer, string) error { return wrong }
	})
	if !errors.Is(m.err, wrong) || m.taken {
		t.Errorf("a tree that cannot be read: %v", m.err)
	}
}

func (w Workshop) seesNothing(t *testing.T) {
	t.Setenv("TRKR_PLANTED_MARK", "planted")
	m := w.run(t.Context(), `busybox env | busybox grep -c PLANTED; busybox id -u; busybox grep -E '^(CapPrm|CapEff|NoNewPrivs)' /proc/self/status | busybox tr -d '\n\t'; echo
busybox tail -n +3 /proc/net/dev | busybox cut -d : -f 1 | busybox tr -d ' '; busybox tail -n +2 /proc/net/route
busybox wget -q -T 2 -O - http://1.1.1.1/ || echo no network; busybox unshare -U true || echo no namespace; busybox ls -A /home /root /var/run/docker.sock 2>/dev/null; busybox touch /x /bin/x 2>/dev/null || echo no root; busybox ls -A ..; busybox pwd`)
	m.want(t, 0, "")
	lines := strings.Split(m.out, "\n")
	if len(lines) < 4 || lines[0] != "0" || lines[1] == "0" || lines[2] != "CapPrm:0000000000000000CapEff:0000000000000000NoNewPrivs:1" || lines[3] != "lo" {
		t.Errorf("%q", m.out)
	}
	for _, words := range []string{"no network\n", "no namespace\n", "no root\n", "cache\nhome\nout\nsrc\ntmp\n" + sandbox.BuildTree} {
		if !strings.Contains(m.out, words) {
			t.Errorf("%q lacks %q", m.out, words)
		}
	}
}

func (w Workshop) caches(t *testing.T) {
	name := func(n string) func(*sandbox.Build) { return func(b *sandbox.Build) { b.Cache = n } }
	const look = "busybox ls ../cache; echo > ../cache/kept; echo > $HOME/no; busybox ls -A $HOME $TMPDIR"
	unique := strings.ToLower(strings.ReplaceAll(time.Now().UTC().Format("150405.000000"), ".", "-"))
	w.run(t.Context(), look, name(unique)).want(t, 0, "")
	m := w.run(t.Context(), look, name(unique))
	if m.want(t, 0, ""); !strings.HasPrefix(m.out, "kept\n") {
		t.Errorf("the second build saw %q", m.out)
	}
	m = w.run(t.Context(), look, name(unique+"-other"))
	if m.want(t, 0, ""); strings.HasPrefix(m.out, "kept\n") {
		t.Errorf("another cache has %q", m.out)
	}
}

// Builds that share a cache do not run at once, and who waits is told and may give up.
func (w Workshop) takesTurns(t *testing.T) {
	begun, told := make(chan struct{}), make(chan struct{})
	first := make(chan made, 1)
	go func() {
		first <- w.run(t.Context(), "echo > ../cache/busy; echo begun; busybox sleep 3; busybox rm ../cache/busy", func(b *sandbox.Build) {
			b.Log = onWrite(sync.OnceFunc(func() { close(begun) }))
		})
	}()
	select {
	case <-begun:
	case m := <-first:
		t.Fatalf("%+v %v", m.Exit, m.err)
	}
	stop := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	m := w.run(ctx, "true", func(b *sandbox.Build) { b.Log = onWrite(sync.OnceFunc(func() { close(told); cancel(stop) })) })
	if <-told; !errors.Is(m.err, stop) && !errors.Is(m.err, context.Canceled) || m.taken {
		t.Errorf("given up: %+v %v", m.Exit, m.err)
	}
	if m = w.run(t.Context(), "[ ! -e ../cache/busy ]"); !strings.Contains(m.out, "waiting for another build") {
		t.Errorf("it said %q", m.out)
	}
	m.want(t, 0, "")
	m = <-first
	m.want(t, 0, "")
}

// What nobody wants does not come, and is no reason for what is wanted to come without its content.
func (w Workshop) wanted(t *testing.T) {
	asked := map[string]int64{}
	m := w.run(t.Context(), "busybox mkdir a z; echo hello > a/f; busybox ln a/f z/f; busybox ln a/f z/g; echo no > a/no", func(b *sandbox.Build) {
		b.Want = func(p string, h *tar.Header) bool { asked[p] = h.Size; return strings.HasPrefix(p, "z/") }
	})
	if m.want(t, 0, ""); len(m.files) != 2 || m.files["z/f"] != "hello\n" || m.files["z/g"] != "hello\n" || asked["z/f"] != 6 || asked["a/f"] != 6 || asked["a/no"] != 3 {
		t.Errorf("%q of %v", m.files, asked)
	}
	if m = w.run(t.Context(), "busybox truncate -s 300g huge || exit 9"); m.err != nil || m.Exit.Code == 0 || m.taken {
		t.Errorf("a file without end: %+v %v %q", m.Exit, m.err, m.out)
	}
}

func (w Workshop) limits(t *testing.T) {
	m := w.run(t.Context(), "echo begun; busybox sleep 1000 & busybox sleep 1000", func(b *sandbox.Build) { b.Timeout = time.Second })
	if m.err != nil || m.Exit.Cause != sandbox.CauseDeadline || m.taken || m.out != "begun\n" {
		t.Errorf("time: %+v %v %q", m.Exit, m.err, m.out)
	}
	m = w.run(t.Context(), "busybox tail /dev/zero", func(b *sandbox.Build) { b.Limits.Memory = 64 << 20 })
	if m.err != nil || m.Exit.Cause != sandbox.CauseMemory || m.taken {
		t.Errorf("memory: %+v %v %q", m.Exit, m.err, m.out)
	}
	m = w.run(t.Context(), "i=0; while [ $i -lt 200 ]; do busybox sleep 60 & i=$((i+1)); done; wait")
	if m.err != nil || m.Exit.Code == 0 || m.taken {
		t.Errorf("pids: %+v %v %q", m.Exit, m.err, m.out)
	}
}

func (w Workshop) interrupted(t *testing.T) {
	stop := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	m := w.run(ctx, "echo begun; busybox sleep 1000", func(b *sandbox.Build) { b.Log = onWrite(func() { cancel(stop) }) })
	if !errors.Is(m.err, stop) && !errors.Is(m.err, context.Canceled) || m.taken {
		t.Errorf("%+v %v", m.Exit, m.err)
	}
	if left := w.Left(t); left != "" {
		t.Errorf("left: %s", left)
	}
}

type onWrite func()

func (f onWrite) Write(p []byte) (int, error) { f(); return len(p), nil }

// A build that ends its supervisor does not succeed by that, and whoever waits for it is told.
func (w Workshop) supervisor(t *testing.T) {
	m := w.run(t.Context(), "for s in HUP INT QUIT TERM SEGV KILL; do kill -$s 1; done 2>/dev/null; echo $?; echo forged > ../out/result.json; busybox sleep 1; exit 7")
	if m.err != nil || m.taken || m.Exit.Code != 7 && m.Exit.Cause != sandbox.CauseUnknown {
		t.Errorf("%+v %v %q", m.Exit, m.err, m.out)
	}
}
