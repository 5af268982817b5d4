package docker

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/docker/docker/api/types/mount"

	"github.com/trkr-dev/trkr-validate/internal/fault"
	"github.com/trkr-dev/trkr-validate/sandbox"
)

const (
	bootFile  = "/proc/sys/kernel/random/boot_id"
	mountFile = "/proc/self/mountinfo"
)

// proveLocal makes sure that the userland in the box is this machine's: a daemon in a virtual machine, or outside of
// the container that this program runs in, would show its own /usr under the same name. The box must run under this
// very boot of the kernel, and each bind show the directory of the file system that this program sees there.
func (d *daemon) proveLocal(ctx context.Context, box sandbox.Sandbox, binds []mount.Mount) error {
	d.proving.Lock()
	defer d.proving.Unlock()
	if d.local {
		return nil
	}
	boot, err := os.ReadFile(bootFile)
	if err != nil {
		return fmt.Errorf("telling whether the daemon is on this machine: %w", err)
	}
	mounts, err := os.ReadFile(mountFile)
	if err != nil {
		return fmt.Errorf("telling whether the daemon is on this machine: %w", err)
	}
	inside, err := read(ctx, box, bootFile, mountFile)
	if err != nil {
		return fmt.Errorf("telling whether the daemon is on this machine: %w", err)
	}
	if err := same(boot, mounts, inside, binds); err != nil {
		return fault.Envf("docker_remote", []string{"name an image with --image", "or use a daemon of this machine, or the engine that needs none: --engine gvisor"},
			"the image \"host\" needs a Docker daemon that sees this machine's files, and the one at %s does not: %w", d.at, err)
	}
	d.local = true
	return nil
}

// read gives what files in the box hold, one after the other.
func read(ctx context.Context, box sandbox.Sandbox, files ...string) ([]byte, error) {
	session, err := box.Open(ctx, sandbox.SessionSpec{Role: sandbox.RoleSubject})
	if err != nil {
		return nil, err
	}
	var out, words bytes.Buffer
	exit, err := session.Run(ctx, sandbox.Command{Args: append([]string{"cat", "--"}, files...), Stdout: &out, Stderr: &words, Timeout: 10 * time.Second})
	if err = errors.Join(err, session.Close()); err != nil {
		return nil, err
	}
	if exit.Code != 0 {
		return nil, fmt.Errorf("reading %s in the box: %s: %s", strings.Join(files, " and "), exit, strings.TrimSpace(words.String()))
	}
	return out.Bytes(), nil
}

// same compares the boot and the binds as this program sees them with the boot id and the mounts inside.
func same(boot, mounts, inside []byte, binds []mount.Mount) error {
	in := bytes.NewBuffer(inside)
	if line, err := in.ReadBytes('\n'); err != nil || !bytes.Equal(bytes.TrimSpace(line), bytes.TrimSpace(boot)) {
		return errors.New("its kernel is another one")
	}
	ours, theirs := parseMounts(bytes.NewReader(mounts)), parseMounts(in)
	for _, b := range binds {
		here, there := ours.find(b.Source), theirs.find(b.Target)
		if here == "" || here != there {
			return fmt.Errorf("its %s is another file system (%q, not %q)", b.Target, there, here)
		}
	}
	return nil
}

// mounted is one line of a mountinfo file: the directory root of a device is seen at the path at.
type mounted struct{ device, root, at string }

type mountTable []mounted

func parseMounts(r io.Reader) mountTable {
	var table mountTable
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if f := strings.Fields(lines.Text()); len(f) > 5 {
			table = append(table, mounted{device: f[2], root: unescape(f[3]), at: unescape(f[4])})
		}
	}
	return table
}

// find tells of a path which directory of which device it is. Of mounts at one place the last is the one that is seen.
func (t mountTable) find(path string) string {
	var best mounted
	for _, m := range t {
		if under(m.at, path) && len(m.at) >= len(best.at) {
			best = m
		}
	}
	if best.at == "" {
		return ""
	}
	rel, err := filepath.Rel(best.at, path)
	if err != nil {
		return ""
	}
	return best.device + " " + filepath.Join(best.root, rel)
}

func under(dir, path string) bool {
	return dir == "/" || path == dir || strings.HasPrefix(path, dir+"/")
}

// unescape undoes the octal escapes of mountinfo.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace
