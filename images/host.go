// Package images says where the root filesystem of a box comes from.
package images

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// HostPath is the PATH of a box whose userland is this machine's.
const HostPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Host is the plan of a root filesystem that borrows this machine's programs: what is bound read-only, and the little
// that is made. All paths are absolute and clean, as seen in the box; nothing is laid down until Write.
type Host struct {
	Binds    []Bind // read-only, no one inside another, sorted by target
	Links    []Link
	Files    []File
	Dirs     []string // directories to make, parents first: mount points of the binds and of the box's own file systems
	Path     string   // PATH
	Userland string   // PRETTY_NAME of this machine's os-release, or empty
}

// Bind shows the host's Source, its links resolved, at Target.
type Bind struct {
	Source, Target string
	Dir            bool
}

// Link is a symbolic link.
type Link struct{ Path, Target string }

// File is a made regular file of mode 0644.
type File struct {
	Path string
	Data []byte
}

// What of the host's /etc a userland needs to find its own files. Nothing here may hold a secret.
var etcNames = []string{
	"alternatives", "ssl/certs", "ld.so.*", "localtime", "terminfo", "mime.types", "fonts", "java*", "python*", "perl",
}

// Directories of the box's own: proc, devices, and what the engines mount over the root.
var ownDirs = []string{"/proc", "/sys", "/dev", "/tmp", "/work", "/opt/validate", "/validate", "/run/trkr"}

// maxCopy is the largest file of /etc that is copied into the root; a larger one is bound.
const maxCopy = 1 << 20

// HostRoot plans the "host" userland: this machine's /usr, /bin, /sbin and /lib* read-only, what of /etc they need to
// find their files, generated passwd, group, hosts, nsswitch.conf and os-release, and the folders of mounts at the
// same path. It looks at the file system and changes nothing. A mount must be an absolute path of an existing folder
// that is not one of the box's own; neither it nor /usr and the like may hold, or lie inside, a hidden path. All that
// is wrong with mounts is a fault.Usage.
func HostRoot(mounts, hidden []string) (Host, error) { return hostRoot("/", mounts, hidden) }

// hostRoot is HostRoot of the machine whose file system starts at root: a real one's "/", or a test's directory.
func hostRoot(root string, mounts, hidden []string) (Host, error) {
	p := &planner{root: filepath.Clean(root), host: Host{Path: HostPath}}
	if err := p.system(); err != nil {
		return Host{}, err
	}
	if err := p.etc(); err != nil {
		return Host{}, err
	}
	if err := p.refuseHidden(hidden); err != nil {
		return Host{}, err
	}
	if err := p.mounts(mounts, hidden); err != nil {
		return Host{}, err
	}
	p.generate()
	p.finish()
	return p.host, nil
}

type planner struct {
	root string
	host Host
}

// on is the host's path of a path of the planned machine.
func (p *planner) on(path string) string { return filepath.Join(p.root, path) }

// resolve follows every link of path as the planned machine would.
func (p *planner) resolve(path string) (string, error) {
	real, err := filepath.EvalSymlinks(p.on(path))
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(p.root, real)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return "", fmt.Errorf("%s leads out of %s", path, p.root)
	}
	return filepath.Join("/", rel), nil
}

func (p *planner) bind(source, target string, dir bool) {
	p.host.Binds = append(p.host.Binds, Bind{Source: p.on(source), Target: target, Dir: dir})
}

// system plans /usr and the directories beside it, which on a merged-usr machine are links into it.
func (p *planner) system() error {
	names := []string{"usr", "bin", "sbin"}
	libs, err := filepath.Glob(p.on("lib*"))
	if err != nil {
		return fmt.Errorf("listing /lib*: %w", err)
	}
	for _, lib := range libs {
		names = append(names, filepath.Base(lib))
	}
	for _, name := range names {
		path := "/" + name
		info, err := os.Lstat(p.on(path))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fault.Envf("userland_unreadable", nil, "planning the host userland: %w", err)
		}
		switch {
		case info.IsDir():
			p.bind(path, path, true)
		case info.Mode()&fs.ModeSymlink != 0:
			if err := p.systemLink(path); err != nil {
				return err
			}
		}
	}
	if len(p.host.Binds) == 0 {
		return fault.Env("userland_unreadable", errors.New("this machine has neither /usr nor /bin"),
			"name an image with --image")
	}
	return nil
}

// systemLink keeps a link that leads into a directory of its own machine as a link, and binds what any other leads to.
func (p *planner) systemLink(path string) error {
	target, err := os.Readlink(p.on(path))
	if err != nil {
		return fault.Envf("userland_unreadable", nil, "planning the host userland: %w", err)
	}
	real, err := p.resolve(path)
	if err != nil {
		return nil // a dangling link shows nothing, in the box as on the host
	}
	if within("/usr", real) {
		p.host.Links = append(p.host.Links, Link{Path: path, Target: target})
		return nil
	}
	info, err := os.Stat(p.on(real))
	if err != nil {
		return fault.Envf("userland_unreadable", nil, "planning the host userland: %w", err)
	}
	if info.IsDir() {
		p.bind(real, path, true)
	}
	return nil
}

// etc plans the entries of /etc: small files are copied, links that stay valid kept, directories bound.
func (p *planner) etc() error {
	for _, pattern := range etcNames {
		found, err := filepath.Glob(p.on(filepath.Join("/etc", pattern)))
		if err != nil {
			return fmt.Errorf("listing /etc: %w", err)
		}
		for _, match := range found {
			if err := p.etcEntry(filepath.Join("/", strings.TrimPrefix(match, p.root))); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *planner) etcEntry(path string) error {
	if p.covered(path) {
		return nil
	}
	real, err := p.resolve(path)
	if err != nil {
		return nil // dangling, or behind a directory that is closed to this user: not there in the box
	}
	if target, err := os.Readlink(p.on(path)); err == nil && p.covered(real) {
		p.host.Links = append(p.host.Links, Link{Path: path, Target: target})
		return nil
	}
	info, err := os.Stat(p.on(real))
	switch {
	case err != nil:
		return nil
	case info.IsDir():
		p.bind(real, path, true)
	case info.Mode().IsRegular() && info.Size() > maxCopy:
		p.bind(real, path, false)
	case info.Mode().IsRegular() && info.Mode().Perm()&0o004 == 0:
		return nil // a copy would show to all what root alone may read here
	case info.Mode().IsRegular():
		data, err := os.ReadFile(p.on(real))
		if err != nil {
			return nil // not readable for this user, so neither for its programs
		}
		p.host.Files = append(p.host.Files, File{Path: path, Data: data})
	}
	return nil
}

// covered reports whether a path of the planned machine is seen in the box through a bind at the same place.
func (p *planner) covered(path string) bool {
	return slices.ContainsFunc(p.host.Binds, func(b Bind) bool { return b.Source == p.on(b.Target) && within(b.Target, path) })
}

// generate makes the files that name users and the machine; the host's own would tell who works on it.
func (p *planner) generate() {
	release, err := os.ReadFile(p.on("/etc/os-release"))
	if err != nil {
		release = []byte("ID=linux\nNAME=Linux\n")
	}
	p.host.Userland = prettyName(release)
	p.host.Files = append(p.host.Files,
		File{"/etc/passwd", passwd()},
		File{"/etc/group", group()},
		File{"/etc/hosts", []byte("127.0.0.1 localhost\n::1 localhost\n")},
		File{"/etc/nsswitch.conf", []byte("passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n")},
		File{"/etc/os-release", release},
	)
}

// Uids from firstUID on belong to commands of the box. So many of them have a name, for programs that ask who they are.
const firstUID, namedUIDs = 10000, 1000

func passwd() []byte {
	text := []byte("root:x:0:0:root:/:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/sh\n")
	for uid := firstUID; uid < firstUID+namedUIDs; uid++ {
		text = fmt.Appendf(text, "u%d:x:%d:%d::/tmp:/bin/sh\n", uid, uid, uid)
	}
	return text
}

func group() []byte {
	text := []byte("root:x:0:\nnogroup:x:65534:\n")
	for gid := firstUID; gid < firstUID+namedUIDs; gid++ {
		text = fmt.Appendf(text, "u%d:x:%d:\n", gid, gid)
	}
	return text
}

// finish sorts the plan and adds every directory that its entries need.
func (p *planner) finish() {
	h := &p.host
	slices.SortFunc(h.Binds, func(a, b Bind) int { return strings.Compare(a.Target, b.Target) })
	dirs := map[string]bool{}
	need := func(path string) {
		for ; path != "/"; path = filepath.Dir(path) {
			dirs[path] = true
		}
	}
	for _, d := range ownDirs {
		need(d)
	}
	for _, b := range h.Binds {
		if b.Dir {
			need(b.Target)
		} else {
			need(filepath.Dir(b.Target))
		}
	}
	for _, l := range h.Links {
		need(filepath.Dir(l.Path))
	}
	for _, f := range h.Files {
		need(filepath.Dir(f.Path))
	}
	for d := range dirs {
		h.Dirs = append(h.Dirs, d)
	}
	slices.Sort(h.Dirs)
}

// prettyName is PRETTY_NAME of an os-release file, or empty.
func prettyName(release []byte) string {
	lines := bufio.NewScanner(bytes.NewReader(release))
	for lines.Scan() {
		value, ok := strings.CutPrefix(lines.Text(), "PRETTY_NAME=")
		if !ok {
			continue
		}
		if s, err := strconv.Unquote(value); err == nil {
			return s
		}
		return strings.Trim(value, `'"`)
	}
	return ""
}

// within reports whether path is dir or lies inside it. Both are absolute and clean.
func within(dir, path string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}
