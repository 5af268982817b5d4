package images

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/trkr-dev/trkr-validate/internal/fault"
)

// neverShown are places whose sockets, devices and kernel files would open the box.
var neverShown = []string{"/proc", "/sys", "/dev", "/run"}

// refuseHidden makes sure that what is bound for the system shows no hidden path.
func (p *planner) refuseHidden(hidden []string) error {
	for _, h := range hidden {
		hide := p.on(p.resolveHidden(h))
		for _, b := range p.host.Binds {
			if within(b.Source, hide) || within(hide, b.Source) {
				return fault.Usagef("repository_exposed",
					[]string{`move the repository to another place, or name an image instead of "host"`},
					"the host userland shows %q, which would show what lies in %q", b.Target, h)
			}
		}
	}
	return nil
}

// resolveHidden follows the links of a path to hide, as far as it exists: what is not there yet can be made later.
func (p *planner) resolveHidden(path string) string {
	path = filepath.Clean(path)
	for dir, rest := path, ""; ; dir, rest = filepath.Dir(dir), filepath.Join(filepath.Base(dir), rest) {
		if real, err := p.resolve(dir); err == nil {
			return filepath.Join(real, rest)
		}
		if dir == "/" || dir == "." {
			return path
		}
	}
}

// mounts plans the folders that the configuration adds, at the same path.
func (p *planner) mounts(mounts, hidden []string) error {
	var added []Bind
	for _, m := range mounts {
		b, err := p.mount(m, hidden)
		if err != nil {
			return err
		}
		added = append(added, b)
	}
	for i, b := range added {
		shown := p.covered(b.Target) || slices.ContainsFunc(p.host.Links, func(l Link) bool { return within(l.Path, b.Target) })
		for j, o := range added {
			inside := o.Target != b.Target && within(o.Target, b.Target)
			shown = shown || inside || j < i && o.Target == b.Target
		}
		if !shown {
			p.host.Binds = append(p.host.Binds, b)
		}
	}
	return nil
}

// mount checks one folder.
func (p *planner) mount(m string, hidden []string) (Bind, error) {
	invalid := func(format string, args ...any) error {
		return fault.Usagef("mount_invalid",
			[]string{"validate.mounts lists absolute paths of folders; each is shown read-only at the same path"}, format, args...)
	}
	if !filepath.IsAbs(m) {
		return Bind{}, invalid("mount %q is not an absolute path", m)
	}
	target := filepath.Clean(m)
	real, err := p.resolve(target)
	if err != nil {
		return Bind{}, invalid("mount %q: %w", m, err)
	}
	info, err := os.Stat(p.on(real))
	if err != nil {
		return Bind{}, invalid("mount %q: %w", m, err)
	}
	if !info.IsDir() {
		return Bind{}, invalid("mount %q is not a folder", m)
	}
	for _, h := range hidden {
		hide := p.resolveHidden(h)
		for _, path := range []string{target, real} {
			if within(path, hide) || within(hide, path) {
				return Bind{}, fault.Usagef("mount_exposes_repository",
					[]string{"mount a folder that neither holds the repository nor lies inside it"},
					"mount %q would show what lies in %q", m, h)
			}
		}
	}
	for _, own := range append([]string{"/etc"}, ownDirs...) {
		if within(target, own) || own != "/etc" && within(own, target) {
			return Bind{}, invalid("mount %q takes the place of the box's own %s", m, own)
		}
	}
	for _, never := range neverShown {
		if within(never, real) {
			return Bind{}, invalid("mount %q leads to %q, which is never shown", m, real)
		}
	}
	return Bind{Source: p.on(real), Target: target, Dir: true}, nil
}
