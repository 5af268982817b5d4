//go:build unix

package images

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// machine makes a file system: a name that ends in a slash is a folder, a value that begins with "-> " a link.
func machine(t *testing.T, tree map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range tree {
		path := filepath.Join(root, name)
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(path, 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if target, ok := strings.CutPrefix(data, "-> "); ok {
			must(t, os.Symlink(target, path))
			continue
		}
		must(t, os.WriteFile(path, []byte(data), 0o644))
	}
	return root
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// merged is a machine whose /bin and the like are links into /usr.
func merged(t *testing.T, more map[string]string) string {
	tree := map[string]string{
		"usr/bin/sh": "", "usr/sbin/": "", "usr/lib/x86/libc.so": "", "usr/lib64/": "",
		"usr/share/zoneinfo/UTC": "zone",
		"bin":                    "-> usr/bin", "sbin": "-> usr/sbin", "lib": "-> usr/lib", "lib64": "-> usr/lib64", "lib32": "-> usr/gone",
		"etc/alternatives/awk": "-> /usr/bin/mawk", "etc/ssl/certs/": "", "etc/ssl/private/key": "secret",
		"etc/ld.so.cache": "cache", "etc/ld.so.conf.d/x.conf": "", "etc/localtime": "-> ../usr/share/zoneinfo/UTC",
		"etc/python3.11/": "", "etc/java-17/": "", "etc/shadow": "secret", "etc/passwd": "alice:x:1000:1000::/home/alice:/bin/sh",
		"etc/os-release": "NAME=Debian\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n",
		"home/alice/":    "", "srv/tools/bin/": "", "run/docker.sock.d/": "", "tmp/": "",
	}
	for k, v := range more {
		tree[k] = v
	}
	return machine(t, tree)
}

func targets(root string, binds []Bind) []string {
	var list []string
	for _, b := range binds {
		source := strings.TrimPrefix(b.Source, root)
		if source != b.Target {
			list = append(list, b.Target+" from "+source)
			continue
		}
		list = append(list, b.Target)
	}
	return list
}

func TestMergedMachine(t *testing.T) {
	root := merged(t, nil)
	h, err := hostRoot(root, []string{"/srv/tools"}, []string{"/home/alice"})
	must(t, err)
	want := []string{"/etc/alternatives", "/etc/java-17", "/etc/ld.so.conf.d", "/etc/python3.11", "/etc/ssl/certs", "/srv/tools", "/usr"}
	if d := cmp.Diff(want, targets(root, h.Binds)); d != "" {
		t.Errorf("binds (-want +got):\n%s", d)
	}
	links := []Link{{"/bin", "usr/bin"}, {"/sbin", "usr/sbin"}, {"/lib", "usr/lib"}, {"/lib64", "usr/lib64"}, {"/etc/localtime", "../usr/share/zoneinfo/UTC"}}
	if d := cmp.Diff(links, h.Links); d != "" {
		t.Errorf("links (-want +got):\n%s", d)
	}
	if h.Userland != "Debian GNU/Linux 12" {
		t.Errorf("userland %q", h.Userland)
	}
	for _, f := range h.Files {
		if strings.Contains(string(f.Data), "alice") || strings.Contains(string(f.Data), "secret") {
			t.Errorf("%s tells of this machine's people: %q", f.Path, f.Data)
		}
	}
}

// A machine with real directories beside /usr, some reached through links that lead elsewhere.
// TestClosedFile: a file of /etc that not everybody may read is not copied, whoever makes the box.
func TestClosedFile(t *testing.T) {
	root := machine(t, map[string]string{"usr/bin/sh": "", "etc/javarc": "secret", "etc/pythonrc": "open"})
	must(t, os.Chmod(filepath.Join(root, "etc/javarc"), 0o640))
	h, err := hostRoot(root, nil, nil)
	must(t, err)
	var got []string
	for _, f := range h.Files {
		if strings.HasSuffix(f.Path, "rc") {
			got = append(got, f.Path)
		}
	}
	if !slices.Equal(got, []string{"/etc/pythonrc"}) {
		t.Errorf("%q", got)
	}
}

func TestSplitMachine(t *testing.T) {
	root := machine(t, map[string]string{
		"usr/bin/": "", "bin/sh": "", "sbin/": "", "lib/": "", "lib64": "-> lib", "lib32": "-> opt/lib32", "opt/lib32/": "",
		"etc/localtime": "-> ../var/zone", "var/zone": "zone", "etc/mime.types": strings.Repeat("x", maxCopy+1),
	})
	h, err := hostRoot(root, nil, nil)
	must(t, err)
	want := []string{"/bin", "/etc/mime.types", "/lib", "/lib32 from /opt/lib32", "/lib64 from /lib", "/sbin", "/usr"}
	if d := cmp.Diff(want, targets(root, h.Binds)); d != "" {
		t.Errorf("binds (-want +got):\n%s", d)
	}
	if h.Userland != "" {
		t.Errorf("userland %q of a machine that does not say", h.Userland)
	}
}

func TestNoUserland(t *testing.T) {
	_, err := hostRoot(machine(t, map[string]string{"etc/": ""}), nil, nil)
	if f := fault.Of(err); f == nil || f.Code != "userland_unreadable" || f.Usage {
		t.Fatalf("got %v", err)
	}
}

func TestMounts(t *testing.T) {
	root := merged(t, map[string]string{
		"repo/src/": "", "repo/.git/": "", "data/file": "", "data/in/": "", "way": "-> repo/src", "sock": "-> run/docker.sock.d",
		"opt/java/": "", "usr/local/go/": "", "home/alice/tools/": "",
	})
	hidden := []string{"/repo"}
	for _, c := range []struct{ mount, code, words string }{
		{"srv/tools", "mount_invalid", "not an absolute path"},
		{"/nowhere", "mount_invalid", "no such file"},
		{"/data/file", "mount_invalid", "not a folder"},
		{"/", "mount_exposes_repository", `lies in "/repo"`},
		{"/repo", "mount_exposes_repository", `lies in "/repo"`},
		{"/repo/src", "mount_exposes_repository", `lies in "/repo"`},
		{"/data/../repo", "mount_exposes_repository", `lies in "/repo"`},
		{"/way", "mount_exposes_repository", `lies in "/repo"`},
		{"/opt", "mount_invalid", "/opt/validate"},
		{"/etc", "mount_invalid", "/etc"},
		{"/tmp", "mount_invalid", "/tmp"},
		{"/run", "mount_invalid", "/run"},
		{"/sock", "mount_invalid", "never shown"},
	} {
		_, err := hostRoot(root, []string{c.mount}, hidden)
		f := fault.Of(err)
		if f == nil || f.Code != c.code || !f.Usage || len(f.Hints) == 0 || !strings.Contains(f.Error(), c.words) {
			t.Errorf("mount %q: got %+v, want %s with %q", c.mount, f, c.code, c.words)
		}
	}
	h, err := hostRoot(root, []string{"/data", "/data/in", "/usr/local/go", "/bin", "/opt/java/", "/opt/java", "/home/alice/tools"}, hidden)
	must(t, err)
	got := slices.DeleteFunc(targets(root, h.Binds), func(s string) bool { return strings.HasPrefix(s, "/etc/") })
	if d := cmp.Diff([]string{"/data", "/home/alice/tools", "/opt/java", "/usr"}, got); d != "" {
		t.Errorf("binds (-want +got):\n%s", d)
	}
}

func TestRepositoryUnderUsr(t *testing.T) {
	root := merged(t, map[string]string{"usr/local/src/repo/": "", "usr/lib/x": "", "way": "-> usr/local/src/repo"})
	for _, hidden := range []string{"/usr/local/src/repo", "/lib/x", "/bin/not-yet", "/way", "/", "/etc/alternatives"} {
		_, err := hostRoot(root, nil, []string{hidden})
		if f := fault.Of(err); f == nil || f.Code != "repository_exposed" || !f.Usage || len(f.Hints) == 0 {
			t.Errorf("hidden %q: got %v", hidden, err)
		}
	}
	if _, err := hostRoot(root, nil, []string{"/usr2", "/home/alice"}); err != nil {
		t.Errorf("hidden elsewhere: %v", err)
	}
}

// What Write lays down is what an engine needs to mount everything, whatever the umask.
func TestWrite(t *testing.T) {
	root := merged(t, map[string]string{"etc/mime.types": strings.Repeat("x", maxCopy+1)})
	h, err := hostRoot(root, []string{"/srv/tools"}, nil)
	must(t, err)
	defer syscall.Umask(syscall.Umask(0o077))
	dir := t.TempDir()
	must(t, h.Write(dir))
	got := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		got[strings.TrimPrefix(path, dir)] = info.Mode().String()
		return nil
	}))
	for _, path := range []string{"/usr", "/proc", "/dev", "/tmp", "/work", "/opt/validate", "/validate", "/run/trkr", "/etc/ssl/certs", "/srv/tools"} {
		if got[path] != "drwxr-xr-x" {
			t.Errorf("%s is %q", path, got[path])
		}
	}
	for _, path := range []string{"/etc/passwd", "/etc/group", "/etc/hosts", "/etc/nsswitch.conf", "/etc/os-release", "/etc/ld.so.cache", "/etc/mime.types"} {
		if got[path] != "-rw-r--r--" {
			t.Errorf("%s is %q", path, got[path])
		}
	}
	if to, err := os.Readlink(filepath.Join(dir, "bin")); to != "usr/bin" {
		t.Errorf("bin leads to %q, %v", to, err)
	}
	for _, b := range h.Binds {
		if _, ok := got[b.Target]; !ok {
			t.Errorf("no mount point for %s", b.Target)
		}
	}
}

// The machine that the tests run on is one, too.
func TestThisMachine(t *testing.T) {
	h, err := HostRoot(nil, []string{t.TempDir()})
	must(t, err)
	must(t, h.Write(t.TempDir()))
	for _, b := range h.Binds {
		if _, err := os.Lstat(b.Source); err != nil {
			t.Error(err)
		}
	}
}

func TestPrettyName(t *testing.T) {
	for text, want := range map[string]string{
		"PRETTY_NAME=\"Alpine Linux v3.20\"\n": "Alpine Linux v3.20",
		"ID=arch\nPRETTY_NAME='Arch Linux'":    "Arch Linux",
		"PRETTY_NAME=Void":                     "Void",
		"NAME=x\n":                             "",
	} {
		if got := prettyName([]byte(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
